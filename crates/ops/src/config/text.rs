//! Configuration text: the writer with its indentation, and the reader with its errors.

use super::{ConfigError, Cursor, Loaded, Outcome, Warning, change, nearest};
use crate::vty::secrets::masked;
use crate::vty::{Action, Element, Grammar, NoMatch, SessionAction};
use core::fmt;

/// Lines of configuration, indented by one blank for each level.
#[derive(Debug, Default, Clone)]
pub struct ConfigText {
    text: String,
    depth: usize,
}

impl ConfigText {
    /// Adds a line.
    pub fn line(&mut self, line: fmt::Arguments<'_>) {
        use fmt::Write as _;
        self.text.extend(core::iter::repeat_n(' ', self.depth));
        let _ = writeln!(self.text, "{line}");
    }

    /// Adds a line that opens a node, then what `inside` adds to it.
    pub fn node(&mut self, line: fmt::Arguments<'_>, inside: impl FnOnce(&mut Self)) {
        self.line(line);
        self.depth += 1;
        inside(self);
        self.depth -= 1;
    }

    /// Adds an empty comment, which parts sections.
    pub fn comment(&mut self) {
        self.text.push_str("!\n");
    }

    /// The text.
    #[must_use]
    pub fn into_string(self) -> String {
        self.text
    }
}

/// Octets of a line that is looked at.
const LINE_MAX: usize = 4096;

/// Reads a whole text.
pub(super) fn read<E: Element>(file: &str, content: &str) -> Result<Loaded<E::Config>, ConfigError> {
    let grammar = Grammar::<E>::new();
    let mut reader = Reader {
        grammar: &grammar,
        config: E::Config::default(),
        cursor: Cursor::default(),
        indents: vec![0],
        may_deepen: false,
    };
    let mut warnings = Vec::new();
    for (line, text) in (1..).zip(content.lines()) {
        let mut of_line = Vec::new();
        reader.line(text, &mut of_line).map_err(|problem| ConfigError::Line {
            file: file.to_owned(),
            line,
            problem,
        })?;
        warnings.extend(of_line.into_iter().map(|text| Warning { file: file.to_owned(), line, text }));
    }
    Ok(Loaded { config: reader.config, warnings })
}

struct Reader<'g, E: Element> {
    grammar: &'g Grammar<E>,
    config: E::Config,
    cursor: Cursor,
    /// The indentation of each level that is open, the root's first.
    indents: Vec<usize>,
    /// The line before opened a node.
    may_deepen: bool,
}

impl<E: Element> Reader<'_, E> {
    fn line(&mut self, line: &str, warnings: &mut Vec<String>) -> Result<(), String> {
        if line.len() > LINE_MAX {
            return Err(format!("the line is longer than {LINE_MAX} octets"));
        }
        let content = line.trim();
        if content.is_empty() || content.starts_with(['!', '#']) {
            return Ok(());
        }
        self.indent(line.len() - line.trim_start().len(), content)?;
        let words: Vec<&str> = content.split_whitespace().collect();
        let node = self.cursor.node();
        let (command, args) =
            self.grammar.find(node, &words).map_err(|error| self.problem(error, content, &words))?;
        if let Action::Session(action) = command.action() {
            // What `show running-config` ends with, and what old files close their nodes with.
            return match action {
                SessionAction::End => Ok(()),
                SessionAction::Exit | SessionAction::Quit => {
                    self.may_deepen = false;
                    Ok(())
                }
                _ => Err(format!("'{content}' is for a session, not for a file")),
            };
        }
        let outcome = change(command.action(), &args, &mut self.config, &mut self.cursor, warnings)
            // A line with a key in it is not repeated.
            .map_err(|error| {
                let secret = command.pattern().contains("HEX");
                format!("'{}': {error}", if secret { command.pattern() } else { content })
            })?;
        match outcome {
            Outcome::Entered => self.may_deepen = true,
            Outcome::Done => self.may_deepen = false,
            Outcome::Other => return Err(format!("'{content}' is for a session, not for a file")),
        }
        Ok(())
    }

    /// Leaves the nodes that are not open any more, by the indentation of the next line.
    fn indent(&mut self, indent: usize, content: &str) -> Result<(), String> {
        let current = self.indents.last().copied().unwrap_or(0);
        if indent > current {
            if !self.may_deepen {
                return Err(format!(
                    "'{}' is indented, and the line above opens no node ({indent} blanks, {current} expected)",
                    masked(content)
                ));
            }
            self.indents.push(indent);
        } else if indent < current {
            while self.indents.last().is_some_and(|open| *open > indent) {
                self.indents.pop();
            }
            if self.indents.last() != Some(&indent) {
                let content = masked(content);
                return Err(format!("'{content}' is indented by {indent} blanks, as no line above it is"));
            }
        }
        self.may_deepen = false;
        // A node that was opened without a line in it is left, too.
        while self.cursor.depth() + 1 > self.indents.len() {
            self.cursor.up();
        }
        Ok(())
    }

    fn problem(&self, error: NoMatch, content: &str, words: &[&str]) -> String {
        let node = self.cursor.node();
        let what = match error {
            NoMatch::Unknown => "unknown command",
            NoMatch::Ambiguous => "ambiguous command",
            NoMatch::Incomplete => "incomplete command",
        };
        let elsewhere =
            self.grammar.nodes().filter(|other| other.is_config() && *other != node).find(|other| {
                self.grammar
                    .find(*other, words)
                    .is_ok_and(|(command, _)| !matches!(command.action(), Action::Session(_)))
            });
        let hint = match (elsewhere, nearest(self.grammar, node, words)) {
            (Some(other), _) => format!("; it is known in node {}", other.name()),
            (None, Some(pattern)) => format!("; the nearest known is '{pattern}'"),
            (None, None) => String::new(),
        };
        format!("{what} '{}' in node {}{hint}", masked(content), node.name())
    }
}
