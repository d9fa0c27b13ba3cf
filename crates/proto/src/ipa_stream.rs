//! Messages of the IPA multiplex out of a stream of octets ([`gannet_wire::ipa`]).

use core::fmt;
use gannet_wire::DecodeError;
use gannet_wire::ipa::{self, Message};

/// Makes messages of what a stream brings, in pieces of any length.
///
/// What is kept is less than one message of the longest length permitted, and the piece that was brought last: whoever
/// takes all messages after each piece bounds the memory by that.
#[derive(Clone)]
pub struct Splitter {
    octets: Vec<u8>,
    taken: usize,
    payload_max: usize,
    /// Why the stream is at its end.
    ended: Option<DecodeError>,
}

/// What waits may be vectors of the HLR, whose keys are not printed.
impl fmt::Debug for Splitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { payload_max, ended, .. } = self;
        write!(f, "Splitter({} octets wait, at most {payload_max} in a message, {ended:?})", self.waiting())
    }
}

impl Splitter {
    /// A splitter that takes no message whose payload is longer than `payload_max` octets.
    #[must_use]
    pub const fn new(payload_max: usize) -> Self {
        Self { octets: Vec::new(), taken: 0, payload_max, ended: None }
    }

    /// Takes a piece of the stream; nothing of one that is at its end.
    pub fn push(&mut self, piece: &[u8]) {
        if self.ended.is_some() {
            return;
        }
        self.octets.drain(..self.taken.min(self.octets.len()));
        self.taken = 0;
        self.octets.extend_from_slice(piece);
    }

    /// The next message, where it is whole.
    ///
    /// # Errors
    /// `BadLength` for a message that is longer than permitted. Where the next one begins can then be known only by
    /// reading all of it, so the stream is at its end: each further call says the same until [`Splitter::clear`].
    pub fn next_message(&mut self) -> Result<Option<Message<'_>>, DecodeError> {
        if let Some(error) = self.ended {
            return Err(error);
        }
        match ipa::first(self.octets.get(self.taken..).unwrap_or_default(), self.payload_max) {
            Ok(Some((message, taken))) => {
                self.taken += taken;
                Ok(Some(message))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                (self.taken, self.ended) = (self.octets.len(), Some(error));
                Err(error)
            }
        }
    }

    /// Octets of a message that is not whole yet, and of messages that were not taken yet.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.octets.len() - self.taken
    }

    /// Forgets everything: another stream begins.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.taken = 0;
        self.ended = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::DecodeErrorKind;
    use gannet_wire::ipa::{Ccm, EXTENSION_GSUP, PAYLOAD_MAX, PROTOCOL_OSMO, put, put_extension};

    #[test]
    fn what_is_carried_is_not_printed() {
        let mut splitter = Splitter::new(64);
        splitter.push(&[0, 3, PROTOCOL_OSMO, 0xa5, 0xa6, 0xa7, 0, 9, 1]);
        let message = format!("{:?}", splitter.next_message());
        let text = format!("{message} {splitter:?}");
        assert!(!text.contains("165") && !text.to_lowercase().contains("a5"), "{text}");
        assert!(text.contains("3 octets") && text.contains("3 octets wait"), "{text}");
    }

    /// The identity request of osmo-hlr.
    const ID_GET: [u8; 20] =
        [0x00, 0x11, 0xfe, 0x04, 1, 0x08, 1, 0x07, 1, 0x02, 1, 0x03, 1, 0x04, 1, 0x05, 1, 0x01, 1, 0x00];

    #[test]
    fn a_stream_in_pieces() {
        let mut stream = ID_GET.to_vec();
        Ccm::Ping.emit(&mut stream);
        assert!(put_extension(EXTENSION_GSUP, &[1, 2, 3], &mut stream));
        for piece in 1..stream.len() {
            let mut splitter = Splitter::new(64);
            let mut got = Vec::new();
            for octets in stream.chunks(piece) {
                splitter.push(octets);
                while let Some(message) = splitter.next_message().unwrap() {
                    got.push((message.protocol, message.payload.to_vec(), message.extension().is_some()));
                }
            }
            assert_eq!(splitter.waiting(), 0);
            let whole = (PROTOCOL_OSMO, vec![5, 1, 2, 3], true);
            assert_eq!(got, [(0xfe, ID_GET[3..].to_vec(), false), (0xfe, vec![0], false), whole]);
        }
    }

    #[test]
    fn a_message_beyond_the_limit_ends_the_stream() {
        let mut splitter = Splitter::new(16);
        splitter.push(&[0, 16, 1]);
        assert_eq!(splitter.next_message(), Ok(None));
        splitter.push(&[7; 16]);
        assert_eq!(splitter.next_message(), Ok(Some(Message { protocol: 1, payload: &[7; 16] })));
        splitter.push(&ID_GET);
        for _ in 0..2 {
            assert_eq!(splitter.next_message().unwrap_err().kind, DecodeErrorKind::BadLength(17));
        }
        splitter.clear();
        assert_eq!(splitter.next_message(), Ok(None));
        assert_eq!(splitter.waiting(), 0);
        assert!(!put(1, &[0; PAYLOAD_MAX + 1], &mut Vec::new()));
    }
}
