//! Load sharing (08.16 clause 4.4 [48.016]): which of the unblocked NS-VCs of an NSE carries an NS SDU.
//!
//! All NS SDUs with the same load sharing parameter (LSP) go over the same NS-VC, so that they stay in order. When an
//! NS-VC comes or goes, only those move that must: each (LSP, NS-VCI) has a weight, and the heaviest NS-VC wins.

use gannet_wire::id::Nsvci;

/// The one of `unblocked` for `lsp`; `None` where there is none. The order of `unblocked` does not matter.
#[must_use]
pub fn pick<T: Copy>(unblocked: &[(Nsvci, T)], lsp: u32) -> Option<T> {
    match unblocked {
        [] => None,
        [(_, only)] => Some(*only),
        several => several.iter().max_by_key(|(nsvci, _)| (weight(lsp, *nsvci), nsvci.0)).map(|(_, vc)| *vc),
    }
}

/// A number that depends on every bit of both.
const fn weight(lsp: u32, nsvci: Nsvci) -> u64 {
    let mut mixed = ((lsp as u64) << 16 | nsvci.0 as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_lsp_stays_where_it_is() {
        let all: Vec<(Nsvci, u16)> = (1..=4).map(|n| (Nsvci(n), n)).collect();
        let mut turned = all.clone();
        turned.reverse();
        let without_third: Vec<_> = all.iter().copied().filter(|(nsvci, _)| nsvci.0 != 3).collect();
        let mut load = [0; 5];
        for lsp in 0..4000 {
            let vc = pick(&all, lsp).unwrap();
            load[usize::from(vc)] += 1;
            assert_eq!(pick(&turned, lsp), Some(vc));
            if vc != 3 {
                assert_eq!(pick(&without_third, lsp), Some(vc));
            }
        }
        assert!(load[1..].iter().all(|count| (900..1100).contains(count)), "{load:?}");
        assert_eq!(pick::<u16>(&[], 1), None);
    }
}
