//! Which word of a line is wrong, and what may stand in its place.

use super::secrets::masked;
use super::{Atom, Commands, Grammar, NoMatch, Node, Partial, partials};

/// Words of a choice that are shown at the most.
const SHOWN_MAX: usize = 24;

impl<E: Commands> Grammar<E> {
    /// What is wrong with a line that begins a command and is none: the word that does not fit, or that something is missing.
    /// `None` where its fixed words are those of no command. A key is not repeated.
    #[must_use]
    pub fn mistake(&self, node: Node, words: &[&str]) -> Option<String> {
        let place = self.begun(node, words).filter(|place| *place > 0)?;
        let begun = partials(self.commands(node), words.get(..place)?).ok()?;
        let (allowed, is_choice) = self.allowed(node, &begun);
        let shown = masked(&words.join(" "));
        let Some(word) = shown.split_whitespace().nth(place) else {
            return (!allowed.is_empty()).then(|| format!("next comes {}", any_of(&allowed)));
        };
        match (allowed.is_empty(), is_choice) {
            (true, _) => Some(format!("'{word}' is one word too many")),
            (false, true) => Some(format!("'{word}' must be {}", any_of(&allowed))),
            (false, false) => None,
        }
    }

    /// Is a line one command of the node as far as it goes, and then comes a value that does not fit?
    #[must_use]
    pub fn has_wrong_value(&self, node: Node, words: &[&str]) -> bool {
        let place = self.begun(node, words).filter(|place| (1..words.len()).contains(place));
        let begun = place.and_then(|place| partials(self.commands(node), words.get(..place)?).ok());
        begun.is_some_and(|begun| {
            let (allowed, is_choice) = self.allowed(node, &begun);
            begun.len() == 1 && is_choice && !allowed.is_empty()
        })
    }

    /// How many words of a line begin a command.
    fn begun(&self, node: Node, words: &[&str]) -> Option<usize> {
        let ends = |end: &usize| words.get(..*end).is_some_and(|begin| self.fits_none(node, begin));
        (1..=words.len()).find(ends).map_or(Some(words.len()), |end| end.checked_sub(1))
    }

    fn fits_none(&self, node: Node, words: &[&str]) -> bool {
        partials(self.commands(node), words).is_err_and(|error| error == NoMatch::Unknown)
    }

    /// What may come next, in words; and whether it is a value rather than the name of one command or another.
    fn allowed(&self, node: Node, begun: &[Partial]) -> (Vec<String>, bool) {
        let (mut allowed, mut is_choice) = (Vec::new(), false);
        for partial in begun {
            let command = self.commands(node).get(partial.command);
            for token in command.into_iter().flat_map(|command| command.tokens.iter().skip(partial.next)) {
                is_choice |= token.atoms.len() > 1 || !matches!(token.atoms.as_slice(), [Atom::Word(_)]);
                for text in token.atoms.iter().map(Atom::in_words) {
                    if !allowed.contains(&text) {
                        allowed.push(text);
                    }
                }
                if !token.optional {
                    break;
                }
            }
        }
        (allowed, is_choice)
    }
}

/// `a`, `a or b`, `a, b or c`.
fn any_of(allowed: &[String]) -> String {
    let shown = allowed.get(..SHOWN_MAX).unwrap_or(allowed);
    match shown.split_last() {
        None => String::new(),
        Some(_) if shown.len() < allowed.len() => {
            format!("{} or another of {}", shown.join(", "), allowed.len())
        }
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}
