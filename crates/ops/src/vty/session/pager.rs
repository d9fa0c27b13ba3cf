//! Long answers, page by page.

/// What stands at the end of a page.
pub(super) const MORE: &[u8] = b" --More-- ";
/// Takes it away again.
pub(super) const CLEAR: &[u8] = b"\r          \r";

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Page,
    Line,
    Stop,
}

/// What of an answer was not shown yet.
#[derive(Debug, Default)]
pub(super) struct Pager {
    text: String,
    shown: usize,
}

impl Pager {
    /// A new answer.
    pub(super) fn start(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.shown = 0;
    }

    /// Whether the operator is asked for more.
    pub(super) fn is_waiting(&self) -> bool {
        self.shown < self.text.len()
    }

    /// The next part, which `page` lines bound.
    pub(super) fn turn(&mut self, turn: Turn, page: Option<usize>) -> String {
        let rest = self.text.get(self.shown..).unwrap_or_default();
        let lines = match turn {
            Turn::Stop => {
                *self = Self::default();
                return String::new();
            }
            Turn::Line => page.map(|_| 1),
            Turn::Page => page,
        };
        let end = lines.map_or(rest.len(), |lines| {
            let ends = rest.match_indices('\n').map(|(at, _)| at + 1);
            ends.take(lines).last().unwrap_or(rest.len())
        });
        let part = rest.get(..end).unwrap_or_default().to_owned();
        self.shown += part.len();
        if !self.is_waiting() {
            *self = Self::default();
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_lines() {
        let mut pager = Pager::default();
        pager.start("1\n2\n3\n4\n5\n");
        assert_eq!(pager.turn(Turn::Page, Some(2)), "1\n2\n");
        assert!(pager.is_waiting());
        assert_eq!(pager.turn(Turn::Line, Some(2)), "3\n");
        assert_eq!(pager.turn(Turn::Page, Some(2)), "4\n5\n");
        assert!(!pager.is_waiting());
        pager.start("1\n2\n3\n");
        assert_eq!(pager.turn(Turn::Page, None), "1\n2\n3\n");
        pager.start("1\n2\n3\n");
        pager.turn(Turn::Page, Some(1));
        assert_eq!(pager.turn(Turn::Stop, Some(1)), "");
        assert!(!pager.is_waiting());
    }
}
