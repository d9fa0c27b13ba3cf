//! One line of the control interface.

use core::fmt;

/// A message. Its number is digits; the answer has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// What is the value of it?
    Get {
        /// The number.
        id: &'a str,
        /// The name.
        variable: &'a str,
    },
    /// Be its value so.
    Set {
        /// The number.
        id: &'a str,
        /// The name.
        variable: &'a str,
        /// The value: the rest of the line.
        value: &'a str,
    },
    /// Its value is so.
    GetReply {
        /// The number.
        id: &'a str,
        /// The name.
        variable: &'a str,
        /// The value, of any number of lines.
        value: &'a str,
    },
    /// It was set so.
    SetReply {
        /// The number.
        id: &'a str,
        /// The name.
        variable: &'a str,
        /// The value.
        value: &'a str,
    },
    /// Something has happened. Its number is 0.
    Trap {
        /// The number.
        id: &'a str,
        /// The name.
        variable: &'a str,
        /// The value.
        value: &'a str,
    },
    /// It was not done.
    Error {
        /// The number, or `err` where none could be read.
        id: &'a str,
        /// Why not.
        reason: &'a str,
    },
}

/// What cannot be read, with what is answered to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed<'a> {
    /// The number, as far as one could be read.
    pub id: Option<&'a str>,
    /// Why.
    pub reason: &'static str,
}

impl<'a> Malformed<'a> {
    const fn new(reason: &'static str) -> Self {
        Self { id: None, reason }
    }

    /// The message that says so.
    #[must_use]
    pub const fn answer(self) -> Message<'a> {
        let id = match self.id {
            Some(id) => id,
            None => "err",
        };
        Message::Error { id, reason: self.reason }
    }
}

/// Where no message can be seen at all.
pub(super) const MALFORMED: Malformed<'static> = Malformed::new("Request malformed");

/// The next word, and what is behind it.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(' ');
    if text.is_empty() {
        return None;
    }
    Some(text.split_once(' ').unwrap_or((text, "")))
}

const fn may_name(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_' | b'.' | b':' | b'+')
}

impl<'a> Message<'a> {
    /// Reads the content of an IPA message. The case of the first word does not matter; blanks between words may be more
    /// than one; a line end behind the last is left out.
    ///
    /// # Errors
    /// With what is to be answered.
    pub fn parse(content: &'a [u8]) -> Result<Self, Malformed<'a>> {
        let text = core::str::from_utf8(content).map_err(|_| MALFORMED)?;
        let text = text.trim_end_matches(['\n', '\r', '\0']);
        let (kind, rest) = word(text).ok_or(MALFORMED)?;
        let is = |name: &str| kind.eq_ignore_ascii_case(name);
        let known = ["GET", "SET", "GET_REPLY", "SET_REPLY", "TRAP", "ERROR"];
        let name = known.into_iter().find(|name| is(name)).ok_or(Malformed::new("Request type unknown"))?;
        let (id, rest) = word(rest).ok_or(Malformed::new("Missing ID"))?;
        let is_number = !id.is_empty() && id.bytes().all(|octet| octet.is_ascii_digit());
        if !(is_number || (name == "ERROR" && id == "err")) {
            return Err(Malformed::new("Invalid message ID number"));
        }
        let wrong = |reason| Malformed { id: Some(id), reason };
        if name == "ERROR" {
            return Ok(Self::Error { id, reason: rest });
        }
        let (variable, rest) = word(rest).ok_or_else(|| wrong(incomplete(name)))?;
        if !variable.bytes().all(may_name) {
            return Err(wrong(strange(name)));
        }
        let rest = rest.trim_start_matches(' ');
        match name {
            "GET" if rest.is_empty() => Ok(Self::Get { id, variable }),
            "GET" => Err(wrong("GET with trailing characters")),
            "SET" if rest.is_empty() => Err(wrong(incomplete(name))),
            "SET" => Ok(Self::Set { id, variable, value: rest }),
            "GET_REPLY" => Ok(Self::GetReply { id, variable, value: rest }),
            "SET_REPLY" => Ok(Self::SetReply { id, variable, value: rest }),
            _ => Ok(Self::Trap { id, variable, value: rest }),
        }
    }
}

fn incomplete(name: &str) -> &'static str {
    match name {
        "GET" => "GET incomplete",
        "SET" => "SET incomplete",
        _ => "Trap/Reply incomplete",
    }
}

fn strange(name: &str) -> &'static str {
    match name {
        "GET" => "GET variable contains invalid characters",
        "SET" => "SET variable contains invalid characters",
        _ => "Trap/Reply variable contains invalid characters",
    }
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get { id, variable } => write!(f, "GET {id} {variable}"),
            Self::Set { id, variable, value } => write!(f, "SET {id} {variable} {value}"),
            Self::GetReply { id, variable, value } => write!(f, "GET_REPLY {id} {variable} {value}"),
            Self::SetReply { id, variable, value } => write!(f, "SET_REPLY {id} {variable} {value}"),
            Self::Trap { id, variable, value } => write!(f, "TRAP {id} {variable} {value}"),
            Self::Error { id, reason } => write!(f, "ERROR {id} {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What osmo-sgsn 1.9.0 answers to these.
    #[test]
    fn what_cannot_be_read_is_answered_as_osmo_sgsn_does() {
        for (text, answered) in [
            ("", "ERROR err Request malformed"),
            ("\0", "ERROR err Request malformed"),
            ("GET", "ERROR err Missing ID"),
            ("SET", "ERROR err Missing ID"),
            ("FOO 1 version", "ERROR err Request type unknown"),
            ("GET x version", "ERROR err Invalid message ID number"),
            ("SET 3 version", "ERROR 3 SET incomplete"),
            ("GET 3 rate_ctr.*", "ERROR 3 GET variable contains invalid characters"),
            ("GET 25 ver\u{1}sion", "ERROR 25 GET variable contains invalid characters"),
            ("GET 9 version extra", "ERROR 9 GET with trailing characters"),
        ] {
            let malformed = Message::parse(text.as_bytes()).unwrap_err();
            assert_eq!(malformed.answer().to_string(), answered, "{text:?}");
        }
        assert_eq!(Message::parse(b"GET 1 \xff"), Err(MALFORMED));
    }

    #[test]
    fn lines_as_they_come() {
        let get = Message::Get { id: "8", variable: "a.b:c-d_e.0" };
        for text in ["GET 8 a.b:c-d_e.0", "get  8  a.b:c-d_e.0", "GET 8 a.b:c-d_e.0\n", "GET 8 a.b:c-d_e.0\0"]
        {
            assert_eq!(Message::parse(text.as_bytes()), Ok(get), "{text:?}");
        }
        let set = Message::Set { id: "1", variable: "a", value: "b  c" };
        assert_eq!(Message::parse(b"SET 1 a b  c"), Ok(set));
        let error = Message::Error { id: "err", reason: "Missing ID" };
        assert_eq!(Message::parse(b"ERROR err Missing ID"), Ok(error));
    }

    proptest! {
        #[test]
        fn round_trips(
            kind in 0..6_u8, id in "[0-9]{1,12}", variable in "[a-zA-Z0-9_.:+-]{1,20}", value in "[!-~]([ -~]{0,20}[!-~])?"
        ) {
            let (id, variable, value) = (id.as_str(), variable.as_str(), value.as_str());
            let message = match kind {
                0 => Message::Get { id, variable },
                1 => Message::Set { id, variable, value },
                2 => Message::GetReply { id, variable, value },
                3 => Message::SetReply { id, variable, value },
                4 => Message::Trap { id, variable, value },
                _ => Message::Error { id, reason: value },
            };
            let text = message.to_string();
            prop_assert_eq!(Message::parse(text.as_bytes()), Ok(message));
        }

        #[test]
        fn no_octets_are_too_strange(octets: Vec<u8>) {
            let _ = Message::parse(&octets);
        }
    }
}
