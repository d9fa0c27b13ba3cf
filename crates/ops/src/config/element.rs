//! The kinds of network elements, as an operator sees them.

use super::{BusyPoll, Common, ConfigText};
use crate::grammar::{Commands, Grammar, Problem};

/// A kind of network element, as an operator sees it.
pub trait Element: Commands {
    /// The word behind `gannet`: `sgsn`, `bss`, `ggsn`, `ms`, `ap` or `edge`.
    const NAME: &'static str;
    /// Where its VTY listens unless configured otherwise.
    const VTY_PORT: u16;
    /// Where its control interface listens unless configured otherwise.
    const CTRL_PORT: u16;
    /// Where its page of metrics is unless configured otherwise.
    const METRICS_PORT: u16 = Self::VTY_PORT + 5000;
    /// Whether its process polls unless configured otherwise.
    const BUSY_POLL: BusyPoll = BusyPoll::Off;

    /// The part of the configuration that every element has.
    fn common(config: &Self::Config) -> &Common;
    /// The same, to be changed.
    fn common_mut(config: &mut Self::Config) -> &mut Common;
    /// Adds the element's own commands.
    fn install(grammar: &mut Grammar<Self>);
    /// Writes the element's own part of a configuration in the form in which it is read.
    fn write(config: &Self::Config, text: &mut ConfigText);
    /// What a configuration lacks or contradicts as a whole: asked when a file has been read, before one is written, and at each
    /// change in a session.
    fn problems(config: &Self::Config) -> Vec<Problem> {
        let _ = config;
        Vec::new()
    }
    /// What the author of a configuration should know that can be served as it is: sentences without a stop.
    fn remarks(config: &Self::Config) -> Vec<String> {
        let _ = config;
        Vec::new()
    }
}

impl<E: Element> Default for Grammar<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Element> Grammar<E> {
    /// The commands that every element has, and the element's own.
    #[must_use]
    pub fn new() -> Self {
        let mut grammar = Self::empty();
        crate::grammar::common::install(&mut grammar);
        super::common::install(&mut grammar);
        E::install(&mut grammar);
        crate::grammar::common::install_everywhere(&mut grammar);
        grammar
    }
}

#[cfg(test)]
mod tests {
    use super::Element;
    use crate::{AccessPoint, Bss, EdgeRouter, Ggsn, MobileStation, Sgsn};

    #[test]
    fn all_elements_run_on_one_machine_with_the_ports_that_they_have_unless_configured() {
        fn of<E: Element>() -> [u16; 3] {
            [E::VTY_PORT, E::CTRL_PORT, E::METRICS_PORT]
        }
        let all = [
            of::<Sgsn>(),
            of::<Ggsn>(),
            of::<Bss>(),
            of::<MobileStation>(),
            of::<AccessPoint>(),
            of::<EdgeRouter>(),
        ];
        let mut ports = all.concat();
        ports.sort_unstable();
        let count = ports.len();
        ports.dedup();
        assert_eq!(ports.len(), count, "{all:?}");
    }
}
