//! Reproduces the papers and measures Gannet against its peers.
