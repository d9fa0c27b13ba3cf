//! What a packet's owner may claim: how soon it is served, and how late it is dropped.

use serde::{Deserialize, Serialize};

/// The scheduler's classes, in the order in which they are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Class {
    /// GMM, SM and SMS messages and LLC commands.
    Signalling = 0,
    /// User data of delay class 1, or of the conversational or the streaming traffic class; its rate is limited.
    RealTime = 1,
    /// All other user data.
    BestEffort = 2,
}

impl Class {
    /// All classes in the order of service.
    pub const ALL: [Self; 3] = [Self::Signalling, Self::RealTime, Self::BestEffort];
}

/// The classes in which LL-PDUs wait for a cell, in the order in which it serves them: those of [`Class`], and one whose rate
/// is guaranteed. What is processed knows of no such class: there that is real time up to the guaranteed rates of its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum CellClass {
    /// As [`Class::Signalling`].
    Signalling = 0,
    /// As [`Class::RealTime`].
    RealTime = 1,
    /// User data of the streaming traffic class with a guaranteed bit rate: ahead of best effort up to that rate, and beyond
    /// it as best effort.
    Guaranteed = 2,
    /// As [`Class::BestEffort`].
    BestEffort = 3,
}

impl CellClass {
    /// All classes in the order of service.
    pub const ALL: [Self; 4] = [Self::Signalling, Self::RealTime, Self::Guaranteed, Self::BestEffort];
    /// Those of user data.
    pub const DATA: [Self; 3] = [Self::RealTime, Self::Guaranteed, Self::BestEffort];

    /// The class in which it is classified and processed.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::Signalling => Class::Signalling,
            Self::RealTime | Self::Guaranteed => Class::RealTime,
            Self::BestEffort => Class::BestEffort,
        }
    }
}

/// Precedence class (03.60 clause 15.2.1 [23.060]): who is dropped last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum Precedence {
    /// Class 1: service is kept ahead of the others.
    High = 0,
    /// Class 2.
    #[default]
    Normal = 1,
    /// Class 3: dropped first.
    Low = 2,
}

impl Precedence {
    /// All levels, the one that is dropped last first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];
}
