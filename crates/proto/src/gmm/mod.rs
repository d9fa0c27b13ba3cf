//! GPRS mobility management: the mobile side and the network side (04.08 clause 4.7 [24.008]).
