//! Charging records, in osmo-sgsn's words.

use crate::Sgsn;
use crate::config::ConfigText;
use crate::grammar::{Action, Grammar, Node};

/// Where charging records go, and how often there is one of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charging {
    /// The file to which they are appended.
    pub filename: Option<String>,
    /// They are told on the control interface.
    pub trap: bool,
    /// From one record of an active context to the next, in s.
    pub interval_s: u32,
}

impl Default for Charging {
    fn default() -> Self {
        Self { filename: None, trap: false, interval_s: 600 }
    }
}

impl Charging {
    /// Whether there are records at all.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.filename.is_some() || self.trap
    }
}

pub(super) fn write(charging: &Charging, text: &mut ConfigText) {
    if let Some(name) = &charging.filename {
        text.line(format_args!("cdr filename {name}"));
    }
    if charging.trap {
        text.line(format_args!("cdr trap"));
    }
    if charging.interval_s != Charging::default().interval_s {
        text.line(format_args!("cdr interval {}", charging.interval_s));
    }
}

pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    grammar.add(
        sgsn,
        "cdr filename NAME",
        "Charging records\nThe file to which they are appended\nIts path",
        Action::<Sgsn>::Set(|edit| {
            edit.config.charging.filename = Some(edit.args.text(0).to_owned());
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "cdr interval <1-2147483647>",
        "Charging records\nFrom one record of an active PDP context to the next\nSeconds",
        Action::<Sgsn>::Set(|edit| {
            edit.config.charging.interval_s = edit.args.value(0)?;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "cdr trap",
        "Charging records\nTell them on the control interface, as TRAP cdr-v1",
        Action::<Sgsn>::Set(|edit| {
            edit.config.charging.trap = true;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "no cdr (filename|trap)",
        "Take back\nCharging records\nWrite them into no file\nDo not tell them on the control interface",
        Action::<Sgsn>::Set(|edit| {
            match edit.args.text(0) {
                "filename" => edit.config.charging.filename = None,
                _ => edit.config.charging.trap = false,
            }
            Ok(())
        }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Charging {
        let text = format!("sgsn\n gtp local-ip 127.0.0.1\n{lines}");
        crate::config::read::<Sgsn>("x", &text).unwrap().config.charging
    }

    #[test]
    fn records_are_on_where_somebody_takes_them() {
        assert_eq!((read(""), read("").is_on()), (Charging::default(), false));
        let all = read(" cdr filename /tmp/a.csv\n cdr trap\n cdr interval 30\n");
        let wanted = Charging { filename: Some("/tmp/a.csv".to_owned()), trap: true, interval_s: 30 };
        assert_eq!((&all, all.is_on()), (&wanted, true));
        assert!(read(" cdr trap\n").is_on());
        let none = read(" cdr filename a\n cdr trap\n no cdr filename\n no cdr trap\n cdr interval 600\n");
        assert_eq!(none, Charging::default());
    }

    #[test]
    fn what_is_written_is_read_again() {
        for lines in ["", " cdr filename a.csv\n", " cdr trap\n cdr interval 7\n"] {
            let charging = read(lines);
            let mut text = ConfigText::default();
            text.node(format_args!("sgsn"), |text| write(&charging, text));
            assert_eq!(text.into_string().trim_start_matches('!').trim_start(), format!("sgsn\n{lines}"));
        }
    }
}
