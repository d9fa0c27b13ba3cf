//! How a person operates a node: configuration, VTY, logging.
