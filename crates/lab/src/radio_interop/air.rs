//! Starts what is between a mobile and its SGSN.

use super::kind::{Air, Setting};
use crate::demo::chain::Chain;
use crate::demo::configs::{self, address};
use crate::osmo_bss;
use crate::testbed::TestbedError;

/// The timeslot of a PDCH on which empty blocks go.
const EMPTY_ON: u8 = 7;

/// Starts it in the namespace of the mobile.
pub(super) fn start(air: Air, chain: &mut Chain, setting: &Setting) -> Result<(), TestbedError> {
    if air == Air::Own {
        return chain.start_bss(&configs::bss(1, false, &setting.words()));
    }
    chain.ms.ip(&["link", "set", "lo", "multicast", "on"])?;
    chain.ms.ip(&["route", "add", "224.0.0.0/4", "dev", "lo"])?;
    for (name, text) in [
        ("bsc.cfg", osmo_bss::bsc(address::GB_SGSN, "")),
        ("bts.cfg", osmo_bss::BTS.to_owned()),
        ("pcu.cfg", osmo_bss::pcu(setting.scheme, "")),
    ] {
        chain.stage.config(name, &text)?;
    }
    for (name, program) in osmo_bss::PROGRAMS {
        let config = format!("{name}.cfg");
        chain.stage.start_among_files(name, &chain.ms, program, &["-c", &config])?;
    }
    let config = chain.stage.config("ms.cfg", &mobile_station(setting))?;
    chain.stage.start_own("ms", &chain.ms, &config)
}

/// Mobiles with an active PDP context; none while nobody answers.
pub(super) fn active(air: Air, chain: &Chain) -> u32 {
    match air {
        Air::Own => chain.active(),
        Air::Osmocom => chain.active_at(address::MS_VTY),
    }
}

/// One mobile, whose device has the name of that of `gannet bss`.
fn mobile_station(setting: &Setting) -> String {
    let prefix = configs::TUN_OF_FIRST_MOBILE.trim_end_matches('0');
    format!(
        "ms
 no ctl socket
 bearer radio um
 bearer radio multislot-class {}
 bearer radio empty-blocks timeslot {EMPTY_ON}
 apn internet
 context gprs
  device {prefix}
line vty
 no login
",
        setting.multislot_class
    )
}
