//! Telnet (RFC 854) and the keys of a terminal: octets in, keys out. No octet sequence makes it grow or fail.

/// Interpret as command.
const IAC: u8 = 255;
/// The peer should not use an option.
const DONT: u8 = 254;
/// The peer may use an option.
const DO: u8 = 253;
/// We use an option.
const WILL: u8 = 251;
/// A sub-negotiation begins.
const SB: u8 = 250;
/// A sub-negotiation ends.
const SE: u8 = 240;
/// Echo (RFC 857).
const ECHO: u8 = 1;
/// Suppress go ahead (RFC 858).
const SGA: u8 = 3;
/// Window size (RFC 1073).
const NAWS: u8 = 31;
/// Line mode (RFC 1184).
const LINEMODE: u8 = 34;

/// What is said when a session begins: we echo, nobody says "go ahead", no line mode, tell the size of the window.
pub const GREETING: [u8; 12] = [IAC, WILL, ECHO, IAC, WILL, SGA, IAC, DONT, LINEMODE, IAC, DO, NAWS];

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A printable character of ASCII.
    Char(u8),
    /// The line is done.
    Enter,
    /// Complete the word.
    Tab,
    /// Remove the character before the cursor.
    Backspace,
    /// Remove the one under it.
    Delete,
    /// One left.
    Left,
    /// One right.
    Right,
    /// The line before.
    Up,
    /// The line after.
    Down,
    /// To the beginning: Home, Ctrl-A.
    Home,
    /// To the end: End, Ctrl-E.
    End,
    /// Remove everything before the cursor: Ctrl-U.
    KillToStart,
    /// Remove everything behind it: Ctrl-K.
    KillToEnd,
    /// Remove the word before it: Ctrl-W.
    KillWord,
    /// Forget the line: Ctrl-C.
    Interrupt,
    /// No more input: Ctrl-D.
    Eof,
    /// To the enable node: Ctrl-Z.
    Suspend,
    /// Draw the line again: Ctrl-L.
    Redraw,
    /// The window has so many lines.
    Window(u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Plain,
    /// After CR: the LF or NUL that belongs to it is skipped.
    AfterCr,
    Iac,
    /// After WILL, WONT, DO, DONT.
    Option,
    /// Within a sub-negotiation; whether its last octet was IAC.
    Sub(bool),
    Escape,
    /// Within `ESC [` or `ESC O`, with the number so far.
    Sequence(u16),
}

/// Octets of a sub-negotiation that are looked at: NAWS has five.
const SUB_MAX: usize = 8;

/// Turns octets into keys.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    state: State,
    sub: [u8; SUB_MAX],
    sub_len: usize,
}

impl Decoder {
    /// Takes an octet; gives a key where one is complete.
    pub fn octet(&mut self, octet: u8) -> Option<Key> {
        match self.state {
            State::AfterCr if octet == b'\n' || octet == 0 => {
                self.state = State::Plain;
                None
            }
            State::Plain | State::AfterCr => {
                self.state = State::Plain;
                self.plain(octet)
            }
            State::Iac => {
                self.iac(octet);
                None
            }
            State::Option => {
                self.state = State::Plain;
                None
            }
            State::Sub(iac) => self.sub(octet, iac),
            State::Escape => {
                self.state = if matches!(octet, b'[' | b'O') { State::Sequence(0) } else { State::Plain };
                None
            }
            State::Sequence(number) => self.sequence(octet, number),
        }
    }

    fn plain(&mut self, octet: u8) -> Option<Key> {
        let key = match octet {
            0x20..=0x7e => Key::Char(octet),
            b'\r' => {
                self.state = State::AfterCr;
                Key::Enter
            }
            b'\n' => Key::Enter,
            b'\t' => Key::Tab,
            0x08 | 0x7f => Key::Backspace,
            0x01 => Key::Home,
            0x02 => Key::Left,
            0x03 => Key::Interrupt,
            0x04 => Key::Eof,
            0x05 => Key::End,
            0x06 => Key::Right,
            0x0b => Key::KillToEnd,
            0x0c => Key::Redraw,
            0x0e => Key::Down,
            0x10 => Key::Up,
            0x15 => Key::KillToStart,
            0x17 => Key::KillWord,
            0x1a => Key::Suspend,
            0x1b => {
                self.state = State::Escape;
                return None;
            }
            IAC => {
                self.state = State::Iac;
                return None;
            }
            _ => return None,
        };
        Some(key)
    }

    const fn iac(&mut self, octet: u8) {
        self.state = match octet {
            WILL..=DONT => State::Option,
            SB => {
                self.sub_len = 0;
                State::Sub(false)
            }
            _ => State::Plain,
        };
    }

    fn sub(&mut self, octet: u8, iac: bool) -> Option<Key> {
        match (iac, octet) {
            (true, SE) => {
                self.state = State::Plain;
                return self.window();
            }
            (false, IAC) => {
                self.state = State::Sub(true);
                return None;
            }
            // IAC IAC is one octet of 255; IAC and anything else is no sub-negotiation any more.
            (true, IAC) | (false, _) => self.state = State::Sub(false),
            (true, _) => {
                self.state = State::Plain;
                return None;
            }
        }
        if let Some(slot) = self.sub.get_mut(self.sub_len) {
            *slot = octet;
            self.sub_len += 1;
        }
        None
    }

    const fn window(&self) -> Option<Key> {
        match (self.sub_len, self.sub) {
            (5, [NAWS, _, _, high, low, ..]) => Some(Key::Window(u16::from_be_bytes([high, low]))),
            _ => None,
        }
    }

    fn sequence(&mut self, octet: u8, number: u16) -> Option<Key> {
        if octet.is_ascii_digit() {
            let number = number.saturating_mul(10).saturating_add(u16::from(octet - b'0'));
            self.state = State::Sequence(number);
            return None;
        }
        if octet == b';' {
            self.state = State::Sequence(0);
            return None;
        }
        self.state = State::Plain;
        match (octet, number) {
            (b'A', _) => Some(Key::Up),
            (b'B', _) => Some(Key::Down),
            (b'C', _) => Some(Key::Right),
            (b'D', _) => Some(Key::Left),
            (b'H', _) | (b'~', 1 | 7) => Some(Key::Home),
            (b'F', _) | (b'~', 4 | 8) => Some(Key::End),
            (b'~', 3) => Some(Key::Delete),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(octets: &[u8]) -> Vec<Key> {
        let mut decoder = Decoder::default();
        octets.iter().filter_map(|octet| decoder.octet(*octet)).collect()
    }

    #[test]
    fn a_line_ends_once() {
        assert_eq!(keys(b"a\r\n"), [Key::Char(b'a'), Key::Enter]);
        assert_eq!(keys(b"a\r\0b\n"), [Key::Char(b'a'), Key::Enter, Key::Char(b'b'), Key::Enter]);
        assert_eq!(keys(b"\r\r\n\n"), [Key::Enter, Key::Enter, Key::Enter]);
    }

    #[test]
    fn negotiation_is_no_key() {
        assert_eq!(keys(b"\xff\xfd\x01\xff\xfb\x1fa"), [Key::Char(b'a')]);
        assert_eq!(keys(b"\xff\xfa\x1f\x00\x50\x00\x18\xff\xf0x"), [Key::Window(24), Key::Char(b'x')]);
        assert_eq!(keys(b"\xff\xfa\x1f\x00\xff\xff\x00\x18\xff\xf0"), [Key::Window(24)]);
        assert_eq!(keys(b"\xff\xfa\x18\x00xterm-and-a-very-long-name\xff\xf0y"), [Key::Char(b'y')]);
    }

    #[test]
    fn keys_of_terminals() {
        assert_eq!(
            keys(b"\x1b[A\x1b[B\x1b[C\x1b[D\x1b[3~\x1bOH\x1b[4~\x1b[1;5C"),
            [Key::Up, Key::Down, Key::Right, Key::Left, Key::Delete, Key::Home, Key::End, Key::Right]
        );
        assert_eq!(keys(b"\x01\x05\x15\x17\x0b\x03\x04\x1a").len(), 8);
    }
}
