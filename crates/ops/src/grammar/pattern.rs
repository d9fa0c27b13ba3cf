//! Command patterns: `timer (tns-block|tns-reset) <0-65535>` taken apart, and one word of a line held against one
//! word of a pattern.
//!
//! | in a pattern | matches |
//! |---|---|
//! | `word` | itself or a beginning of it |
//! | `<a-b>` | a decimal number from a to b |
//! | `A.B.C.D`, `X:X::X:X` | an IPv4 or IPv6 address |
//! | `A.B.C.D/M`, `X:X::X:X/M` | an IPv4 or IPv6 prefix |
//! | `NAME` (capitals) | any one word |
//! | `.TEXT` | the rest of the line |
//! | `(a\|b\|<0-3>)` | one of these |
//! | `[x]` | x or nothing |

use core::net::{Ipv4Addr, Ipv6Addr};

/// One alternative of one word of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Atom {
    /// A fixed word.
    Word(String),
    /// A number within bounds, both included.
    Range(u64, u64),
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// An IPv4 address and the length of its prefix.
    Ipv4Prefix,
    /// An IPv6 address and the length of its prefix.
    Ipv6Prefix,
    /// Any word, under the name that the pattern gives it.
    Name(String),
    /// The rest of the line.
    Rest(String),
}

/// How well a word of a line fits; the best come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// The fixed word itself.
    Exact,
    /// A beginning of the fixed word.
    Prefix,
    /// A number or address.
    Typed,
    /// Any word.
    Any,
    /// The rest of the line.
    Rest,
}

impl Atom {
    fn parse(text: &str) -> Self {
        let range = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        if let Some((low, high)) = range.and_then(|range| range.split_once('-'))
            && let (Ok(low), Ok(high)) = (low.parse(), high.parse())
        {
            return Self::Range(low, high);
        }
        match text {
            "A.B.C.D" => Self::Ipv4,
            "X:X::X:X" => Self::Ipv6,
            "A.B.C.D/M" => Self::Ipv4Prefix,
            "X:X::X:X/M" => Self::Ipv6Prefix,
            _ if text.starts_with('.') => Self::Rest(text.to_owned()),
            _ if text.starts_with(|c: char| c.is_ascii_uppercase()) => Self::Name(text.to_owned()),
            _ => Self::Word(text.to_owned()),
        }
    }

    /// How `word` fits, where it does.
    pub(crate) fn fit(&self, word: &str) -> Option<Fit> {
        match self {
            Self::Word(own) if own == word => Some(Fit::Exact),
            Self::Word(own) => (!word.is_empty() && own.starts_with(word)).then_some(Fit::Prefix),
            Self::Range(low, high) => {
                let number = decimal(word)?;
                (*low..=*high).contains(&number).then_some(Fit::Typed)
            }
            Self::Ipv4 => word.parse::<Ipv4Addr>().is_ok().then_some(Fit::Typed),
            Self::Ipv6 => word.parse::<Ipv6Addr>().is_ok().then_some(Fit::Typed),
            Self::Ipv4Prefix => ipv4_prefix(word).map(|_| Fit::Typed),
            Self::Ipv6Prefix => ipv6_prefix(word).map(|_| Fit::Typed),
            Self::Name(_) => Some(Fit::Any),
            Self::Rest(_) => Some(Fit::Rest),
        }
    }

    /// Whether a word that begins with `part` could fit.
    pub(crate) fn could_begin(&self, part: &str) -> bool {
        let all = |allowed: fn(char) -> bool| part.chars().all(allowed);
        match self {
            Self::Word(own) => own.starts_with(part),
            Self::Range(..) => all(|c| c.is_ascii_digit()),
            Self::Ipv4 => all(|c| c.is_ascii_digit() || c == '.'),
            Self::Ipv6 => all(|c| c.is_ascii_hexdigit() || c == ':'),
            Self::Ipv4Prefix => all(|c| c.is_ascii_digit() || c == '.' || c == '/'),
            Self::Ipv6Prefix => all(|c| c.is_ascii_hexdigit() || c == ':' || c == '/'),
            Self::Name(_) | Self::Rest(_) => true,
        }
    }

    /// As it stands in the pattern.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Word(text) | Self::Name(text) | Self::Rest(text) => text.clone(),
            Self::Range(low, high) => format!("<{low}-{high}>"),
            Self::Ipv4 => "A.B.C.D".to_owned(),
            Self::Ipv6 => "X:X::X:X".to_owned(),
            Self::Ipv4Prefix => "A.B.C.D/M".to_owned(),
            Self::Ipv6Prefix => "X:X::X:X/M".to_owned(),
        }
    }

    /// For the person who has written something else.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Range(low, high) => format!("a number from {low} to {high}"),
            Self::Ipv4 => "an IPv4 address".to_owned(),
            Self::Ipv6 => "an IPv6 address".to_owned(),
            Self::Ipv4Prefix => "an IPv4 prefix (A.B.C.D/M)".to_owned(),
            Self::Ipv6Prefix => "an IPv6 prefix (X:X::X:X/M)".to_owned(),
            Self::Word(_) | Self::Name(_) | Self::Rest(_) => self.text(),
        }
    }
}

/// One word of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) atoms: Vec<Atom>,
    pub(crate) optional: bool,
}

impl Token {
    /// Whether what fits is an argument: everything but a fixed word that must be there.
    pub(crate) fn captures(&self) -> bool {
        self.optional || !matches!(self.atoms.as_slice(), [Atom::Word(_)])
    }

    pub(crate) fn is_rest(&self) -> bool {
        matches!(self.atoms.as_slice(), [Atom::Rest(_)])
    }
}

/// The words of a pattern.
pub(crate) fn parse(pattern: &str) -> Vec<Token> {
    pattern
        .split_whitespace()
        .map(|word| {
            let inner = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let optional = inner.is_some();
            let word = inner.unwrap_or(word);
            let choice = word.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            let atoms = choice.unwrap_or(word).split('|').map(Atom::parse).collect();
            Token { atoms, optional }
        })
        .collect()
}

/// A decimal number of digits alone: no sign, no blank.
fn decimal(word: &str) -> Option<u64> {
    word.bytes().all(|c| c.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

/// An address and the length of its prefix.
#[must_use]
pub fn ipv4_prefix(word: &str) -> Option<(Ipv4Addr, u8)> {
    let (address, length) = word.split_once('/')?;
    let length = u8::try_from(decimal(length)?).ok().filter(|length| *length <= 32)?;
    Some((address.parse().ok()?, length))
}

/// The same of IPv6.
#[must_use]
pub fn ipv6_prefix(word: &str) -> Option<(Ipv6Addr, u8)> {
    let (address, length) = word.split_once('/')?;
    let length = u8::try_from(decimal(length)?).ok().filter(|length| *length <= 128)?;
    Some((address.parse().ok()?, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_come_apart() {
        let tokens = parse("timer (tns-block|<0-9>) [NAME] A.B.C.D .TEXT");
        assert_eq!(tokens.len(), 5);
        assert_eq!(tokens[1].atoms, [Atom::Word("tns-block".into()), Atom::Range(0, 9)]);
        assert!(tokens[2].optional && tokens[2].captures() && !tokens[0].captures());
        assert_eq!(tokens[3].atoms, [Atom::Ipv4]);
        assert!(tokens[4].is_rest());
    }

    #[test]
    fn words_fit() {
        let fit = |pattern: &str, word: &str| Atom::parse(pattern).fit(word);
        assert_eq!(fit("show", "sh"), Some(Fit::Prefix));
        assert_eq!(fit("show", "show"), Some(Fit::Exact));
        assert_eq!(fit("show", "shows"), None);
        assert_eq!(fit("<0-255>", "255"), Some(Fit::Typed));
        assert_eq!(fit("<0-255>", "256"), None);
        assert_eq!(fit("<0-255>", "+5"), None);
        assert_eq!(fit("<0-255>", "99999999999999999999999"), None);
        assert_eq!(fit("A.B.C.D", "10.0.0.1"), Some(Fit::Typed));
        assert_eq!(fit("A.B.C.D", "10.0.0"), None);
        assert_eq!(fit("A.B.C.D/M", "10.0.0.0/8"), Some(Fit::Typed));
        assert_eq!(fit("A.B.C.D/M", "10.0.0.0/33"), None);
        assert_eq!(fit("X:X::X:X", "::1"), Some(Fit::Typed));
        assert_eq!(fit("X:X::X:X/M", "2001:780:44:2000:0:0:0:0/56"), Some(Fit::Typed));
        assert_eq!(fit("X:X::X:X/M", "::1/129"), None);
        assert_eq!(fit("NAME", "*"), Some(Fit::Any));
    }
}
