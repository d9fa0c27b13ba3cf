//! What mobility management does beside its timers: the network's names in osmo-msc's words, who is asked for at routing
//! area updates, P-TMSI signatures, and whether mobiles are asked for their IMEI.

use super::{Access, Policy};
use crate::Sgsn;
use crate::config::ConfigText;
use crate::grammar::{Action, CommandError, Grammar, Node};
use gannet_proto::gmm::network::Signatures;

/// What mobility management does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mobility {
    /// The network's full name, told to mobiles that have attached.
    pub long_name: Option<String>,
    /// The same, short.
    pub short_name: Option<String>,
    /// Whether a mobile may be served is asked at each routing area update, too.
    pub authenticates_updates: bool,
    /// What P-TMSI signatures are for; `None` where that was not said.
    pub ptmsi_signature: Option<Signatures>,
    /// Whether mobiles are asked for their IMEI when they attach; `None` where that was not said.
    pub imei_request: Option<bool>,
}

impl Mobility {
    /// What P-TMSI signatures are for. By default they may be missing where mobiles do not have to prove who they are.
    #[must_use]
    pub fn signatures(&self, access: &Access) -> Signatures {
        let is_required = access.policy == Policy::Remote && access.authentication != Some(false);
        let default = if is_required { Signatures::Demanded } else { Signatures::Given };
        self.ptmsi_signature.unwrap_or(default)
    }

    /// Are mobiles asked for their IMEI? By default they are, as by osmo-sgsn, whose words these are.
    #[must_use]
    pub fn asks_imei(&self) -> bool {
        self.imei_request.unwrap_or(true)
    }
}

/// Characters of a name at most: what its element has room for (04.08 clause 10.5.3.5a [24.008]).
const NAME_MAX: usize = 200;
/// What else a name may have: characters that are the same in the GSM default alphabet.
const SIGNS: &str = " .,-+*/()&";

pub(super) fn write(mobility: &Mobility, text: &mut ConfigText) {
    if let Some(name) = &mobility.short_name {
        text.line(format_args!("short name {name}"));
    }
    if let Some(name) = &mobility.long_name {
        text.line(format_args!("long name {name}"));
    }
    if mobility.authenticates_updates {
        text.line(format_args!("authentication updates"));
    }
    if let Some(signatures) = mobility.ptmsi_signature {
        let word = match signatures {
            Signatures::Demanded => "on",
            Signatures::Given => "lenient",
            Signatures::Unused => "off",
        };
        text.line(format_args!("p-tmsi-signature {word}"));
    }
    if let Some(on) = mobility.imei_request {
        text.line(format_args!("imei-request {}", if on { "on" } else { "off" }));
    }
}

fn name_of(text: &str) -> Result<String, CommandError> {
    if let Some(other) = text.chars().find(|c| !c.is_ascii_alphanumeric() && !SIGNS.contains(*c)) {
        return Err(CommandError(format!(
            "'{other}' is not for a name of the network: letters, digits, blanks and{SIGNS}"
        )));
    }
    if text.len() > NAME_MAX {
        return Err(CommandError(format!("a name of the network has {NAME_MAX} characters at most.")));
    }
    Ok(text.to_owned())
}

pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    install_names(grammar);
    install_updates(grammar);
    install_identities(grammar);
}

fn install_identities(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    grammar.add(
        sgsn,
        "p-tmsi-signature (on|lenient|off)",
        "P-TMSI signatures\nMobiles are given one, and are identified or authenticated without it; the default with 'authentication required'\nMobiles are given one, and are identified or authenticated if they show another; otherwise the default\nThere are none",
        Action::<Sgsn>::Set(|edit| {
            edit.config.mobility.ptmsi_signature = Some(match edit.args.text(0) {
                "on" => Signatures::Demanded,
                "lenient" => Signatures::Given,
                _ => Signatures::Unused,
            });
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "imei-request (on|off)",
        "Whether mobiles are asked for their IMEI\nWhen they attach, which is the default\nNever",
        Action::<Sgsn>::Set(|edit| {
            edit.config.mobility.imei_request = Some(edit.args.text(0) == "on");
            Ok(())
        }),
    );
}

fn install_names(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    grammar.add(
        sgsn,
        "(short|long) name .TEXT",
        "The short name of the network\nThe full name of the network\nIt is told to mobiles that attach\nThe name",
        Action::<Sgsn>::Set(|edit| {
            let name = Some(name_of(edit.args.text(1))?);
            match edit.args.text(0) {
                "short" => edit.config.mobility.short_name = name,
                _ => edit.config.mobility.long_name = name,
            }
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "no (short|long) name",
        "Take back\nThe short name of the network\nThe full name of the network\nMobiles are not told it",
        Action::<Sgsn>::Set(|edit| {
            match edit.args.text(0) {
                "short" => edit.config.mobility.short_name = None,
                _ => edit.config.mobility.long_name = None,
            }
            Ok(())
        }),
    );
}

fn install_updates(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    let authentication = "Whether mobiles have to prove who they are";
    grammar.add(
        sgsn,
        "authentication updates",
        &format!("{authentication}\nAt each routing area update, too; who may attach is looked at as well"),
        Action::<Sgsn>::Set(|edit| {
            edit.config.mobility.authenticates_updates = true;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "no authentication updates",
        &format!("Take back\n{authentication}\nOnly when they attach, or come from elsewhere"),
        Action::<Sgsn>::Set(|edit| {
            edit.config.mobility.authenticates_updates = false;
            Ok(())
        }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Mobility, String> {
        let text = format!("sgsn\n gtp local-ip 127.0.0.1\n {line}\n");
        let read = crate::config::read::<Sgsn>("x", &text).map_err(|error| error.to_string())?;
        Ok(read.config.mobility)
    }

    #[test]
    fn names_have_what_can_be_told() {
        assert_eq!(read("short name Gannet").unwrap().short_name.as_deref(), Some("Gannet"));
        let long = read("long name Gannet (test)\n short name G\n no short name").unwrap();
        assert_eq!((long.long_name.as_deref(), long.short_name), (Some("Gannet (test)"), None));
        assert!(read("long name Gr\u{fc}n").unwrap_err().contains("'\u{fc}' is not for a name"));
        let long = read(&format!("short name {}", "x".repeat(201))).unwrap_err();
        assert!(long.contains("200 characters at most"), "{long}");
    }

    #[test]
    fn signatures_are_demanded_with_authentication_unless_it_is_said() {
        let hlr = "auth-policy remote\n gsup remote-ip 127.0.0.1\n";
        for (lines, signatures) in [
            ("", Signatures::Given),
            ("p-tmsi-signature on", Signatures::Demanded),
            ("p-tmsi-signature lenient", Signatures::Given),
            ("p-tmsi-signature off", Signatures::Unused),
            (hlr, Signatures::Demanded),
            (&format!("{hlr} authentication required"), Signatures::Demanded),
            (&format!("{hlr} authentication optional"), Signatures::Given),
            (&format!("{hlr} p-tmsi-signature lenient"), Signatures::Given),
            (&format!("{hlr} p-tmsi-signature off"), Signatures::Unused),
        ] {
            let text = format!("sgsn\n gtp local-ip 127.0.0.1\n {lines}\n");
            let config = crate::config::read::<Sgsn>("x", &text).unwrap().config;
            assert_eq!(config.mobility.signatures(&config.access), signatures, "{lines}");
        }
    }

    #[test]
    fn mobiles_are_asked_for_their_imei_unless_it_is_said() {
        assert!(read("").unwrap().asks_imei());
        assert!(!read("imei-request off").unwrap().asks_imei());
        assert!(read("imei-request off\n imei-request on").unwrap().asks_imei());
        let mut text = ConfigText::default();
        write(&read("imei-request off\n p-tmsi-signature lenient").unwrap(), &mut text);
        assert_eq!(text.into_string().trim(), "p-tmsi-signature lenient\nimei-request off");
    }

    #[test]
    fn updates_are_authenticated_where_that_is_said() {
        assert!(!read("").unwrap().authenticates_updates);
        assert!(read("authentication updates").unwrap().authenticates_updates);
        assert!(!read("authentication updates\n no authentication updates").unwrap().authenticates_updates);
    }
}
