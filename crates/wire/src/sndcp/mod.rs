//! Subnetwork dependent convergence protocol: 04.65 (44.065).
