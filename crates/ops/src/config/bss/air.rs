//! What is seen of a radio with RLC/MAC, and where it goes: in the words of osmo-pcu where it has some.

use super::{Bss, BssConfig, set};
use crate::config::ConfigText;
use crate::config::common::gsmtap_address;
use crate::grammar::{Args, CommandError, Grammar};
use core::net::IpAddr;
use gannet_proto::rlcmac::tap::Kind;

/// Where blocks and access bursts go that are seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AirConfig {
    /// To this address as GSMTAP: what the PCU hands over and receives.
    pub gsmtap: Option<IpAddr>,
    /// Which of them.
    pub categories: Categories,
    /// Into this file as pcapng: all of them, on Abis and on Um.
    pub capture: Option<String>,
}

/// The categories of osmo-pcu. Those without a kind do not happen here.
const CATEGORIES: [(&str, Option<Kind>); 15] = [
    ("dl-unknown", None),
    ("dl-dummy", Some(Kind::DownlinkDummy)),
    ("dl-ctrl", Some(Kind::DownlinkControl)),
    ("dl-data-gprs", Some(Kind::DownlinkData)),
    ("dl-data-egprs", None),
    ("dl-ptcch", None),
    ("dl-agch", Some(Kind::Agch)),
    ("dl-pch", Some(Kind::Pch)),
    ("ul-unknown", None),
    ("ul-dummy", Some(Kind::UplinkDummy)),
    ("ul-ctrl", Some(Kind::UplinkControl)),
    ("ul-data-gprs", Some(Kind::UplinkData)),
    ("ul-data-egprs", None),
    ("ul-rach", Some(Kind::Rach)),
    ("ul-ptcch", None),
];

/// A set of categories. All are in it until one is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Categories(Option<u16>);

impl Categories {
    const ALL: u16 = (1 << CATEGORIES.len()) - 1;

    /// Whether a block of this kind goes.
    #[must_use]
    pub fn has(self, kind: Kind) -> bool {
        let place = CATEGORIES.iter().position(|(_, of)| *of == Some(kind));
        place.is_some_and(|place| self.0.unwrap_or(Self::ALL) >> place & 1 == 1)
    }

    fn set(&mut self, name: &str, on: bool) {
        let Some(place) = CATEGORIES.iter().position(|(known, _)| *known == name) else { return };
        let before = self.0.unwrap_or(if on { 0 } else { Self::ALL });
        self.0 = Some(if on { before | 1 << place } else { before & !(1 << place) });
    }

    fn write(self, text: &mut ConfigText) {
        match self.0 {
            None => {}
            Some(0) => text.line(format_args!("gsmtap-category disable-all")),
            Some(Self::ALL) => text.line(format_args!("gsmtap-category enable-all")),
            Some(some) => {
                let named = CATEGORIES.iter().enumerate().filter(|(place, _)| some >> place & 1 == 1);
                named.for_each(|(_, (name, _))| text.line(format_args!("gsmtap-category {name}")));
            }
        }
    }
}

pub(super) fn write(config: &AirConfig, text: &mut ConfigText) {
    if let Some(to) = config.gsmtap {
        text.line(format_args!("gsmtap-remote-host {to}"));
    }
    config.categories.write(text);
    if let Some(file) = &config.capture {
        text.line(format_args!("radio capture {file}"));
    }
}

/// What has no effect as it is.
pub(super) fn remark(config: &BssConfig) -> Option<String> {
    let AirConfig { gsmtap, capture, .. } = &config.air;
    let words = match (gsmtap, capture) {
        (Some(_), _) => "gsmtap-remote-host",
        (None, Some(_)) => "radio capture",
        (None, None) => return None,
    };
    let is_emulated = config.gb.radio.rlcmac.is_none();
    is_emulated.then(|| format!("'{words}' has no blocks to show without 'radio rlcmac'"))
}

pub(super) fn install(grammar: &mut Grammar<Bss>) {
    let remote = "Where blocks of the PCU go, as datagrams that Wireshark reads";
    let help = format!("{remote}\nThe address; this machine without it");
    set(grammar, "gsmtap-remote-host [HOSTNAME]", &help, |edit| {
        edit.config.air.gsmtap = Some(gsmtap_address(edit.args)?);
        Ok(())
    });
    set(grammar, "no gsmtap-remote-host", &format!("Take back\n{remote}"), |edit| {
        edit.config.air.gsmtap = None;
        Ok(())
    });
    install_categories(grammar);
    let capture = "The radio of one cell\nWrites its blocks into a file, as pcapng";
    set(
        grammar,
        "radio capture FILENAME",
        &format!("{capture}\nIts path; what is there is overwritten"),
        |edit| {
            edit.config.air.capture = Some(edit.args.text(0).to_owned());
            Ok(())
        },
    );
    set(grammar, "no radio capture", &format!("Take back\n{capture}"), |edit| {
        edit.config.air.capture = None;
        Ok(())
    });
}

/// Pattern and help are those of osmo-pcu.
fn install_categories(grammar: &mut Grammar<Bss>) {
    const ONE: &str = "gsmtap-category (dl-unknown|dl-dummy|dl-ctrl|dl-data-gprs|dl-data-egprs|dl-ptcch|dl-agch|dl-pch|ul-unknown|ul-dummy|ul-ctrl|ul-data-gprs|ul-data-egprs|ul-rach|ul-ptcch)";
    const NOT_ONE: &str = "no gsmtap-category (dl-unknown|dl-dummy|dl-ctrl|dl-data-gprs|dl-data-egprs|dl-ptcch|dl-agch|dl-pch|ul-unknown|ul-dummy|ul-ctrl|ul-data-gprs|ul-data-egprs|ul-rach|ul-ptcch)";
    let category = "Which blocks go to 'gsmtap-remote-host': all, or those that are named";
    let each = "Downlink, unreadable: none here\nDownlink, dummy blocks\nDownlink, control blocks\nDownlink, data blocks\n\
                Downlink, data blocks of EGPRS: none here\nDownlink, PTCCH: none here\nDownlink, AGCH\nDownlink, PCH\n\
                Uplink, unreadable: none here\nUplink, dummy blocks\nUplink, control blocks\nUplink, data blocks\n\
                Uplink, data blocks of EGPRS: none here\nUplink, access bursts\nUplink, PTCCH: none here";
    set(grammar, "gsmtap-category (enable-all|disable-all)", &format!("{category}\nAll\nNone"), |edit| {
        let all = if edit.args.text(0) == "enable-all" { Categories::ALL } else { 0 };
        edit.config.air.categories = Categories(Some(all));
        Ok(())
    });
    set(grammar, ONE, &format!("{category}\n{each}"), |edit| {
        name(edit.args, &mut edit.config.air.categories, true)
    });
    set(grammar, NOT_ONE, &format!("Take back\n{category}\n{each}"), |edit| {
        name(edit.args, &mut edit.config.air.categories, false)
    });
}

fn name(args: &Args, categories: &mut Categories, on: bool) -> Result<(), CommandError> {
    categories.set(args.text(0), on);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_one_category() {
        for kind in Kind::ALL {
            assert_eq!(CATEGORIES.iter().filter(|(_, of)| *of == Some(kind)).count(), 1, "{kind:?}");
            assert!(Categories::default().has(kind));
            assert!(!Categories(Some(0)).has(kind));
        }
    }

    #[test]
    fn who_names_one_names_all_that_go() {
        let mut one = Categories::default();
        one.set("dl-ctrl", true);
        assert!(one.has(Kind::DownlinkControl) && !one.has(Kind::DownlinkData));
        let mut but_one = Categories::default();
        but_one.set("ul-rach", false);
        assert!(!but_one.has(Kind::Rach) && but_one.has(Kind::DownlinkData));
        but_one.set("ul-rach", true);
        assert_eq!(but_one, Categories(Some(Categories::ALL)));
    }
}
