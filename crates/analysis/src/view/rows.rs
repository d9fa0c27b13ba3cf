//! Records of one mobile, or of all.

use crate::reading::Reading;
use crate::record::{BlockContents, Proof, Record, Seen};
use core::net::IpAddr;
use gannet_wire::id::Imsi;
use std::collections::HashMap;

/// TBFs whose mobile is remembered.
const TBFS_MAX: usize = 4096;

/// Which records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// All.
    All,
    /// Those of the mobile with this index.
    Mobile(u32),
}

impl Who {
    /// The mobile of an IMSI, a TLLI of eight hexadecimal digits, or an address, as a reading that is over knows it.
    #[must_use]
    pub fn named(text: &str, reading: &Reading) -> Option<Self> {
        let address: Option<IpAddr> = text.parse().ok();
        let imsi: Option<Imsi> = text.parse().ok();
        let tlli = u32::from_str_radix(text.trim_start_matches("0x"), 16).ok().filter(|_| text.len() >= 8);
        let fits = |mobile: &crate::join::mobiles::Mobile| {
            address.is_some_and(|it| mobile.addresses.contains(&it))
                || imsi.is_some() && mobile.imsi == imsi
                || tlli.is_some_and(|it| mobile.tllis.contains(&it))
        };
        let (index, _) = reading.mobiles().all().find(|(_, mobile)| fits(mobile))?;
        Some(Self::Mobile(index))
    }
}

/// Chooses records. Blocks of the radio belong to the mobile of their TBF, segments of TCP to that of their packet.
#[derive(Debug)]
pub struct Chooser<'a> {
    who: Who,
    /// A reading of the same files that is over: it knows which mobiles turned out to be one.
    known: &'a Reading,
    tbfs: HashMap<(u16, u16, bool, u8), u32>,
    last: Option<(Proof, bool)>,
}

impl<'a> Chooser<'a> {
    /// Chooses the records of `who`.
    #[must_use]
    pub fn new(who: Who, known: &'a Reading) -> Self {
        Self { who, known, tbfs: HashMap::new(), last: None }
    }

    /// True where a record is to be shown. Records come in their order.
    pub fn takes(&mut self, seen: &Seen<Record>) -> bool {
        let Who::Mobile(wanted) = self.who else { return true };
        let is_mine = match &seen.what {
            Record::Radio(_) => self.block(seen) == Some(wanted),
            Record::Tcp(_) => self.last == Some((seen.proof, true)),
            other => other.mobile().map(|mobile| self.known.mobiles().canonical(mobile)) == Some(wanted),
        };
        if let Record::Packet(_) = &seen.what {
            self.last = Some((seen.proof, is_mine));
        }
        is_mine
    }

    fn of_tlli(&self, tlli: u32) -> Option<u32> {
        let mut all = self.known.mobiles().all();
        all.find(|(_, mobile)| mobile.tllis.contains(&tlli)).map(|(index, _)| index)
    }

    fn block(&mut self, seen: &Seen<Record>) -> Option<u32> {
        let Record::Radio(block) = &seen.what else { return None };
        let key = |of, tfi| (seen.place, block.arfcn, of == crate::record::Direction::Up, tfi);
        let (key, tlli) = match &block.contents {
            BlockContents::Data(data) => (key(block.direction, data.tfi), data.tlli),
            BlockContents::AckNack(report) => (key(report.of, report.tfi), None),
            BlockContents::Assignment(it) => {
                let mobile = it.tlli.and_then(|tlli| self.of_tlli(tlli));
                let Some(tfi) = it.tfi else { return mobile };
                let key = key(it.of, tfi);
                if mobile.is_none() && it.is_common {
                    self.tbfs.remove(&key);
                }
                (key, it.tlli)
            }
            BlockContents::Control { tlli, .. } => return tlli.and_then(|tlli| self.of_tlli(tlli)),
            BlockContents::Dummy | BlockContents::Access | BlockContents::Unreadable => return None,
        };
        if let Some(mobile) = tlli.and_then(|tlli| self.of_tlli(tlli)) {
            if self.tbfs.len() == TBFS_MAX {
                self.tbfs.clear();
            }
            self.tbfs.insert(key, mobile);
        }
        self.tbfs.get(&key).copied()
    }
}
