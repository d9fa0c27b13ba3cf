//! What a cell broadcasts of itself on the BCCH, for mobiles that are elsewhere: SYSTEM INFORMATION TYPE 3 and 13 in turn.

use super::ccch::{Layout, RachControl};
use super::config::CellOptions;
use super::multiframe::frame_start;
use super::paging::PagingControl;
use gannet_machine::time::{Duration, Instant};
use gannet_wire::id::{CellId, Rai};
use gannet_wire::rlcmac::LaterRest;
use gannet_wire::rlcmac::bcch::{ControlChannel, RachParameters, SystemInformation3};
use gannet_wire::rlcmac::cell::{
    AccessThreshold, BLOCK_LEN, BcchChangeMark, Broadcast, BsCvMax, CellAccess, CellInformation,
    CellOptions as OptionsOctets, CellPowerControl, ChangeField, DrxTimerCode, NetworkMode, Rac,
    SystemInformation13, T3168Code, T3192Code,
};
use gannet_wire::rlcmac::value::{
    Alpha, AveragingPeriod, InterferenceFilter, MeasuredChannel, NetworkControlOrder,
};

/// Frames of the multiframe of control channels, and the frame in it with which the BCCH begins (05.02 clause 7, table 3).
const MULTIFRAME: u64 = 51;
const FIRST: u64 = 2;

/// The first frame of the first BCCH block that begins after this frame.
#[must_use]
pub const fn block_after(frame: u64) -> u64 {
    let multiframe = (frame + MULTIFRAME - FIRST) / MULTIFRAME;
    multiframe * MULTIFRAME + FIRST
}

/// When that block begins.
#[must_use]
pub const fn block_starts(frame: u64) -> Instant {
    frame_start(frame)
}

/// Both messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Information {
    blocks: [[u8; BLOCK_LEN]; 2],
}

impl Information {
    /// Of a cell. `None` where its options have no code.
    #[must_use]
    pub fn new(id: CellId, options: &CellOptions) -> Option<Self> {
        let RachControl { max_retrans, tx_integer } = options.rach;
        let rach = RachParameters { max_retrans, tx_integer, is_barred: false, barred_classes: 0 };
        let PagingControl { layout, multiframes, access_blocks } = options.paging;
        let control = ControlChannel {
            has_attach: true,
            access_blocks,
            is_combined: layout == Layout::Combined,
            channels: 1,
            multiframes,
            t3212: 0,
        };
        let third = SystemInformation3::new(id.rai, id.ci, control, rach).emit()?;
        let t3168 = options.t3168.as_millis();
        let code =
            (0..8).find(|code| T3192Code::lowest(*code).milliseconds() == milliseconds(options.t3192))?;
        let access = CellAccess {
            rac: Rac::lowest(id.rai.rac),
            split_paging: false,
            threshold: AccessThreshold::lowest(6),
            control: NetworkControlOrder::Nc0,
            options: OptionsOctets {
                mode: NetworkMode::II,
                t3168: T3168Code::lowest(u8::try_from(t3168.div_ceil(500).clamp(1, 8) - 1).ok()?),
                t3192: T3192Code::lowest(code),
                drx_timer_max: DrxTimerCode::lowest(7),
                access_burst: options.access_burst,
                control_ack: options.control_ack,
                bs_cv_max: BsCvMax::lowest(options.bs_cv_max),
                pan: None,
                extension: None,
            },
            power: CellPowerControl {
                alpha: Alpha::lowest(0),
                idle_averaging: AveragingPeriod::lowest(16),
                transfer_averaging: AveragingPeriod::lowest(16),
                measured: MeasuredChannel::Bcch,
                interference_filter: InterferenceFilter::lowest(8),
            },
        };
        let cell = CellInformation {
            change_mark: BcchChangeMark::lowest(1),
            change_field: ChangeField::lowest(0),
            allocation: None,
            broadcast: Broadcast::Bcch(access),
        };
        let thirteenth = SystemInformation13 { cell: Some(cell), later: LaterRest::NONE }.emit()?;
        Some(Self { blocks: [third, thirteenth] })
    }

    /// The block of the BCCH that begins with this frame.
    #[must_use]
    pub fn block(&self, frame: u64) -> &[u8; BLOCK_LEN] {
        let [third, thirteenth] = &self.blocks;
        if (frame / MULTIFRAME).is_multiple_of(2) { third } else { thirteenth }
    }
}

fn milliseconds(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}

/// What a mobile has read of a cell's BCCH so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Known {
    third: Option<(SystemInformation3, bool)>,
    thirteenth: Option<(u8, CellOptions)>,
}

impl Known {
    /// Reads a block. True where something is new with it.
    pub fn read(&mut self, block: &[u8]) -> bool {
        let before = *self;
        if let Ok(third) = SystemInformation3::parse(block) {
            self.third = Some((third, third.rach.is_barred));
        } else if let Ok(SystemInformation13 { cell: Some(cell), .. }) = SystemInformation13::parse(block)
            && let Broadcast::Bcch(access) = cell.broadcast
        {
            let of = access.options;
            let options = CellOptions {
                t3168: Duration::from_millis(of.t3168.milliseconds().into()),
                t3192: Duration::from_millis(of.t3192.milliseconds().into()),
                bs_cv_max: of.bs_cv_max.get(),
                control_ack: of.control_ack,
                access_burst: of.access_burst,
                ..CellOptions::default()
            };
            self.thirteenth = Some((access.rac.get(), options));
        }
        *self != before
    }

    /// The cell and its options, as soon as both messages have been read and mobiles may camp there.
    #[must_use]
    pub fn cell(&self) -> Option<(CellId, CellOptions)> {
        let (third, is_barred) = self.third?;
        let (rac, options) = self.thirteenth?;
        let rai = Rai { plmn: third.plmn, lac: third.lac, rac };
        let RachParameters { max_retrans, tx_integer, .. } = third.rach;
        let control = ControlChannel::of_octets(third.control_channel);
        let layout = if control.is_combined { Layout::Combined } else { Layout::Uncombined };
        let ControlChannel { multiframes, access_blocks, .. } = control;
        let paging = PagingControl { layout, multiframes, access_blocks };
        let options = CellOptions { rach: RachControl { max_retrans, tx_integer }, paging, ..options };
        (!is_barred).then_some((CellId { rai, ci: third.ci }, options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::id::Plmn;
    use gannet_wire::rlcmac::cell::AccessBurst;
    use gannet_wire::rlcmac::value::AckType;

    #[test]
    fn mobiles_read_what_a_cell_says() {
        let id = CellId { rai: Rai { plmn: Plmn::new(262, 42, false), lac: 7, rac: 3 }, ci: 1234 };
        let options = CellOptions {
            rach: RachControl { max_retrans: 2, tx_integer: 20 },
            t3168: Duration::from_millis(1500),
            t3192: Duration::from_millis(160),
            bs_cv_max: 9,
            control_ack: AckType::AccessBursts,
            access_burst: AccessBurst::Bits11,
            paging: PagingControl { layout: Layout::Combined, multiframes: 6, access_blocks: 2 },
            ..CellOptions::default()
        };
        let information = Information::new(id, &options).unwrap();
        let mut known = Known::default();
        let mut frame = block_after(0);
        assert_eq!(frame, 2);
        assert!(known.read(information.block(frame)));
        assert_eq!(known.cell(), None);
        frame = block_after(frame);
        assert_eq!(frame, 53);
        assert!(known.read(information.block(frame)));
        assert_eq!(known.cell(), Some((id, options)));
        assert!(!known.read(information.block(block_after(frame))), "it says the same");
        assert!(!known.read(&[0x55; BLOCK_LEN]), "another message");
        let none = CellOptions { t3192: Duration::from_millis(7), ..options };
        assert_eq!(Information::new(id, &none), None);
    }
}
