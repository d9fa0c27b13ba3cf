//! Says what happened: pcapng and GSMTAP.
