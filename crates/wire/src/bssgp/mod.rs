//! BSS GPRS protocol: 08.18 (48.018).
