//! Keys in lines that are shown, repeated or remembered: the configurations of mobiles have those of their cards and bearers. They
//! stand in their files alone, and go there by `write file`.

/// What stands in a key's place.
pub const HIDDEN: &str = "(hidden)";
/// Hexadecimal digits of the shortest key, Kc. No other number is that long: an IMSI has 15 digits.
const SHORTEST: usize = 16;
/// Words that a key follows, whatever it looks like: who has mistyped it has still typed most of it.
const NAMES: &[&str] = &["key", "ki", "k", "op", "opc", "oap-k", "oap-opc", "sres", "kc"];

fn is_key(before: &str, word: &str) -> bool {
    NAMES.iter().any(|name| name.eq_ignore_ascii_case(before))
        || word.split(|c: char| !c.is_ascii_hexdigit()).any(|digits| digits.len() >= SHORTEST)
}

/// Whether a line has a key in it.
#[must_use]
pub fn has_key(line: &str) -> bool {
    let mut before = "";
    line.split_whitespace().any(|word| is_key(core::mem::replace(&mut before, word), word))
}

/// Lines as they are, but for the keys in them.
#[must_use]
pub fn masked(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut before = "";
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let blank = piece.strip_prefix(word).unwrap_or_default();
        if !word.is_empty() {
            masked.push_str(if is_key(before, word) { HIDDEN } else { word });
            before = word;
        }
        masked.push_str(blank);
        if blank == "\n" {
            before = "";
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "000102030405060708090A0b0c0d0e0f";

    #[test]
    fn keys_are_hidden_and_nothing_else_is() {
        let text = format!(
            "!\nbss\n sim comp128v1 ki {KEY}\n  usim  milenage k {KEY} opc {KEY}\r\n apn internet\n\n"
        );
        let shown = "!\nbss\n sim comp128v1 ki (hidden)\n  usim  milenage k (hidden) opc (hidden)\r\n apn internet\n\n";
        assert_eq!(masked(&text), shown);
        assert_eq!(masked(&format!("! ki={KEY}")), "! (hidden)");
        for line in [
            "imsi-acl add 001010000000001",
            "ipv6 prefix dynamic 2001:db8:1111:2222:3333:4444:5555:6666/56",
            "gtp state-dir /var/lib/gannet",
            " sim comp128v1 ki",
            "",
            " ",
        ] {
            assert_eq!(masked(line), line);
            assert!(!has_key(line), "{line}");
        }
        // What follows in another line is another word.
        assert_eq!(masked("ki\nhostname x"), "ki\nhostname x");
    }

    #[test]
    fn a_mistyped_key_is_a_key() {
        for line in [
            format!("sim comp128v1 ki {KEY}"),
            format!("sim comp128v1 ki {}g", &KEY[..10]),
            format!("sim comp128v1 k {KEY}"),
            format!("simm comp128v1 {}", &KEY[..20]),
            "update-subscriber imsi 001010000000001 insert auth-triplet 1 sres 01020304 rand 00 kc 11"
                .to_owned(),
        ] {
            assert!(has_key(&line) && masked(&line).contains(HIDDEN), "{line}");
        }
    }
}
