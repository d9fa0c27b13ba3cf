//! GSMTAP: the header under which Wireshark takes GSM and GPRS frames from UDP port 4729.
