//! Configuration text: the writer with its indentation, and the reader with its errors.

use super::instead::{self, OldNs};
use super::suggest::looks_like;
use super::{ConfigError, ConfigErrors, Cursor, Loaded, Outcome, Warning, change, nearest, programs};
use crate::config::Element;
use crate::grammar::secrets::masked;
use crate::grammar::{Action, Command, Grammar, NoMatch, Node, Problem, SessionAction};
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

/// What is asked about a configuration as a whole.
pub(super) type Whole<'f, C> = &'f dyn Fn(&C) -> Vec<Problem>;

/// Reads a whole text.
pub(super) fn read<E: Element>(
    file: &str,
    content: &str,
    more: Whole<'_, E::Config>,
) -> Result<Loaded<E::Config>, ConfigErrors> {
    let grammar = Grammar::<E>::new();
    let all = |config: &E::Config| [E::problems(config), more(config)].concat();
    let Pass { config, warnings, wrong, opened, old_ns } = Pass::over(&grammar, content, usize::MAX);
    // What is said of each line of a file that is not for this program helps nobody.
    if opened.iter().all(|(node, _)| programs::has_every_program(*node))
        && let Some((line, program)) =
            wrong.iter().find_map(|wrong| Some((wrong.line, wrong.program(E::NAME)?)))
    {
        let problem = format!("this is a configuration of '{program}', and this is 'gannet {}'", E::NAME);
        return Err(ConfigError::Line { file: file.to_owned(), line, problem, instead: Vec::new() }.into());
    }
    let mut problems = all(&config);
    // What is missing may be a line that is not understood.
    problems.retain(|problem| !wrong.iter().any(|line| line.may_cause(problem, &opened)));
    if wrong.is_empty() && problems.is_empty() {
        let mut warnings = warnings;
        for remark in E::remarks(&config).into_iter().take(SOUGHT_MAX) {
            let is_there =
                |lines: usize| E::remarks(&Pass::over(&grammar, content, lines).config).contains(&remark);
            warnings.push((first_line(content, is_there).unwrap_or(1), remark));
        }
        warnings.sort_by_key(|(line, _)| *line);
        let of_file = |(line, text)| Warning { file: file.to_owned(), line, text };
        return Ok(Loaded { config, warnings: warnings.into_iter().map(of_file).collect() });
    }
    let mut errors: Vec<(usize, ConfigError)> = Vec::new();
    for WrongLine { line, problem, instead, .. } in wrong {
        let instead = if old_ns.begins_at(line) { old_ns.instead() } else { instead };
        errors.push((line, ConfigError::Line { file: file.to_owned(), line, problem, instead }));
    }
    for (count, problem) in problems.into_iter().enumerate() {
        let opened = || opened.iter().find(|(node, _)| Some(*node) == problem.node).map(|(_, line)| *line);
        let is_there = |lines: usize| all(&Pass::over(&grammar, content, lines).config).contains(&problem);
        let line = if count < SOUGHT_MAX { first_line(content, is_there).or_else(opened) } else { None };
        let (file, problem) = (file.to_owned(), problem.text);
        errors.push(match line {
            Some(line) => (line, ConfigError::Line { file, line, problem, instead: Vec::new() }),
            None => (usize::MAX, ConfigError::Whole { file, problem }),
        });
    }
    errors.sort_by_key(|(line, _)| *line);
    Err(ConfigErrors(errors.into_iter().map(|(_, error)| error).collect()))
}

/// Problems whose lines are sought.
const SOUGHT_MAX: usize = 32;

/// A line with which something begins to be there, as it is at the end of the text; `None` where it is there without any line.
fn first_line(content: &str, is_there: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut without, mut with) = (0, content.lines().count());
    if is_there(without) {
        return None;
    }
    while with - without > 1 {
        let middle = usize::midpoint(without, with);
        if is_there(middle) {
            with = middle;
        } else {
            without = middle;
        }
    }
    Some(with)
}

/// A line that is not understood.
struct WrongLine {
    line: usize,
    node: Node,
    words: Vec<String>,
    problem: String,
    instead: Vec<String>,
}

impl WrongLine {
    /// The program that has such a section.
    fn program(&self, own: &str) -> Option<&'static str> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        programs::of_section(&words, own).filter(|_| self.node == Node::Config)
    }

    /// Whether this may be the line that is missing: it looks like one that the problem names, or like that which opens the
    /// problem's node.
    fn may_cause(&self, problem: &Problem, opened: &[(Node, usize)]) -> bool {
        let hides_its_node = problem.node.is_some_and(|node| {
            let is_open = opened.iter().any(|(open, _)| *open == node);
            self.node == Node::Config && !is_open
        });
        // What stands between quotation marks is every second piece.
        let named = problem.text.split('\'').skip(1).step_by(2);
        hides_its_node || named.into_iter().any(|line| looks_like(&self.words, line))
    }
}

/// What came of the first lines of a text.
struct Pass<E: Element> {
    config: E::Config,
    warnings: Vec<(usize, String)>,
    wrong: Vec<WrongLine>,
    /// Nodes, and the line that opened each of them first.
    opened: Vec<(Node, usize)>,
    old_ns: OldNs,
}

impl<E: Element> Pass<E> {
    fn over(grammar: &Grammar<E>, content: &str, lines: usize) -> Self {
        let mut reader = Reader {
            grammar,
            config: E::Config::default(),
            cursor: Cursor::default(),
            indents: vec![0],
            may_deepen: false,
        };
        let (mut warnings, mut wrong, mut opened) = (Vec::new(), Vec::new(), Vec::new());
        let mut old_ns = OldNs::default();
        // The level of a line that is not understood: what stands deeper is within it.
        let mut skipped: Option<usize> = None;
        for (line, text) in (1..).zip(content.lines()).take(lines) {
            let words: Vec<&str> = text.split_whitespace().collect();
            let indent = text.len() - text.trim_start().len();
            let is_comment = words.first().is_none_or(|word| word.starts_with(['!', '#']));
            if !is_comment && skipped.take_if(|skipped| indent <= *skipped).is_none() && skipped.is_some() {
                continue;
            }
            let mut of_line = Vec::new();
            let result = reader.line(text, &mut of_line);
            let node = reader.cursor.node();
            warnings.extend(of_line.into_iter().map(|text| (line, text)));
            match result {
                Ok(()) if reader.may_deepen => opened.push((node, line)),
                Ok(()) => {}
                Err(mut problem) => {
                    skipped = Some(reader.indents.last().map_or(indent, |open| indent.min(*open)));
                    let first = old_ns.take(line, node, &words).filter(|_| E::NAME == "sgsn");
                    if let Some(first) = first.filter(|first| *first != line) {
                        problem = format!(
                            "unknown command '{}'; line {first} has what to write instead",
                            text.trim()
                        );
                    } else if first.is_some() {
                        problem = format!(
                            "unknown command '{}': so was NS configured before osmo-sgsn 1.7",
                            text.trim()
                        );
                    }
                    let instead = instead::of_line(E::NAME, node, &words);
                    let words = words.into_iter().map(str::to_owned).collect();
                    wrong.push(WrongLine { line, node, words, problem, instead });
                }
            }
        }
        Self { config: reader.config, warnings, wrong, opened, old_ns }
    }
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
        // It may be the beginning of a word that is known here.
        if let Some(program) = programs::of_section(&words, E::NAME).filter(|_| node == Node::Config) {
            return Err(format!("'{content}' is of the configuration of '{program}'"));
        }
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

    /// Another node that has such a command.
    fn elsewhere(&self, node: Node, words: &[&str]) -> Option<Node> {
        // Neither what is of a session nor what any line is.
        let is_of_files = |command: &Command<E>| {
            !matches!(command.action(), Action::Session(_)) && !command.pattern().starts_with('.')
        };
        let mut others = self.grammar.nodes().filter(|other| other.is_config() && *other != node);
        others.find(|other| self.grammar.find(*other, words).is_ok_and(|(command, _)| is_of_files(command)))
    }

    fn problem(&self, error: NoMatch, content: &str, words: &[&str]) -> String {
        let node = self.cursor.node();
        let what = match error {
            NoMatch::Unknown => "unknown command",
            NoMatch::Ambiguous => "ambiguous command",
            NoMatch::Incomplete => "incomplete command",
        };
        let (content, name) = (masked(content), node.name());
        let is_meant = error == NoMatch::Unknown && self.grammar.has_wrong_value(node, words);
        if let Some(other) = self.elsewhere(node, words).filter(|_| !is_meant) {
            return format!("{what} '{content}' in node {name}; it is known in node {}", other.name());
        }
        let mistake = self.grammar.mistake(node, words).filter(|_| error != NoMatch::Ambiguous);
        match (mistake, nearest(self.grammar, node, words)) {
            (Some(mistake), _) if error == NoMatch::Unknown => {
                format!("'{content}' in node {name}: {mistake}")
            }
            (Some(mistake), _) => format!("{what} '{content}' in node {name}: {mistake}"),
            (None, Some(pattern)) => {
                format!("{what} '{content}' in node {name}; the nearest known is '{pattern}'")
            }
            (None, None) => format!("{what} '{content}' in node {name}"),
        }
    }
}
