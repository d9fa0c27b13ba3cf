//! A request, read and carried out.

use super::super::{MsNode, operate, status};
use crate::node::Running;
use gannet_ops::MobileStation;
use gannet_ops::config;
use gannet_ops::config::ms::{MsConfig, MsOperation};
use gannet_ops::grammar::{Action, CommandError, Grammar, Node};
use gannet_rt::Access;
use serde_json::{Value, json};

/// How the answer is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// One request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// How the answer is to be.
    pub format: Format,
    /// Which mobile; `None` where none is said.
    pub mobile: Option<u32>,
    /// The command.
    pub command: String,
}

impl Request {
    /// Reads a line.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(line: &str) -> Result<Self, String> {
        let mut words = line.splitn(3, ' ');
        let format = match words.next() {
            Some("text") => Format::Text,
            Some("json") => Format::Json,
            _ => return Err("A request begins with 'text' or 'json'.".to_owned()),
        };
        let mobile = match words.next() {
            Some("-") => None,
            Some(number) => {
                let parsed = number.parse();
                Some(parsed.map_err(|_| format!("'{number}' is no number of a mobile."))?)
            }
            None => return Err("A request names a mobile or '-'.".to_owned()),
        };
        let command = words.next().map(str::trim).filter(|command| !command.is_empty());
        let command = command.ok_or("A request has a command.")?.to_owned();
        Ok(Self { format, mobile, command })
    }

    /// True where events are to be told from now on.
    pub fn watches(&self) -> bool {
        self.command == "watch"
    }

    /// Carries it out, and says the answer.
    ///
    /// # Errors
    /// A sentence.
    pub fn answer(
        &self,
        running: &mut Running<MsNode>,
        grammar: &Grammar<MobileStation>,
        access: &mut Access<'_>,
    ) -> Result<String, String> {
        let mut out = String::new();
        let text_of = |error: CommandError| error.0;
        if let Some(line) = self.command.strip_prefix("set ") {
            set(running, line, access, &mut out).map_err(text_of)?;
            return Ok(self.taken(&out));
        }
        if self.format == Format::Json {
            let only = self.mobile.map(|number| operate::place(running.node(), access, number));
            let only = only.transpose().map_err(text_of)?;
            let node = running.node();
            let state = match self.command.as_str() {
                "status" => Some(status::status(node, only, access)),
                "devices" => Some(status::devices(node, only, access)),
                "cells" => Some(status::cells(node, access)),
                "drops" => Some(status::drops(access)),
                _ => None,
            };
            if let Some(state) = state {
                return Ok(format!("{state}\n"));
            }
        }
        let operation = operation(grammar, &self.line())?;
        running.operate(&operation, access, &mut out).map_err(text_of)?;
        Ok(if self.format == Format::Json { self.taken(&out) } else { out })
    }

    /// What was said in passing.
    fn taken(&self, said: &str) -> String {
        match self.format {
            Format::Text => said.to_owned(),
            Format::Json => format!("{}\n", json!({ "said": said.lines().collect::<Vec<_>>() })),
        }
    }

    /// An error as it is answered.
    pub fn refusal(format: Format, why: &str) -> String {
        match format {
            Format::Text => format!("{why}\n"),
            Format::Json => {
                format!("{}\n", Value::Object([("error".to_owned(), why.into())].into_iter().collect()))
            }
        }
    }

    /// The command as the VTY has it.
    fn line(&self) -> String {
        let (word, rest) = self.command.split_once(' ').unwrap_or((&self.command, ""));
        let number = self.mobile.unwrap_or(1);
        match (word, rest) {
            ("status", "") => match self.mobile {
                Some(number) => format!("show mobile {number}"),
                None => "show mobile".to_owned(),
            },
            ("devices" | "cells" | "drops", "") => format!("show {word}"),
            ("prefer", rest) if !rest.is_empty() => format!("bearer prefer {rest}"),
            ("activate" | "deactivate" | "mode" | "modify", rest) if !rest.is_empty() => {
                format!("mobile {number} {word} context {rest}")
            }
            _ => format!("mobile {number} {}", self.command),
        }
    }
}

/// What the VTY does at a line.
fn operation(grammar: &Grammar<MobileStation>, line: &str) -> Result<MsOperation, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let found = grammar.find(Node::Enable, &words);
    let (command, args) =
        found.map_err(|_| "That is no command; 'gannet ms ctl --help' lists them.".to_owned())?;
    match command.action() {
        Action::Operate(parse) => parse(&args).map_err(|error| error.0),
        _ => Err("That is no command; 'gannet ms ctl --help' lists them.".to_owned()),
    }
}

/// Takes a line of the node `ms` into the running configuration.
fn set(
    running: &mut Running<MsNode>,
    line: &str,
    access: &mut Access<'_>,
    out: &mut String,
) -> Result<(), CommandError> {
    let changed = changed(running.config(), line)?;
    running.apply(changed, access, out)
}

fn changed(config: &MsConfig, line: &str) -> Result<MsConfig, CommandError> {
    let text = format!("{}ms\n {line}\n", config::write::<MobileStation>(config));
    match config::read::<MobileStation>("", &text) {
        Ok(loaded) => Ok(loaded.config),
        // Where the line stands in the text is of no interest to anybody.
        Err(errors) => {
            let text = errors.to_string();
            let first = text.lines().next().unwrap_or_default();
            let why = first.splitn(3, ':').nth(2).unwrap_or(first).trim();
            Err(CommandError(why.to_owned()))
        }
    }
}

/// The commands of the VTY, among which orders are found.
pub fn grammar() -> Grammar<MobileStation> {
    Grammar::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_ops::config::bearers::Link;
    use gannet_ops::config::ms::{ContextOrder, Mode, Order, Preference};

    fn request(line: &str) -> Request {
        Request::parse(line).unwrap()
    }

    #[test]
    fn a_request_has_a_format_a_mobile_and_a_command() {
        let expected =
            Request { format: Format::Json, mobile: Some(7), command: "mode gprs acknowledged".to_owned() };
        assert_eq!(request("json 7 mode gprs acknowledged"), expected);
        assert!(request("text - watch").watches());
        for wrong in ["", "yaml - status", "text", "text x status", "text -", "text - "] {
            assert!(Request::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn commands_are_those_of_the_vty() {
        let grammar = grammar();
        let of = |line: &str| operation(&grammar, &request(line).line());
        let context = |order| {
            Ok(MsOperation::Order { mobile: 3, order: Order::Context { name: "gprs".to_owned(), order } })
        };
        assert_eq!(of("text - attach"), Ok(MsOperation::Order { mobile: 1, order: Order::Attach }));
        assert_eq!(of("text 3 activate gprs"), context(ContextOrder::Activate));
        assert_eq!(of("text 3 mode gprs acknowledged"), context(ContextOrder::Mode(Mode::Acknowledged)));
        assert_eq!(of("text 3 modify gprs delay-class 2"), context(ContextOrder::DelayClass(2)));
        assert_eq!(of("text - status"), Ok(MsOperation::ShowMobiles(None)));
        assert_eq!(of("text 2 status"), Ok(MsOperation::ShowMobiles(Some(2))));
        assert_eq!(of("text - devices"), Ok(MsOperation::ShowDevices));
        let prefer = |link| Ok(MsOperation::Prefer(Preference::Link(link)));
        let ethernet = prefer(Link::Ethernet("eth0".to_owned()));
        assert_eq!(of("text - prefer ethernet eth0"), ethernet);
        let udp = prefer(Link::Udp("[2001:db8::1]:7".parse().unwrap()));
        assert_eq!(of("text - prefer udp 2001:db8::1 7"), udp);
        assert_eq!(of("text - prefer configured"), Ok(MsOperation::Prefer(Preference::Configured)));
        let Ok(MsOperation::Prefer(Preference::Cell(cell))) = of("text - prefer cell 001 01 1 0 2") else {
            panic!("a cell")
        };
        assert_eq!(cell.ci, 2);
        for wrong in [
            "text - prefer",
            "text - prefer something",
            "text - fly",
            "text - attach twice",
            "text - mode gprs loud",
            "text - show running-config",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_line_of_the_configuration_changes_it_or_says_why_not() {
        let config = config::read::<MobileStation>("x", "ms\n cells\n context gprs\n").unwrap().config;
        let changed = |line| changed(&config, line);
        assert_eq!(changed("llc n201-u 1486").unwrap().fleet.n201_u, Some(1486));
        let error = changed("llc n201-u 15").unwrap_err().0;
        assert!(error.contains("140 to 1520") && !error.starts_with(':'), "{error}");
        let secret = changed("usim milenage k 00112233445566778899aabbccddeeff opc 0011").unwrap_err().0;
        assert!(!secret.contains("0011"), "{secret}");
    }
}
