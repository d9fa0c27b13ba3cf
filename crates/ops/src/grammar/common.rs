//! The commands that every element has: moving between nodes, looking at the session, `logging …`, `write`.

use super::log_view::{CATEGORY_WORDS, LEVELS, LogCommand, SILENT_WORDS};
use super::{Action, CommandError, Commands, Grammar, Node, SessionAction, Statistics};
use crate::metrics::Level;

/// The nodes in which commands are typed to operate, not to configure.
pub(crate) const OPERATING: &[Node] = &[Node::View, Node::Enable];

/// The commands of the view and enable nodes.
pub(crate) fn install<E: Commands>(grammar: &mut Grammar<E>) {
    let session = Action::Session;
    grammar.add(
        &[Node::View],
        "enable [expert-mode]",
        "Operate the node and change its configuration\nAs Osmocom has it: no command is hidden here",
        session(SessionAction::Enable),
    );
    grammar.add(&[Node::Enable], "disable", "Back to looking on", session(SessionAction::Disable));
    grammar.add(
        &[Node::Enable],
        "configure [terminal]",
        "Change the configuration\nFrom this terminal",
        session(SessionAction::Configure),
    );
    let mut both = |pattern: &'static str, help: &str, action| {
        grammar.add(OPERATING, pattern, help, Action::Session(action))
    };
    both(
        "show version",
        "Show the state of the node\nName and version of the program",
        SessionAction::Version,
    );
    let show = "Show the state of the node";
    both("show pid", &format!("{show}\nThe number of the process"), SessionAction::Pid);
    both("show uptime", &format!("{show}\nHow long it runs"), SessionAction::Uptime);
    both("show online-help", &format!("{show}\nWhere to read more"), SessionAction::OnlineHelp);
    let help = format!("{show}\nScheduling\nThe threads of this process, and where they may run");
    both("show cpu-sched threads", &help, SessionAction::Threads);
    both("who", "Who has a session", SessionAction::Who);
    both(
        "terminal length <0-512>",
        "Change the terminal\nLines of a page\n0 shows long answers in one piece",
        SessionAction::Length,
    );
    both(
        "terminal no length",
        "Change the terminal\nBack to\nThe length that the terminal tells",
        SessionAction::NoLength,
    );
    let history = "Show the state of the node\nThe last commands of this session";
    let nodes = &[Node::View, Node::Enable, Node::Config];
    grammar.add(nodes, "show history", history, session(SessionAction::History));
    let help = "Show the state of the node\nThe file that was read";
    let enable = &[Node::Enable];
    grammar.add(enable, "show startup-config", help, session(SessionAction::StartupConfig));
    install_logging(grammar);
    install_statistics(grammar);
}

fn install_statistics<E: Commands>(grammar: &mut Grammar<E>) {
    let mut add = |nodes: &[Node], pattern, help: &str, parse| {
        grammar.add(nodes, pattern, help, Action::Statistics(parse));
    };
    let show = "Show the state of the node\nEvery counter and gauge";
    add(OPERATING, "show stats [skip-zero]", &format!("{show}\nOnly those above 0"), |args| {
        Ok(Statistics::Show { level: None, skip_zero: args.get(0).is_some() })
    });
    let levels = "Of the node alone\nAnd of peers: NS-VCs, BVCs, GGSNs\nAnd of subscribers, who have none";
    let help = format!("{show}\nDown to which level\n{levels}\nOnly those above 0");
    add(OPERATING, "show stats level (global|peer|subscriber) [skip-zero]", &help, |args| {
        let level = Level::of_word(args.text(0));
        let level = level.ok_or_else(|| CommandError::new("There is no such level."))?;
        Ok(Statistics::Show { level: Some(level), skip_zero: args.get(1).is_some() })
    });
    let help =
        "Show the state of the node\nEvery counter under the name that Osmocom gives it\nOnly those above 0";
    add(OPERATING, "show rate-counters [skip-zero]", help, |args| {
        Ok(Statistics::Rates { skip_zero: args.get(0).is_some() })
    });
    let help = "Show the state of the node\nFor manuals\nTables of the counters that osmo-sgsn has, too";
    add(OPERATING, "show asciidoc counters", help, |_| Ok(Statistics::Asciidoc));
    let help = "Show the state of the node\nCaptures and streams of what crosses the interfaces, and what is missing in them";
    add(OPERATING, "show trace", help, |_| Ok(Statistics::Trace));
    let enable = &[Node::Enable];
    add(enable, "stats report", "Statistics\nReport them now", |_| Ok(Statistics::Report));
    let help = "Statistics\nFrom now on 'show stats' and its like count from 0";
    add(enable, "stats reset", help, |_| Ok(Statistics::Reset));
}

fn install_logging<E: Commands>(grammar: &mut Grammar<E>) {
    let log = |command| Action::Session(SessionAction::Log(command));
    let mut add =
        |pattern: &'static str, help: &str, command| grammar.add(OPERATING, pattern, help, log(command));
    add("logging enable", "The log, in this session\nShow it", LogCommand::Enable);
    add("logging disable", "The log, in this session\nHide it", LogCommand::Disable);
    add(
        "show logging vty",
        "Show the state of the node\nThe log\nWhat this session shows of it",
        LogCommand::Show,
    );
    for (pattern, help, command) in [
        (Switch::FilterAll, LogCommand::FilterAll),
        (Switch::Color, LogCommand::Color),
        (Switch::Timestamp, LogCommand::Timestamp),
        (Switch::ExtendedTimestamp, LogCommand::ExtendedTimestamp),
        (Switch::Category, LogCommand::Category),
        (Switch::Level, LogCommand::PrintLevel),
    ]
    .map(|(switch, command)| (switch.pattern(), switch.help(), command))
    {
        add(pattern, help, command);
    }
    let (pattern, help) = level_command();
    grammar.add(OPERATING, pattern, &help, log(LogCommand::Level));
    let (pattern, help) = level_all_command("set-all", "Of every category");
    grammar.add(OPERATING, pattern, &help, log(LogCommand::LevelAll));
    let (pattern, help) = level_all_command("force-all", FORCE_ALL);
    grammar.add(OPERATING, pattern, &help, log(LogCommand::LevelForced));
    grammar.add(OPERATING, NO_FORCE_ALL.0, NO_FORCE_ALL.1, log(LogCommand::LevelFree));
    for (pattern, help) in COSMETIC {
        let help = format!("The log\nWhat stands in a line\n{help}");
        grammar.add(OPERATING, *pattern, &help, log(LogCommand::Cosmetic));
    }
    let monitor = "Change the terminal";
    let enable = &[Node::Enable];
    grammar.add(
        enable,
        "terminal monitor",
        &format!("{monitor}\nShow the log, as 'logging enable'"),
        log(LogCommand::Enable),
    );
    let help = format!("{monitor}\nBack to\nNo log, as 'logging disable'");
    grammar.add(enable, "terminal no monitor", &help, log(LogCommand::Disable));
    let (words, help) = category_words();
    let (levels, level_help) = level_words();
    let help = format!("Write a line into the log\n{help}{level_help}\nThe line");
    let pattern = format!("logp {words} {levels} .LOGMESSAGE");
    grammar.add(OPERATING, pattern, &help, Action::Session(SessionAction::Say));
}

/// What `force-all` is beside `set-all`.
pub(crate) const FORCE_ALL: &str = "Of every category, until it is taken back";
/// The command that takes it back, with its help.
pub(crate) const NO_FORCE_ALL: (&str, &str) = (
    "no logging level force-all",
    "Take back\nThe log\nFrom which level on lines are shown\nThe level that holds for every category",
);

/// How Osmocom writes its lines, for which lines have nothing here.
pub(crate) const COSMETIC: &[(&str, &str)] = &[
    ("logging print thread-id (0|1)", "There is one thread\nOff\nOn"),
    ("logging print category-hex (0|1)", "Categories are words here\nOff\nOn"),
    ("logging print file (0|1|basename) [last]", "Lines have no file here\nOff\nOn\nShort\nAt the end"),
];

/// The `logging … (0|1)` commands that sessions and log targets share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    FilterAll,
    Color,
    Timestamp,
    ExtendedTimestamp,
    Category,
    Level,
}

impl Switch {
    pub(crate) const fn pattern(self) -> &'static str {
        match self {
            Self::FilterAll => "logging filter all (0|1)",
            Self::Color => "logging color (0|1)",
            Self::Timestamp => "logging timestamp (0|1)",
            Self::ExtendedTimestamp => "logging print extended-timestamp (0|1)",
            Self::Category => "logging print category (0|1)",
            Self::Level => "logging print level (0|1)",
        }
    }

    pub(crate) const fn help(self) -> &'static str {
        match self {
            Self::FilterAll => "The log\nWhich lines are shown\nLines about anybody\nNone\nAll",
            Self::Color => "The log\nColours by level\nOff\nOn",
            Self::Timestamp => "The log\nSeconds since the start in front of each line\nOff\nOn",
            Self::ExtendedTimestamp => "The log\nWhat stands in a line\nDate and time of day\nOff\nOn",
            Self::Category => "The log\nWhat stands in a line\nThe category\nOff\nOn",
            Self::Level => "The log\nWhat stands in a line\nThe level\nOff\nOn",
        }
    }
}

fn level_words() -> (String, String) {
    let words: Vec<&str> = LEVELS.iter().map(|(word, _)| *word).collect();
    let help = "For developers\nNormal events\nNormal events that matter\nWhat failed\nWhat ends the node";
    (format!("({})", words.join("|")), help.to_owned())
}

/// The words for categories, and their help.
fn category_words() -> (String, String) {
    let known = CATEGORY_WORDS.iter().map(|(word, ..)| *word);
    let words: Vec<&str> = known.chain(SILENT_WORDS.iter().copied()).collect();
    let mut help = String::new();
    for (_, _, text) in CATEGORY_WORDS {
        help.push_str(text);
        help.push('\n');
    }
    for _ in SILENT_WORDS {
        help.push_str("Osmocom's; nothing here speaks under it\n");
    }
    (format!("({})", words.join("|")), help)
}

/// `logging level CATEGORY LEVEL` with the words for both, and its help.
pub(crate) fn level_command() -> (String, String) {
    let (words, help) = category_words();
    let (levels, level_help) = level_words();
    let help = format!("The log\nFrom which level on lines are shown\n{help}{level_help}");
    (format!("logging level {words} {levels}"), help)
}

/// `logging level set-all LEVEL` and its like.
pub(crate) fn level_all_command(word: &str, of_what: &str) -> (String, String) {
    let (levels, help) = level_words();
    let help = format!("The log\nFrom which level on lines are shown\n{of_what}\n{help}");
    (format!("logging level {word} {levels}"), help)
}

/// The commands of all nodes, added behind those of the element.
pub(crate) fn install_everywhere<E: Commands>(grammar: &mut Grammar<E>) {
    let session = Action::Session;
    let all: Vec<Node> = grammar.nodes().collect();
    let configuring: Vec<Node> = all.iter().copied().filter(|node| node.is_config()).collect();
    grammar.add(&all, "help", "How to use this terminal", session(SessionAction::Help));
    let help = "The commands of this node\nWith '!' in front of those that change the configuration";
    grammar.add(&all, "list [with-flags]", help, session(SessionAction::List));
    let up = "One node up; out of the terminal at the top";
    grammar.add(&all, "exit", up, session(SessionAction::Exit));
    grammar.add(&all, "quit", up, session(SessionAction::Quit));
    let with_end: Vec<Node> = all.iter().copied().filter(|node| *node != Node::View).collect();
    grammar.add(&with_end, "end", "To the enable node", session(SessionAction::End));
    let show = "Show the state of the node\nThe configuration in force";
    grammar.add(&with_end, "show running-config", show, session(SessionAction::RunningConfig));
    grammar.add(&with_end, "write", "Write the configuration to its file", session(SessionAction::WriteFile));
    let words = "Write the configuration";
    let terminal = format!("{words}\nTo this terminal");
    grammar.add(&with_end, "write terminal", &terminal, session(SessionAction::RunningConfig));
    let file = format!("{words}\nTo a file\nWhich; without it, the one that was read");
    grammar.add(&with_end, "write file [PATH]", &file, session(SessionAction::WriteFile));
    let force =
        format!("{words}\nTo a file\nAlso where it would not load\nWhich; without it, the one that was read");
    grammar.add(&with_end, "write file force [PATH]", &force, session(SessionAction::WriteForced));
    let memory = format!("{words}\nTo the file that was read");
    grammar.add(&with_end, "write memory", &memory, session(SessionAction::WriteFile));
    grammar.add(
        &[Node::Enable],
        "copy running-config startup-config",
        "Copy\nThe configuration in force\nTo the file that was read",
        session(SessionAction::WriteFile),
    );
    grammar.add(
        &configuring,
        "do .LINE",
        "Run a command of the enable node\nThe command",
        session(SessionAction::Do),
    );
}

/// The text of `help`.
pub const HELP: &str = "\
?      what may come next, anywhere in a line
TAB    completes a word; words may be cut short as long as they are clear
list   the commands of this node
exit   one node up; end goes to the top
arrows and Ctrl-A Ctrl-E Ctrl-U Ctrl-W Ctrl-K edit the line; up and down bring back earlier ones
";
