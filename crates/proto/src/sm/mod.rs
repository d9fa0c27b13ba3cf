//! Session management: the mobile side and the network side (04.08 clause 6.1 [24.008]).
