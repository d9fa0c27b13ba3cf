//! GMM in the mobile.
