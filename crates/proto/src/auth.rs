//! The authentication service that GMM asks.
