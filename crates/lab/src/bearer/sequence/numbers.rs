//! Sequence numbers over time, of TCP or of LLC: what was sent, sent again and acknowledged.

use crate::figure::{Curve, Panel, Point, Style};
use gannet_machine::time::{Duration, Instant};

use gannet_wire::llc::{Control, Header, MODULUS};

/// What happened to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Sent for the first time.
    Sent,
    /// Sent once more.
    Again,
    /// All before it have arrived, and the sender knows.
    Acknowledged,
}

/// The numbers of one direction, counted on where they begin anew.
#[derive(Debug)]
pub struct Sequence {
    modulus: u64,
    /// The number after the highest that was sent; `None` before the first.
    next: Option<u64>,
    acknowledged: u64,
    events: Vec<(Instant, Event, u64)>,
}

impl Sequence {
    /// TCP's, of octets (RFC 9293 clause 3.4).
    pub const fn of_octets() -> Self {
        Self::with_modulus(1 << 32)
    }

    /// LLC's, of I frames (04.64 clause 8.4 [44.064]).
    pub const fn of_frames() -> Self {
        Self::with_modulus(MODULUS as u64)
    }

    const fn with_modulus(modulus: u64) -> Self {
        Self { modulus, next: None, acknowledged: 0, events: Vec::new() }
    }

    /// So many numbers from this on leave.
    pub fn sent(&mut self, at: Instant, first: u64, count: u64) {
        // One turn ahead, so that a number before the first is no less than zero.
        let next = *self.next.get_or_insert(self.modulus + first);
        let first = self.nearest(first, next);
        let event = if first < next { Event::Again } else { Event::Sent };
        self.next = Some(next.max(first + count));
        self.events.push((at, event, first));
    }

    /// All before this number have arrived, as the sender learns. It counts where that is news.
    pub fn acknowledged(&mut self, at: Instant, number: u64) {
        let Some(next) = self.next else { return };
        let number = self.nearest(number, next);
        if number > self.acknowledged && number <= next {
            self.acknowledged = number;
            self.events.push((at, Event::Acknowledged, number));
        }
    }

    /// An LL-PDU of the sender, or one that comes to it.
    pub fn ll_pdu(&mut self, at: Instant, ll_pdu: &[u8], is_of_sender: bool) {
        let Ok(layout) = Header::parse(ll_pdu) else { return };
        match (layout.header.control, is_of_sender) {
            (Control::I { ns, .. }, true) => self.sent(at, ns.into(), 1),
            (Control::I { nr, .. } | Control::S { nr, .. }, false) => self.acknowledged(at, nr.into()),
            _ => {}
        }
    }

    /// The count that has this number and is nearest to another.
    const fn nearest(&self, number: u64, to: u64) -> u64 {
        let ahead = (number + self.modulus - to % self.modulus) % self.modulus;
        if ahead < self.modulus / 2 { to + ahead } else { (to + ahead).saturating_sub(self.modulus) }
    }

    /// How often something happened.
    pub fn count(&self, event: Event) -> usize {
        self.events.iter().filter(|(_, other, _)| *other == event).count()
    }

    /// Of what was sent, what was sent before; not a number where nothing was.
    #[expect(clippy::cast_precision_loss, reason = "some hundred thousand")]
    pub fn part_again(&self) -> f64 {
        let [first, again] = [Event::Sent, Event::Again].map(|event| self.count(event) as f64);
        again / (first + again)
    }

    /// When something was sent first.
    pub fn begins(&self) -> Option<Instant> {
        self.events.first().map(|(at, ..)| *at)
    }

    /// When something is sent again for the first time from then on.
    pub fn first_again(&self, from: Instant) -> Option<Instant> {
        self.events.iter().find(|(at, event, _)| *event == Event::Again && *at >= from).map(|(at, ..)| *at)
    }

    /// A panel of the time from a moment on: numbers in `unit`s, counted from the lowest there. Some milliseconds, or seconds.
    pub fn panel(&self, title: &str, (y, unit): (&str, f64), (from, lasting): (Instant, Duration)) -> Panel {
        let (x, per_s) = if lasting < Duration::from_secs(1) { ("time, ms", 1e3) } else { ("time, s", 1.0) };
        let within: Vec<_> =
            self.events.iter().filter(|(at, ..)| *at >= from && *at <= from + lasting).collect();
        let lowest = within.iter().map(|(.., number)| *number).min().unwrap_or(0);
        #[expect(clippy::cast_precision_loss, reason = "numbers of some milliseconds")]
        let point = |at: Instant, number: u64| {
            let rounded = |value: f64| (value * 1e4).round() / 1e4;
            Point::new(
                rounded(at.since(from).as_secs_f64() * per_s),
                rounded((number - lowest) as f64 / unit),
            )
        };
        let curve = |name: &str, (style, colour), event| Curve {
            name: name.to_owned(),
            style,
            colour,
            points: within
                .iter()
                .filter(|(_, other, _)| *other == event)
                .map(|(at, _, number)| point(*at, *number))
                .collect(),
        };
        Panel {
            title: title.to_owned(),
            x: x.to_owned(),
            y: y.to_owned(),
            curves: vec![
                curve("sent again", (Style::Marks, 1), Event::Again),
                curve("sent", (Style::Marks, 0), Event::Sent),
                curve("acknowledged", (Style::Measured, 2), Event::Acknowledged),
            ],
            ..Panel::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(sequence: &Sequence) -> Vec<(Event, u64)> {
        let first = sequence.events.first().map_or(0, |(.., number)| *number);
        sequence.events.iter().map(|(_, event, number)| (*event, *number - first)).collect()
    }

    #[test]
    fn numbers_go_on_where_they_begin_anew() {
        let mut frames = Sequence::of_frames();
        let at = Instant::ZERO;
        frames.acknowledged(at, 7);
        frames.sent(at, 510, 1);
        frames.sent(at, 511, 1);
        frames.sent(at, 0, 1);
        frames.acknowledged(at, 511);
        frames.sent(at, 511, 1);
        // No news, and more than was sent.
        frames.acknowledged(at, 511);
        frames.acknowledged(at, 2);
        frames.acknowledged(at, 1);
        frames.sent(at, 1, 1);
        let expected = [
            (Event::Sent, 0),
            (Event::Sent, 1),
            (Event::Sent, 2),
            (Event::Acknowledged, 1),
            (Event::Again, 1),
            (Event::Acknowledged, 3),
            (Event::Sent, 3),
        ];
        assert_eq!(told(&frames), expected);
        assert!((frames.part_again() - 0.2).abs() < 1e-9);
        assert!(Sequence::of_frames().part_again().is_nan());
    }

    #[test]
    fn octets_of_a_segment_are_one_event_and_a_window_of_255_is_told_from_its_repetition() {
        let mut octets = Sequence::of_octets();
        octets.sent(Instant::ZERO, u64::from(u32::MAX) - 999, 1000);
        octets.sent(Instant(5), 0, 1000);
        octets.sent(Instant(6), u64::from(u32::MAX) - 999, 1000);
        assert_eq!(told(&octets), [(Event::Sent, 0), (Event::Sent, 1000), (Event::Again, 0)]);
        let mut frames = Sequence::of_frames();
        (0..255).for_each(|number| frames.sent(Instant::ZERO, number, 1));
        frames.sent(Instant(9), 0, 1);
        assert_eq!((frames.count(Event::Sent), frames.first_again(Instant(1))), (255, Some(Instant(9))));
        let panel = frames.panel("", ("", 1.0), (Instant(1), Duration(10)));
        let [again, sent, acknowledged] = panel.curves.as_slice() else { panic!("three curves") };
        assert_eq!((again.points.len(), sent.points.len(), acknowledged.points.len()), (1, 0, 0));
    }

    #[test]
    fn i_frames_are_sent_and_what_comes_back_acknowledges() {
        let mut frames = Sequence::of_frames();
        // SAPI 3: an I frame with N(S) 5, an RR with N(R) 6, and a UI frame, each with an FCS.
        let i = gannet_wire::llc::i_header(
            true,
            gannet_wire::id::Sapi::DATA3,
            false,
            (5, 0),
            &gannet_wire::llc::Supervisory::Rr,
        );
        let rr = Header {
            cr: true,
            sapi: gannet_wire::id::Sapi::DATA3,
            control: Control::S { ack_request: false, nr: 6, supervisory: gannet_wire::llc::Supervisory::Rr },
        };
        let whole = |header: &[u8]| [header, &[0; 3]].concat();
        frames.ll_pdu(Instant(1), &whole(&i), true);
        frames.ll_pdu(Instant(2), &whole(&rr.emit()), true);
        frames.ll_pdu(Instant(3), &whole(&rr.emit()), false);
        frames.ll_pdu(Instant(4), &[1], false);
        assert_eq!(told(&frames), [(Event::Sent, 0), (Event::Acknowledged, 1)]);
    }
}
