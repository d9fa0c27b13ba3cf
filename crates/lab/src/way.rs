//! Which way user data goes.

/// Which way user data goes, as the mobile sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the mobile.
    Up,
    /// To it.
    Down,
}

impl Way {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// For a person.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "uplink",
            Self::Down => "downlink",
        }
    }
}
