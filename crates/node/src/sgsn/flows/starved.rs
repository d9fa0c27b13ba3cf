//! Flows that wait for room for their first N-PDU, one behind the other.

/// The flow that is last stands before nobody.
const LAST: u32 = 1;

/// A queue through the places of all flows, with their memory from the beginning; none is in it twice.
#[derive(Debug)]
pub(super) struct Starved {
    /// By flow: 0 where it is not in the queue, [`LAST`], or the one behind it, plus 2.
    behind: Vec<u32>,
    /// The first and the last.
    ends: Option<(u32, u32)>,
    /// The node may have room for more of them than were looked at.
    pub(super) is_behind: bool,
}

impl Starved {
    /// An empty one, for flows 0 to `flows` − 1.
    pub(super) fn new(flows: u32) -> Self {
        Self { behind: vec![0; flows as usize], ends: None, is_behind: false }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    /// Puts a flow at the end, unless it is there.
    pub(super) fn push(&mut self, flow: u32) {
        let Some(own) = self.behind.get_mut(flow as usize).filter(|own| **own == 0) else { return };
        *own = LAST;
        let first = match self.ends {
            Some((first, last)) => {
                if let Some(behind) = self.behind.get_mut(last as usize) {
                    *behind = flow + 2;
                }
                first
            }
            None => flow,
        };
        self.ends = Some((first, flow));
    }

    /// Takes the first out.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let (first, last) = self.ends?;
        let behind = self.behind.get_mut(first as usize).map_or(LAST, core::mem::take);
        self.ends = behind.checked_sub(2).map(|next| (next, last));
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_once_and_in_turn() {
        let mut starved = Starved::new(8);
        for flow in [7, 0, 3, 0, 7, 8] {
            starved.push(flow);
        }
        assert_eq!((starved.pop(), starved.is_empty()), (Some(7), false));
        starved.push(7);
        starved.push(5);
        let rest: Vec<u32> = core::iter::from_fn(|| starved.pop()).collect();
        assert_eq!(rest, [0, 3, 7, 5]);
        assert!(starved.is_empty() && starved.behind.iter().all(|behind| *behind == 0));
        starved.push(0);
        assert_eq!((starved.pop(), starved.pop()), (Some(0), None));
    }
}
