//! The known command that is nearest to an unknown line.

use crate::config::Element;
use crate::grammar::Shape;
use crate::grammar::{Action, Grammar, Node};

/// The pattern of `node` that is nearest to `words`: by edit distance of the fixed words, where a placeholder costs
/// nothing if it fits. `None` where none is near: whose first word is another one helps nobody, and so do the commands of
/// a session.
pub(crate) fn nearest<E: Element>(grammar: &Grammar<E>, node: Node, words: &[&str]) -> Option<String> {
    let commands = grammar.commands(node).iter();
    let of_files = commands.filter(|command| !matches!(command.action(), Action::Session(_)));
    let near = of_files.filter(|command| begins_alike(&command.shape(), words));
    let best = near.min_by_key(|command| distance(&command.shape(), words))?;
    Some(best.pattern().to_owned())
}

/// Whether the first word, behind `no` the second one, is a slip of the pen.
fn begins_alike(shape: &[Shape<'_>], words: &[&str]) -> bool {
    let alike = |place: usize| {
        let (Some(shape), Some(word)) = (shape.get(place), words.get(place)) else { return false };
        let least = shape.fixed.iter().map(|own| edit_distance(own, word)).min();
        shape.fits(word) || least.is_some_and(|letters| 3 * letters <= word.chars().count().max(3))
    };
    alike(0) && (words.first() != Some(&"no") || alike(1))
}

/// What a word costs that is missing or too many.
const WORD: usize = 4;
/// What a value costs that does not fit its placeholder: less than a wrong word, since the command was probably meant.
const VALUE: usize = 2;

fn distance(shape: &[Shape<'_>], words: &[&str]) -> usize {
    let mut cost = 0;
    let mut words = words.iter().take(shape.len() + 8);
    for place in shape {
        let Some(word) = words.next() else {
            cost += if place.optional { 0 } else { WORD };
            continue;
        };
        let fixed = place.fixed.iter().map(|own| edit_distance(own, word)).min();
        cost += match (fixed, place.fits(word)) {
            (_, true) => 0,
            (Some(letters), _) => letters.saturating_mul(2),
            (None, false) => VALUE,
        };
    }
    cost + WORD * words.count()
}

/// Whether a line may be meant for this one, whose words in capitals or brackets stand for any: each other word is a slip of the
/// pen away.
pub(super) fn looks_like(words: &[String], line: &str) -> bool {
    let is_any = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase() || c == '<');
    let mut fixed = line.split_whitespace().zip(words).filter(|(own, _)| !is_any(own)).peekable();
    fixed.peek().is_some()
        && line.split_whitespace().take_while(|own| !is_any(own)).count() <= words.len()
        && fixed.all(|(own, word)| {
            let is_number = own.bytes().all(|octet| octet.is_ascii_digit());
            if is_number { own == word } else { 2 * edit_distance(own, word) <= own.chars().count() }
        })
}

/// Letters to insert, remove or replace.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (slot, y) in row.iter_mut().skip(1).zip(&b) {
            let above = *slot;
            left = (diagonal + usize::from(x != *y)).min(above + 1).min(left + 1);
            *slot = left;
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sgsn;

    #[test]
    fn distances() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("abc", "abc"), 0);
    }

    #[test]
    fn a_line_may_be_meant_for_one_that_is_missing() {
        let looks = |line: &str, missing| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            looks_like(&words, missing)
        };
        assert!(looks("gtp lokal-ip 127.0.0.1", "gtp local-ip A.B.C.D"));
        assert!(looks("ggsn 3 remot-ip 127.0.0.1", "ggsn 3 remote-ip A.B.C.D"));
        assert!(looks("ggns a", "ggsn NAME"));
        for line in ["ggsn 5 remot-ip 127.0.0.1", "ggsn", "frob 3 remote-ip 127.0.0.1", "timer 3"] {
            assert!(!looks(line, "ggsn 3 remote-ip A.B.C.D"), "{line}");
        }
    }

    #[test]
    fn slips_of_the_pen_are_found() {
        let grammar = Grammar::<Sgsn>::new();
        let near = |node, line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            nearest(&grammar, node, &words).unwrap()
        };
        assert!(near(Node::Ns, "timr tns-block 3").starts_with("timer (tns-block|"));
        assert!(near(Node::Ns, "timer tns-blok 3").starts_with("timer (tns-block|"));
        assert_eq!(near(Node::Sgsn, "ggsn 0 remot-ip 127.0.0.2"), "ggsn <0-255> remote-ip A.B.C.D");
        assert_eq!(near(Node::Sgsn, "ggsn 0 remote-ip 127.0.0"), "ggsn <0-255> remote-ip A.B.C.D");
        assert_eq!(near(Node::NsBind, "accept-ipacess"), "accept-ipaccess");
        for line in ["frobnicate 3", "no frobnication", "mtu 1500", "xx"] {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(nearest(&grammar, Node::Sgsn, &words), None, "{line}");
        }
    }
}
