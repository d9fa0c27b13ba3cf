//! Load sharing (08.16 clause 4.4 [48.016]): which of the unblocked NS-VCs of an NSE carries an NS SDU.
//!
//! All NS SDUs with the same load sharing parameter (LSP) go over the same NS-VC, so that they stay in order. When an
//! NS-VC comes or goes, only those move that must: each (LSP, NS-VC) has a cost, and the cheapest NS-VC wins. On an IP
//! sub-network the peer has given each of its endpoints one weight for signalling and one for data; the cost is divided
//! by it, so that an NS-VC gets its share, and none where the weight is 0.
//!
//! An NS-VC whose last NS-ALIVE was not answered in time may be dead, and is not used while another one answers.

/// What an NS SDU is, for its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// For the signalling BVC.
    Signalling,
    /// For another BVC.
    Data,
}

/// An NS-VC that carries NS-UNITDATA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<T> {
    /// What tells it from the others of its NSE and stays the same: its NS-VCI, or a number of its own.
    pub key: u32,
    /// Its share of signalling.
    pub signalling_weight: u8,
    /// Its share of data.
    pub data_weight: u8,
    /// Its last NS-ALIVE was not answered in time.
    pub doubtful: bool,
    /// The NS-VC.
    pub vc: T,
}

impl<T> Member<T> {
    const fn weight(&self, traffic: Traffic) -> u8 {
        match traffic {
            Traffic::Signalling => self.signalling_weight,
            Traffic::Data => self.data_weight,
        }
    }
}

/// The one of `unblocked` for `lsp`; `None` where there is none. The order of `unblocked` does not matter.
#[must_use]
pub fn pick<T: Copy>(unblocked: &[Member<T>], traffic: Traffic, lsp: u32) -> Option<T> {
    match unblocked {
        [] => None,
        [only] => (only.weight(traffic) > 0).then_some(only.vc),
        several => cheapest(several.iter().filter(|member| !member.doubtful), traffic, lsp)
            .or_else(|| cheapest(several.iter(), traffic, lsp)),
    }
}

fn cheapest<'m, T: Copy + 'm>(
    members: impl Iterator<Item = &'m Member<T>>,
    traffic: Traffic,
    lsp: u32,
) -> Option<T> {
    let usable = members.filter(|member| member.weight(traffic) > 0);
    let priced = usable.map(|member| {
        let mixed = mix(lsp, member.key);
        (u64::from(cost(mixed)), u64::from(member.weight(traffic)), mixed, member)
    });
    let best = priced.min_by(|a, b| {
        // Cost over weight, without dividing; what is equal in that is told apart by what was mixed.
        (a.0 * b.1).cmp(&(b.0 * a.1)).then(b.2.cmp(&a.2)).then(b.3.key.cmp(&a.3.key))
    });
    best.map(|(.., member)| member.vc)
}

/// A number that depends on every bit of both.
const fn mix(lsp: u32, key: u32) -> u64 {
    let mut mixed = ((lsp as u64) << 16 ^ key as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Minus the logarithm of `mixed / 2^64` to the base of two, in 1/65536: that of an even number between 0 and 1 is
/// distributed such that the smallest of several, each divided by its weight, falls to each in proportion to its
/// weight. Between powers of two a parabola stands for the logarithm.
fn cost(mixed: u64) -> u32 {
    const ONE: u32 = 1 << 16;
    let zeros = mixed.leading_zeros();
    let mantissa = mixed.checked_shl(zeros).unwrap_or(0) << 1;
    let [high, low, ..] = mantissa.to_be_bytes();
    let fraction = u32::from(u16::from_be_bytes([high, low]));
    let bend = (u64::from(fraction) * u64::from(ONE - fraction) * 225 / 655) >> 16;
    let logarithm = fraction + u32::try_from(bend).unwrap_or(0);
    ((zeros + 1) * ONE).saturating_sub(logarithm).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(vc: u16, signalling_weight: u8, data_weight: u8) -> Member<u16> {
        Member { key: vc.into(), signalling_weight, data_weight, doubtful: false, vc }
    }

    /// How many of 4000 LSPs each takes.
    fn load(members: &[Member<u16>], traffic: Traffic) -> [u32; 5] {
        let mut load = [0; 5];
        for lsp in 0..4000 {
            load[usize::from(pick(members, traffic, lsp).unwrap())] += 1;
        }
        load
    }

    #[test]
    fn an_lsp_stays_where_it_is() {
        let all: Vec<_> = (1..=4).map(|n| member(n, 1, 1)).collect();
        let mut turned = all.clone();
        turned.reverse();
        let without_third: Vec<_> = all.iter().copied().filter(|member| member.vc != 3).collect();
        let mut doubtful = all.clone();
        doubtful[2].doubtful = true;
        for lsp in 0..4000 {
            let vc = pick(&all, Traffic::Data, lsp).unwrap();
            assert_eq!(pick(&turned, Traffic::Data, lsp), Some(vc));
            let other = pick(&without_third, Traffic::Data, lsp);
            assert_eq!(pick(&doubtful, Traffic::Data, lsp), other);
            if vc != 3 {
                assert_eq!(other, Some(vc));
            }
        }
        let load = load(&all, Traffic::Data);
        assert!(load[1..].iter().all(|count| (900..1100).contains(count)), "{load:?}");
        assert_eq!(pick::<u16>(&[], Traffic::Data, 1), None);
        let all: Vec<_> = doubtful.iter().map(|member| Member { doubtful: true, ..*member }).collect();
        assert!(pick(&all, Traffic::Data, 1).is_some(), "better a doubtful one than none");
    }

    #[test]
    fn each_gets_its_share_of_signalling_and_of_data() {
        let all = [member(1, 1, 3), member(2, 1, 1), member(3, 2, 0)];
        let [_, first, second, third, _] = load(&all, Traffic::Signalling);
        assert!((900..1100).contains(&first) && (900..1100).contains(&second), "{first} {second}");
        assert!((1900..2100).contains(&third), "{third}");
        let [_, first, second, third, _] = load(&all, Traffic::Data);
        assert!((2850..3150).contains(&first) && (850..1150).contains(&second), "{first} {second}");
        assert_eq!(third, 0);
        assert_eq!(pick(&all[2..], Traffic::Data, 1), None, "a weight of 0 is none");
        assert_eq!(pick(&all[2..], Traffic::Signalling, 1), Some(3));
        // Whoever's weight grows only takes; whoever's does not only gives.
        let heavier = [member(1, 1, 3), member(2, 1, 9), member(3, 2, 0)];
        for lsp in 0..4000 {
            let (before, after) = (pick(&all, Traffic::Data, lsp), pick(&heavier, Traffic::Data, lsp));
            assert!(before == after || after == Some(2));
        }
    }
}
