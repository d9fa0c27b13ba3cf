//! Cell changes, and what cells broadcast for them.

use crate::Case;
use crate::downlink::{TLLI, case};
use gannet_wire::gsmtap::Channel;
use gannet_wire::id::{Plmn, Rai};
use gannet_wire::rlcmac::Later;
use gannet_wire::rlcmac::bcch::{ControlChannel, RachParameters, SystemInformation3};
use gannet_wire::rlcmac::downlink::{
    NetworkControl, PacketCellChangeOrder, PacketMeasurementOrder, ReportingPeriods,
};
use gannet_wire::rlcmac::element::{GlobalTfi, TfiOrTlli};
use gannet_wire::rlcmac::neighbour::{
    CellName, ContainerPart, ContainerParts, PacketCellChangeContinue, PacketNeighbourCellData, ToldCell,
};
use gannet_wire::rlcmac::selection::{CellSelection, Penalty, ReselectionOffsets};
use gannet_wire::rlcmac::value::{
    Arfcn, Bsic, ContainerId, ContainerIndex, MeasurementOrderIndex, NetworkControlOrder, PageMode,
    PeriodCode, Tfi,
};

pub fn all() -> Vec<Case> {
    [changes(), assistance(), selections()].concat()
}

/// Network-assisted cell change.
fn assistance() -> Vec<Case> {
    let (cell, tfi) = (
        CellName { arfcn: Arfcn::lowest(871), bsic: Bsic::lowest(0o35) },
        GlobalTfi::Downlink(Tfi::lowest(21)),
    );
    let container = ContainerId::lowest(2);
    let part = |discriminator, octets: &[u8], continues| ContainerPart {
        discriminator,
        octets: octets.to_vec(),
        continues,
    };
    let data = PacketNeighbourCellData {
        page_mode: PageMode::Normal,
        tfi,
        container,
        index: ContainerIndex::lowest(3),
        cell: Some(cell),
        parts: ContainerParts(vec![part(0, &[1, 2, 3], false), part(0, &[0x1b; 12], true)]),
    };
    let unnamed = PacketNeighbourCellData {
        cell: None,
        parts: ContainerParts(vec![part(0, &[7; 5], false)]),
        ..data.clone()
    };
    let proceed = PacketCellChangeContinue {
        page_mode: PageMode::Normal,
        tfi,
        told: Some(ToldCell { cell, container }),
    };
    let silent = PacketCellChangeContinue { told: None, ..proceed.clone() };
    vec![
        case(
            data,
            "dl.message_type=12 dl.tfi=21 dl.pncd_container_id=2 dl.pncd_container_index=3 dl.arfcn=871",
        ),
        case(
            unnamed,
            "dl.message_type=12 dl.tfi=21 dl.pncd_container_id=2 dl.pncd_container_index=3 dl.arfcn=",
        ),
        case(proceed, "dl.message_type=11 dl.tfi=21 ~ARFCN=0,871 ~BSIC=29 dl.pccc_container_id=2"),
        case(silent, "dl.message_type=11 dl.tfi=21 dl.pccc_container_id="),
    ]
}

fn changes() -> Vec<Case> {
    let control = NetworkControl {
        order: NetworkControlOrder::Nc2,
        periods: Some(ReportingPeriods {
            non_drx: PeriodCode::lowest(1),
            idle: PeriodCode::lowest(5),
            transfer: PeriodCode::lowest(2),
        }),
    };
    let order = PacketCellChangeOrder {
        page_mode: PageMode::Normal,
        address: TfiOrTlli::Tlli(TLLI),
        immediate: true,
        arfcn: Arfcn::lowest(512),
        bsic: Bsic::lowest(0o52),
        control,
        later: Later::NONE,
    };
    let measure = PacketMeasurementOrder {
        page_mode: PageMode::Normal,
        address: TfiOrTlli::Tfi(GlobalTfi::Downlink(Tfi::lowest(2))),
        index: MeasurementOrderIndex::lowest(1),
        last: MeasurementOrderIndex::lowest(4),
        control: Some(control),
        later: Later::NONE,
    };
    vec![
        case(
            order,
            "dl.message_type=1 tlli=0xc0de1234 dl.taget_cell_immediate_rel=1 dl.arfcn=512 dl.taget_cell_gsm_bsic=42 \
             dl.nc_measurement_parameters_network_control_order=2 dl.nc_measurement_parameters_nc_non_drx_period=1 \
             dl.nc_measurement_parameters_nc_reporting_period_i=5 \
             dl.nc_measurement_parameters_nc_reporting_period_t=2",
        ),
        case(
            measure,
            "dl.message_type=3 dl.tfi=2 dl.pmo_index=1 dl.pmo_count=4 \
             dl.nc_measurement_parameters_network_control_order=2 \
             dl.nc_measurement_parameters_nc_reporting_period_t=2",
        ),
    ]
}

/// SYSTEM INFORMATION TYPE 3 with what counts for the selection of the cell (44.018 clauses 10.5.2.4 and 10.5.2.34).
fn selections() -> Vec<Case> {
    let rach = RachParameters { max_retrans: 2, tx_integer: 20, is_barred: true, barred_classes: 0 };
    let rai = Rai { plmn: Plmn::new(262, 42, false), lac: 0x1007, rac: 3 };
    let block = |selection: CellSelection, offsets: ReselectionOffsets, fields| {
        let control = ControlChannel::of_octets([0x49, 0x03, 0x05]);
        let information = SystemInformation3 {
            selection: selection.to_octets(),
            rest: offsets.to_rest(),
            ..SystemInformation3::new(rai, 0x1234, control, rach)
        };
        Case::new("gsm_a.rr", Channel::Bcch, false, &information.emit().unwrap(), fields)
    };
    let usual = CellSelection { hysteresis_db: 6, power_max_dbm: 33, access_min_dbm: -104 };
    let far = CellSelection { hysteresis_db: 14, power_max_dbm: 5, access_min_dbm: -47 };
    let offsets = ReselectionOffsets {
        is_low_priority: false,
        offset_db: 22,
        temporary_offset_db: Some(30),
        penalty: Penalty::Seconds(80),
    };
    let endless = ReselectionOffsets {
        is_low_priority: true,
        offset_db: 126,
        temporary_offset_db: None,
        penalty: Penalty::Always,
    };
    vec![
        block(
            usual,
            offsets,
            "cell_reselect_hyst=3 ms_txpwr_max_cch=5 rxlev_access_min=6 acs=0 neci=0 cell_barr_access=1 cbq=0 \
             cell_reselect_offset=11 temporary_offset=3 penalty_time=3 gprs_indicator=1 gprs_ra_colour=0 si13_position=0",
        ),
        block(
            far,
            endless,
            "cell_reselect_hyst=7 ms_txpwr_max_cch=19 rxlev_access_min=63 cbq=1 cell_reselect_offset=63 \
             temporary_offset=7 penalty_time=31 gprs_indicator=1 gprs_ra_colour=0 si13_position=0",
        ),
    ]
}
