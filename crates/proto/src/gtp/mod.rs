//! GTP entities: paths and tunnels (29.060).
