//! GPRS tunnelling protocol: 29.060 (GTPv1), 09.60 (GTPv0).
