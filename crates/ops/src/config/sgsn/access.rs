//! Who may attach, in osmo-sgsn's words: `auth-policy`, `authentication`, `imsi-acl`, `encryption gea` and `gsup`.

use crate::Sgsn;
use crate::config::{ConfigText, gtp};
use crate::grammar::{Action, CommandError, Grammar, Node, Problem};
use core::fmt;
use core::net::Ipv4Addr;
use std::collections::BTreeSet;

/// Who decides about subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Everybody is served.
    #[default]
    AcceptAll,
    /// Who is of this network or on the list.
    Closed,
    /// Who is on the list.
    AclOnly,
    /// The HLR decides.
    Remote,
}

impl Policy {
    const ALL: [(Self, &'static str); 4] = [
        (Self::AcceptAll, "accept-all"),
        (Self::Closed, "closed"),
        (Self::AclOnly, "acl-only"),
        (Self::Remote, "remote"),
    ];
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(policy, _)| policy == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

/// Who may attach, and how mobiles prove who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Who decides.
    pub policy: Policy,
    /// IMSIs that may attach.
    pub acl: BTreeSet<String>,
    /// Mobiles have to prove who they are; where it was not said, with an HLR they have to.
    pub authentication: Option<bool>,
    /// Numbers of the ciphers that may be used.
    pub gea: BTreeSet<u8>,
    /// Where the HLR listens for GSUP.
    pub gsup_remote_ip: Option<Ipv4Addr>,
    /// See there.
    pub gsup_remote_port: u16,
    /// By this name the HLR knows us.
    pub gsup_ipa_name: Option<String>,
}

/// The TCP port of an HLR's GSUP.
const GSUP_PORT: u16 = 4222;

impl Default for Access {
    fn default() -> Self {
        Self {
            policy: Policy::AcceptAll,
            acl: BTreeSet::new(),
            authentication: None,
            gea: BTreeSet::from([0]),
            gsup_remote_ip: None,
            gsup_remote_port: GSUP_PORT,
            gsup_ipa_name: None,
        }
    }
}

/// Why the commands of OAP are refused.
const NO_OAP: &str =
    "osmo-hlr knows no OAP: leave it out; a link to the HLR belongs into a network of your own.";

pub(super) fn write(access: &Access, text: &mut ConfigText) {
    if let Some(name) = &access.gsup_ipa_name {
        text.line(format_args!("gsup ipa-name {name}"));
    }
    if let Some(address) = access.gsup_remote_ip {
        text.line(format_args!("gsup remote-ip {address}"));
    }
    if access.gsup_remote_ip.is_some() || access.gsup_remote_port != GSUP_PORT {
        text.line(format_args!("gsup remote-port {}", access.gsup_remote_port));
    }
    if let Some(required) = access.authentication {
        text.line(format_args!("authentication {}", if required { "required" } else { "optional" }));
    }
    text.line(format_args!("auth-policy {}", access.policy));
    for imsi in &access.acl {
        text.line(format_args!("imsi-acl add {imsi}"));
    }
    let gea: Vec<String> = access.gea.iter().map(u8::to_string).collect();
    text.line(format_args!("encryption gea {}", gea.join(" ")));
}

fn imsi_of(text: &str) -> Result<String, CommandError> {
    let is_imsi = (6..=15).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
    is_imsi.then(|| text.to_owned()).ok_or_else(|| CommandError::new("an IMSI has 6 to 15 digits."))
}

pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    install_policy(grammar);
    install_gsup(grammar);
}

fn install_policy(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    grammar.add(
        sgsn,
        "auth-policy (accept-all|closed|acl-only|remote)",
        "Who may attach\nEverybody\nSubscribers of this network, and those on the list\nThose on the list\nWhom the HLR allows",
        Action::<Sgsn>::Set(|edit| {
            let name = edit.args.text(0);
            let policy = Policy::ALL.iter().find(|(_, known)| *known == name).map(|(policy, _)| *policy);
            edit.config.access.policy = policy.unwrap_or_default();
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "authentication (optional|required)",
        "Whether mobiles have to prove who they are\nNo\nYes, which takes an HLR",
        Action::<Sgsn>::Set(|edit| {
            edit.config.access.authentication = Some(edit.args.text(0) == "required");
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "imsi-acl (add|del) IMSI",
        "The list of those who may attach\nPut one in\nTake one out\nThe subscriber",
        Action::<Sgsn>::Set(|edit| {
            let imsi = imsi_of(edit.args.text(1))?;
            let acl = &mut edit.config.access.acl;
            if edit.args.text(0) == "add" {
                acl.insert(imsi);
            } else if !acl.remove(&imsi) {
                return Err(CommandError(format!("IMSI {imsi} is not on the list.")));
            }
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "encryption gea <0-4> [<0-4>] [<0-4>] [<0-4>] [<0-4>]",
        "Ciphering\nOf GPRS\nAn algorithm that may be used; 0 is none\nAnother\nAnother\nAnother\nAnother",
        Action::<Sgsn>::Set(|edit| {
            let given = (0..5).filter_map(|place| edit.args.get(place)?.parse().ok());
            edit.config.access.gea = given.collect();
            Ok(())
        }),
    );
}

fn install_gsup(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    grammar.add(
        sgsn,
        "gsup remote-ip A.B.C.D",
        "The HLR\nIts address\nThe address",
        Action::<Sgsn>::Set(|edit| {
            edit.config.access.gsup_remote_ip = Some(gtp::unicast(edit.args, 0)?);
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "gsup remote-port <0-65535>",
        "The HLR\nIts TCP port\nThe port",
        Action::<Sgsn>::Set(|edit| {
            edit.config.access.gsup_remote_port = edit.args.value(0)?;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "gsup ipa-name NAME",
        "The HLR\nBy which name it knows us\nThe name",
        Action::<Sgsn>::Set(|edit| {
            edit.config.access.gsup_ipa_name = Some(edit.args.text(0).to_owned());
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "gsup oap-id <0-65535>",
        "The HLR\nAuthentication towards it by OAP: not here\n0 for none",
        Action::<Sgsn>::Set(|edit| match edit.args.text(0) {
            "0" => Ok(()),
            _ => Err(CommandError::new(NO_OAP)),
        }),
    );
    for (command, help) in [
        ("gsup oap-k K", "The HLR\nAuthentication towards it by OAP: not here\nThe key"),
        ("gsup oap-opc OPC", "The HLR\nAuthentication towards it by OAP: not here\nThe key"),
    ] {
        grammar.add(sgsn, command, help, Action::<Sgsn>::Refuse(NO_OAP));
    }
}

/// What contradicts itself.
pub(super) fn problems(access: &Access, problems: &mut Vec<Problem>) {
    // The lines that make the first two right may follow, as they do in Debian's osmo-sgsn.cfg and in what 'write' gives.
    if access.policy == Policy::Remote && access.gsup_remote_ip.is_none() {
        let text = "'auth-policy remote' asks an HLR: add 'gsup remote-ip A.B.C.D' under 'sgsn'";
        problems.push(Problem::incomplete(Node::Sgsn, text));
    }
    if access.policy != Policy::Remote && access.authentication == Some(true) {
        let text = format!(
            "'authentication required' asks an HLR, and 'auth-policy {}' does not: say 'auth-policy remote' or 'authentication optional'",
            access.policy
        );
        problems.push(Problem::incomplete(Node::Sgsn, text));
    }
    if !access.gea.contains(&0) && (access.policy != Policy::Remote || access.authentication == Some(false)) {
        let text = "'encryption gea' without 0 makes every mobile cipher, which takes 'auth-policy remote' and 'authentication required'";
        problems.push(Problem::contradiction(Node::Sgsn, text));
    }
}
