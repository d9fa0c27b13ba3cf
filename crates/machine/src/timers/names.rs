//! Timers have names: those of an owner's deadlines, and the owners of a node's wake-ups.

use super::TimerKey;
use crate::time::Instant;
use core::fmt;

/// One of some timers, declared with [`timer_names!`](crate::timer_names).
pub trait TimerName: Copy + Eq + fmt::Debug + 'static {
    /// As many instants as there are names.
    type Instants: Copy + Eq + fmt::Debug + Default + AsRef<[Instant]> + AsMut<[Instant]>;

    /// All, in the order of their index.
    const ALL: &'static [Self];

    /// Its place in [`TimerName::ALL`].
    fn index(self) -> usize;

    /// What a person calls it: the name in the specification, where it has one.
    fn name(self) -> &'static str;

    /// Its number as the owner of a wake-up ([`TimerKey::owner`]).
    #[must_use]
    fn number(self) -> u8 {
        u8::try_from(self.index()).unwrap_or(u8::MAX)
    }

    /// The key of a wake-up that is asked for by this owner.
    #[must_use]
    fn key(self, slot: u32, generation: u16) -> TimerKey {
        TimerKey { owner: self.number(), slot, generation }
    }

    /// Whose wake-up a key is; `None` for a number that no owner has.
    #[must_use]
    fn of(key: TimerKey) -> Option<Self> {
        Self::ALL.get(usize::from(key.owner)).copied()
    }
}

/// Declares an enum of timers, each with its name for people, and makes it a [`TimerName`](crate::timers::TimerName).
///
/// ```
/// use gannet_machine::time::Instant;
/// use gannet_machine::timers::{Deadlines, TimerName as _};
///
/// gannet_machine::timer_names! {
///     /// Timers of a call (24.008 clause 11.3).
///     pub enum CallTimer {
///         /// An answer to SETUP is awaited.
///         Setup = "T303",
///         /// An answer to RELEASE is awaited.
///         Release = "T308",
///     }
/// }
///
/// let mut deadlines = Deadlines::default();
/// deadlines.set(CallTimer::Release, Instant(7));
/// assert_eq!(deadlines.pop_due(Instant(7)), Some(CallTimer::Release));
/// assert_eq!(CallTimer::Release.name(), "T308");
/// ```
#[macro_export]
macro_rules! timer_names {
    ($(#[$meta:meta])* $visibility:vis enum $enum:ident {
        $($(#[$doc:meta])* $variant:ident = $name:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $visibility enum $enum { $($(#[$doc])* $variant,)* }

        impl $crate::timers::TimerName for $enum {
            type Instants = [$crate::time::Instant; [$($name),*].len()];

            const ALL: &'static [Self] = &[$(Self::$variant,)*];

            fn index(self) -> usize {
                self as usize
            }

            fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}
