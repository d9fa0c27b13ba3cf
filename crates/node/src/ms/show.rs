//! What a user sees of the mobiles: values for programs, and lines for people.

use super::Ms;
use super::mobile::{Link, Mobile, Suspension};
use core::fmt;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::ms::{GmmMsState, NonGprs, Service};
use gannet_proto::llc::abm::State;
use gannet_proto::llc::{Algorithm, SAPIS};
use gannet_proto::sm::ms::SmMsState;
use gannet_proto::sndcp::Counted;
use gannet_proto::sndcp::compression::Agreed;
use gannet_wire::id::{CellId, Imsi, Nsapi, PTmsi, Sapi, Tlli};
use gannet_wire::l3::ie::{PacketFilter, PdpAddress};

/// One context of a mobile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextView {
    /// Its NSAPI.
    pub nsapi: Nsapi,
    /// Its SAPI, once it is active.
    pub sapi: Option<Sapi>,
    /// The state's name, in the words of 04.08 clause 6.1.2.1 [24.008].
    pub state: &'static str,
    /// The mobile's address, once it is active.
    pub address: Option<PdpAddress>,
    /// Its N-PDUs go in acknowledged mode.
    pub acknowledged: bool,
    /// The filters of its traffic flow template, those first that are tried first.
    pub filters: Vec<PacketFilter>,
}

/// Acknowledged mode and compression on one SAPI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SapiView {
    /// Which.
    pub sapi: Sapi,
    /// Its link in acknowledged mode; `None` in ADM.
    pub link: Option<LinkView>,
    /// What was agreed to.
    pub compression: Vec<Agreed>,
}

/// One link in acknowledged mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkView {
    /// The state's name, in the words of 04.64 clause 8.5 [44.064].
    pub state: &'static str,
    /// k: I frames that may be unacknowledged.
    pub window: u8,
    /// V(S), V(A) and V(R).
    pub variables: (u16, u16, u16),
    /// SN-PDUs that are not acknowledged.
    pub unacknowledged: usize,
    /// I frames that were sent again.
    pub retransmissions: u32,
}

/// One mobile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MobileView {
    /// Its index.
    pub index: u32,
    /// The subscriber.
    pub imsi: Imsi,
    /// The GMM state's name, in the words of 04.08 clause 4.1.3.1 [24.008].
    pub gmm: &'static str,
    /// The sub-state's name.
    pub service: &'static str,
    /// The MM state's name.
    pub mm: &'static str,
    /// The cell that it has selected: index and name.
    pub cell: Option<(u16, CellId)>,
    /// Its P-TMSI.
    pub ptmsi: Option<PTmsi>,
    /// The TLLI that it sends with.
    pub tlli: Option<Tlli>,
    /// The cipher of its links.
    pub cipher: Algorithm,
    /// How it stands with non-GPRS services, where it asks for combined procedures.
    pub non_gprs: Option<&'static str>,
    /// What the bearer says of its link.
    pub link: Link,
    /// GPRS is suspended.
    pub suspended: bool,
    /// Its contexts, by NSAPI.
    pub contexts: Vec<ContextView>,
    /// SAPIs with acknowledged mode or compression.
    pub sapis: Vec<SapiView>,
    /// N-PDUs that wait for the network's confirmation.
    pub unconfirmed: usize,
    /// What compression has saved.
    pub counted: Counted,
}

const fn gmm_name(state: GmmMsState) -> &'static str {
    match state {
        GmmMsState::Null => "gmm-null",
        GmmMsState::Deregistered => "gmm-deregistered",
        GmmMsState::RegisteredInitiated => "gmm-registered-initiated",
        GmmMsState::Registered => "gmm-registered",
        GmmMsState::DeregisteredInitiated => "gmm-deregistered-initiated",
        GmmMsState::RoutingAreaUpdatingInitiated => "gmm-routing-area-updating-initiated",
    }
}

const fn service_name(service: Service) -> &'static str {
    match service {
        Service::Normal => "normal-service",
        Service::Limited => "limited-service",
        Service::Attempting => "attempting",
        Service::AttemptingMm => "attempting-to-update-mm",
        Service::ImsiDetachInitiated => "imsi-detach-initiated",
        Service::NoCell => "no-cell-available",
        Service::NoImsi => "no-imsi",
    }
}

const fn non_gprs_name(standing: NonGprs) -> &'static str {
    match standing {
        NonGprs::Wanted => "not-imsi-attached",
        NonGprs::Attached => "imsi-attached",
        NonGprs::Detached => "imsi-detached",
        NonGprs::Refused => "imsi-attach-refused",
    }
}

const fn mm_name(state: MmState) -> &'static str {
    match state {
        MmState::Idle => "idle",
        MmState::Standby => "standby",
        MmState::Ready => "ready",
    }
}

const fn link_name(state: State) -> &'static str {
    match state {
        State::Adm => "adm",
        State::LocalEstablishment => "local-establishment",
        State::RemoteEstablishment => "remote-establishment",
        State::Abm => "abm",
        State::LocalRelease => "local-release",
    }
}

const fn sm_name(state: SmMsState) -> &'static str {
    match state {
        SmMsState::ActivePending => "pdp-activation-pending",
        SmMsState::Active => "pdp-active",
        SmMsState::ModifyPending => "pdp-active, modification pending",
        SmMsState::InactivePending(_) => "pdp-inactive-pending",
    }
}

impl Ms {
    /// Whether a mobile has a context with this NSAPI, or is to have one.
    #[must_use]
    pub fn wants(&self, index: u32, nsapi: Nsapi) -> bool {
        let has = |mobile: &Mobile| mobile.sm.get(nsapi).is_some() || mobile.order(nsapi).is_some();
        self.mobile(index).is_some_and(has)
    }

    /// One mobile.
    #[must_use]
    pub fn view(&self, index: u32) -> Option<MobileView> {
        let mobile = self.mobile(index)?;
        let cell = mobile.cell.and_then(|cell| Some((cell, *self.config.cells.get(usize::from(cell))?)));
        Some(MobileView {
            index,
            imsi: mobile.imsi(),
            gmm: gmm_name(mobile.gmm.state()),
            service: service_name(mobile.gmm.service()),
            mm: mm_name(mobile.gmm.mm_state()),
            cell,
            ptmsi: mobile.gmm.ptmsi(),
            tlli: mobile.llc.tlli(),
            cipher: mobile.llc.ciphering().algorithm,
            non_gprs: self.config.gmm.combined.then(|| non_gprs_name(mobile.gmm.non_gprs())),
            link: mobile.link,
            suspended: mobile.suspension != Suspension::None,
            contexts: contexts(mobile),
            sapis: sapis(mobile),
            unconfirmed: mobile.sndcp.as_ref().map_or(0, |sndcp| sndcp.unconfirmed()),
            counted: mobile.sndcp.as_ref().map(|sndcp| *sndcp.counted()).unwrap_or_default(),
        })
    }

    /// All mobiles, by index.
    pub fn views(&self) -> impl Iterator<Item = MobileView> + '_ {
        (0_u32..).map_while(|index| self.view(index))
    }
}

fn contexts(mobile: &Mobile) -> Vec<ContextView> {
    let view = |(nsapi, state)| {
        let bearer = mobile.bearer(nsapi);
        let tft = mobile.sm.get(nsapi).and_then(|context| context.tft());
        ContextView {
            nsapi,
            sapi: bearer.map(|bearer| bearer.sndcp.sapi),
            state: sm_name(state),
            address: bearer.map(|bearer| bearer.address),
            acknowledged: bearer.is_some_and(|bearer| bearer.acknowledged),
            filters: tft.map(|tft| tft.filters().to_vec()).unwrap_or_default(),
        }
    };
    mobile.sm.iter().map(|(nsapi, context)| (nsapi, context.state())).map(view).collect()
}

fn sapis(mobile: &Mobile) -> Vec<SapiView> {
    let view = |sapi| {
        let link = mobile.llc.abm(sapi).map(|abm| LinkView {
            state: link_name(abm.state()),
            window: abm.windows().k_sent,
            variables: abm.variables(),
            unacknowledged: abm.unacknowledged(),
            retransmissions: abm.retransmissions(),
        });
        let compressions = mobile.sndcp.as_ref().and_then(|sndcp| sndcp.compressions(sapi));
        let agreed = compressions.into_iter().flat_map(|all| all.agreed());
        let compression: Vec<_> = agreed.map(|(_, agreed, _)| agreed).collect();
        (link.is_some() || !compression.is_empty()).then_some(SapiView { sapi, link, compression })
    };
    SAPIS.into_iter().filter_map(view).collect()
}

/// `-` where there is nothing.
fn or_dash<T: fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

impl fmt::Display for SapiView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SAPI {}: ", self.sapi)?;
        match self.link {
            Some(LinkView { state, window, variables: (vs, va, vr), unacknowledged, retransmissions }) => {
                write!(f, "{state}, window {window}, V(S) {vs}, V(A) {va}, V(R) {vr}, ")?;
                write!(f, "{unacknowledged} SN-PDUs unacknowledged, {retransmissions} I frames sent again")?;
            }
            None => f.write_str("adm")?,
        }
        self.compression.iter().try_for_each(|agreed| write!(f, ", {agreed}"))
    }
}

impl MobileView {
    /// What the SAPIs with acknowledged mode or compression do, in lines.
    pub fn layers(&self) -> impl Iterator<Item = String> + '_ {
        let Counted { sent, sent_compressed, received, received_compressed } = self.counted;
        let counted = (sent > 0 || received > 0).then(|| {
            format!(
                "{} N-PDUs unconfirmed; sent {sent} octets as {sent_compressed}, received {received} as \
                 {received_compressed}",
                self.unconfirmed
            )
        });
        self.sapis.iter().map(SapiView::to_string).chain(counted)
    }
}

impl fmt::Display for MobileView {
    /// One line, and one more for each context.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mobile {} imsi {}: {} ({}), {}", self.index, self.imsi, self.gmm, self.service, self.mm)?;
        match self.cell {
            Some((index, id)) => write!(f, ", cell {index} ({id})")?,
            None => f.write_str(", no cell")?,
        }
        write!(f, ", P-TMSI {}, TLLI {}", or_dash(self.ptmsi), or_dash(self.tlli))?;
        if self.cipher != Algorithm::Gea0 {
            write!(f, ", {}", self.cipher)?;
        }
        if let Some(standing) = self.non_gprs {
            write!(f, ", {standing}")?;
        }
        if let Some(level) = self.link.level_dbm {
            write!(f, ", received at {level} dBm")?;
        }
        if let Some(mtu) = self.link.mtu_octets {
            write!(f, ", LL-PDUs of at most {mtu} octets")?;
        }
        if self.suspended {
            f.write_str(", suspended")?;
        }
        for context in &self.contexts {
            write!(f, "\n  nsapi {} sapi {}", context.nsapi, or_dash(context.sapi))?;
            let mode = if context.acknowledged { ", acknowledged" } else { "" };
            write!(f, ": {}{mode}, address {}", context.state, or_dash(context.address))?;
            context.filters.iter().try_for_each(|filter| write!(f, "\n    TFT {filter}"))?;
        }
        self.layers().try_for_each(|line| write!(f, "\n  {line}"))
    }
}
