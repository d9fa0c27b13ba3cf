//! What an operator can ask of a running SGSN.

use super::{GmmTimer, SgsnConfig};
use crate::Sgsn;
use crate::grammar::common::OPERATING;
use crate::grammar::{Action, Args, CommandError, Grammar, Node};
use core::fmt::Write as _;
use gannet_wire::id::{Bvci, Imsi, Nsapi, Nsei, Nsvci};

/// Of which mobiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// All.
    All,
    /// The one with this IMSI.
    Imsi(Imsi),
    /// The one with this number, digits as given.
    Msisdn(String),
}

/// What to do with an NS-VC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NsvcChange {
    /// Block it.
    Block,
    /// Unblock it.
    Unblock,
    /// Reset it.
    Reset,
}

/// What of the network service is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NsSelection {
    /// Sockets and NSEs.
    All,
    /// Sockets alone.
    Binds,
    /// NSEs alone.
    Entities,
    /// NS-VCs that the configuration has.
    Persistent,
    /// One NSE.
    Nse(Nsei),
    /// One NS-VC.
    Nsvc(Nsvci),
}

/// What an operator asks of an SGSN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SgsnOperation {
    /// `show subscriber …`: a [`crate::view::Subscriber`] for each.
    ShowSubscribers(Whom),
    /// `show subscriber cache`: a [`crate::view::CachedSubscriber`] for each.
    ShowSubscriberCache,
    /// `show mm-context …`: a [`crate::view::MmContext`] for each, with their PDP contexts where `pdp`.
    ShowMmContexts {
        /// Of whom.
        whom: Whom,
        /// With their PDP contexts.
        pdp: bool,
    },
    /// `show pdp-context …`: a [`crate::view::PdpContext`] for each.
    ShowPdpContexts(Whom),
    /// `show ns`: a [`crate::view::NsBind`] and a [`crate::view::Nse`] for each, with counters where `stats`.
    ShowNs {
        /// What of it.
        what: NsSelection,
        /// With counters.
        stats: bool,
    },
    /// `show bssgp`: a [`crate::view::Bvc`] for each, with counters and queues where `stats`.
    ShowBssgp {
        /// Only this NSE.
        nsei: Option<Nsei>,
        /// With counters.
        stats: bool,
    },
    /// `show why imsi IMSI`: the last [`crate::view::Why`]s of a mobile.
    ShowWhy(Imsi),
    /// `show sgsn`: [`crate::view::SgsnSummary`].
    ShowSgsn,
    /// `show ggsn`: a [`crate::view::GgsnPeer`] for each.
    ShowGgsns,
    /// `show counters`: every counter and every drop, `NAME VALUE` one a line, for programs.
    ShowCounters,
    /// `show ingress`: how user data comes in and goes out.
    ShowIngress,
    /// `show store`: [`crate::view::Store`].
    ShowStore,
    /// `show scheduler`: the queues of PDP contexts and what was served.
    ShowScheduler,
    /// `show drops`: a [`crate::view::DropCount`] for each.
    ShowDrops,
    /// `pdp-context deactivate imsi IMSI nsapi N`
    DeactivatePdp {
        /// Whose.
        imsi: Imsi,
        /// Which.
        nsapi: Nsapi,
    },
    /// `subscriber detach imsi IMSI`
    Detach(Imsi),
    /// `subscriber relocate imsi IMSI`: it leaves as octets and arrives again.
    Relocate(Imsi),
    /// `subscriber reallocate-ptmsi imsi IMSI`: it gets a new P-TMSI.
    ReallocatePtmsi(Imsi),
    /// `subscriber inform imsi IMSI`: it is told the names of the network.
    Inform(Imsi),
    /// `page imsi IMSI`
    Page(Imsi),
    /// `show llc`: a [`crate::view::Llc`] for each mobile.
    ShowLlc,
    /// `show sndcp`: a [`crate::view::Sndcp`] for each PDP context.
    ShowSndcp,
    /// `update-subscriber imsi IMSI …`
    UpdateSubscriber {
        /// Whom.
        imsi: Imsi,
        /// How.
        update: Update,
    },
    /// `reset sgsn state`: every mobile is forgotten, here and at its GGSNs.
    ResetState,
    /// `ns reset`: all NS-VCs are reset.
    ResetNs,
    /// `nsvc <0-65535> (block|unblock|reset)`
    ChangeNsvc {
        /// Which.
        nsvci: Nsvci,
        /// What to do with it.
        change: NsvcChange,
    },
    /// `bssgp bvc nsei <0-65535> bvci <0-65535> reset`
    ResetBvc {
        /// Of which NSE.
        nsei: Nsei,
        /// Which.
        bvci: Bvci,
    },
}

/// What is done to a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// `destroy`: it is forgotten, here, at its GGSNs and at the HLR.
    Destroy,
    /// `cancel update-procedure`: it is elsewhere.
    CancelUpdate,
    /// `cancel subscription-withdraw`: it has no subscription any more, and is detached.
    CancelWithdraw,
    /// `update-location-result …`: the HLR's answer, for who waits for it.
    LocationResult(LocationAnswer),
    /// `update-auth-info`: it has to prove anew who it is.
    AuthInfo,
}

/// An answer to UpdateLocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationAnswer {
    /// It is here now.
    Ok,
    /// System failure.
    SystemFailure,
    /// Data missing.
    DataMissing,
    /// Unexpected data value.
    UnexpectedDataValue,
    /// Unknown subscriber.
    UnknownSubscriber,
    /// Roaming not allowed.
    RoamingNotAllowed,
}

pub(super) type Parsed = Result<SgsnOperation, CommandError>;

pub(super) fn imsi(args: &Args, place: usize) -> Result<Imsi, CommandError> {
    let text = args.text(place);
    text.parse().map_err(|_| CommandError(format!("'{text}' is no IMSI: up to 15 digits.")))
}

fn one(args: &Args, place: usize) -> Result<Whom, CommandError> {
    imsi(args, place).map(Whom::Imsi)
}

/// All operations.
pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    install_subscribers(grammar);
    install_contexts(grammar);
    install_gb(grammar);
    install_node(grammar);
    install_changes(grammar);
}

fn show(grammar: &mut Grammar<Sgsn>, pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed) {
    let help = format!("Show the state of the node\n{help}");
    grammar.add(OPERATING, pattern, &help, Action::<Sgsn>::Operate(parse));
}

fn install_subscribers(grammar: &mut Grammar<Sgsn>) {
    use SgsnOperation::{ShowSubscribers, ShowWhy};
    show(grammar, "show subscriber (all|cache)", "Subscribers\nAll\nAll, in Osmocom's lines", |args| {
        Ok(if args.text(0) == "cache" {
            SgsnOperation::ShowSubscriberCache
        } else {
            ShowSubscribers(Whom::All)
        })
    });
    show(grammar, "show subscriber imsi IMSI", "Subscribers\nBy IMSI\nThe IMSI", |args| {
        one(args, 0).map(ShowSubscribers)
    });
    show(grammar, "show subscriber msisdn MSISDN", "Subscribers\nBy number\nThe number", |args| {
        let digits = args.text(0);
        if digits.len() > 20 || !digits.bytes().all(|c| c.is_ascii_digit()) {
            return Err(CommandError(format!("'{digits}' is no MSISDN: digits alone.")));
        }
        Ok(ShowSubscribers(Whom::Msisdn(digits.to_owned())))
    });
    let why = "The last rejects and drops of a mobile, with their clauses\nBy IMSI\nThe IMSI";
    show(grammar, "show why imsi IMSI", why, |args| imsi(args, 0).map(ShowWhy));
}

fn install_contexts(grammar: &mut Grammar<Sgsn>) {
    use SgsnOperation::{ShowMmContexts, ShowPdpContexts};
    show(grammar, "show mm-context all [pdp]", "MM contexts\nAll\nWith their PDP contexts", |args| {
        Ok(ShowMmContexts { whom: Whom::All, pdp: args.get(0).is_some() })
    });
    let help = "MM contexts\nBy IMSI\nThe IMSI\nWith their PDP contexts";
    show(grammar, "show mm-context imsi IMSI [pdp]", help, |args| {
        Ok(ShowMmContexts { whom: one(args, 0)?, pdp: args.get(1).is_some() })
    });
    show(grammar, "show pdp-context all", "PDP contexts\nAll", |_| Ok(ShowPdpContexts(Whom::All)));
    show(grammar, "show pdp-context imsi IMSI", "PDP contexts\nBy IMSI\nThe IMSI", |args| {
        one(args, 0).map(ShowPdpContexts)
    });
}

fn show_ns(what: NsSelection, args: &Args, stats: usize) -> Parsed {
    Ok(SgsnOperation::ShowNs { what, stats: args.get(stats).is_some() })
}

fn install_gb(grammar: &mut Grammar<Sgsn>) {
    use SgsnOperation::{ShowBssgp, ShowLlc, ShowSndcp};
    let ns = "The network service: binds, NSEs, NS-VCs";
    show(grammar, "show ns [stats]", &format!("{ns}\nWith counters"), |args| {
        show_ns(NsSelection::All, args, 0)
    });
    show(
        grammar,
        "show ns binds [stats]",
        &format!("{ns}\nSockets\nWith counters, of which sockets have none"),
        |args| show_ns(NsSelection::Binds, args, 0),
    );
    show(grammar, "show ns entities [stats]", &format!("{ns}\nNSEs\nWith counters"), |args| {
        show_ns(NsSelection::Entities, args, 0)
    });
    show(grammar, "show ns persistent", &format!("{ns}\nNS-VCs of the configuration"), |args| {
        show_ns(NsSelection::Persistent, args, 0)
    });
    let help = format!("{ns}\nOne NSE\nOne NS-VC\nNSEI or NSVCI\nWith counters");
    show(grammar, "show ns (nsei|nsvc) <0-65535> [stats]", &help, |args| {
        let what = match args.text(0) {
            "nsvc" => NsSelection::Nsvc(Nsvci(args.value(1)?)),
            _ => NsSelection::Nse(Nsei(args.value(1)?)),
        };
        show_ns(what, args, 2)
    });
    show(grammar, "show llc", "Logical links: TLLI, cipher, N201-U", |_| Ok(ShowLlc));
    show(grammar, "show sndcp", "SNDCP: NSAPI, SAPI, numbers", |_| Ok(ShowSndcp));
    let bssgp = "BVCs: state, flow control, queues";
    show(grammar, "show bssgp [stats]", &format!("{bssgp}\nWith counters"), |args| {
        Ok(ShowBssgp { nsei: None, stats: args.get(0).is_some() })
    });
    show(grammar, "show bssgp bvc", &format!("{bssgp}\nAll, with counters"), |_| {
        Ok(ShowBssgp { nsei: None, stats: true })
    });
    let help = format!("{bssgp}\nOf one NSE\nIts NSEI\nWith counters");
    show(grammar, "show bssgp nsei <0-65535> [stats]", &help, |args| {
        Ok(ShowBssgp { nsei: Some(Nsei(args.value(0)?)), stats: args.get(1).is_some() })
    });
}

fn install_node(grammar: &mut Grammar<Sgsn>) {
    use SgsnOperation::{
        ShowCounters, ShowDrops, ShowGgsns, ShowIngress, ShowScheduler, ShowSgsn, ShowStore,
    };
    show(grammar, "show sgsn", "The SGSN: addresses and sizes", |_| Ok(ShowSgsn));
    show(grammar, "show ggsn", "The GGSNs and their GTP paths", |_| Ok(ShowGgsns));
    show(grammar, "show counters", "Every counter and every drop, NAME VALUE, for programs", |_| {
        Ok(ShowCounters)
    });
    show(grammar, "show ingress", "How user data comes in and goes out, and what was counted there", |_| {
        Ok(ShowIngress)
    });
    show(grammar, "show scheduler", "The queues of PDP contexts, and what was served", |_| Ok(ShowScheduler));
    show(grammar, "show store", "What is kept for the time after a restart, and how far behind", |_| {
        Ok(ShowStore)
    });
    show(grammar, "show drops", "What was dropped or refused, by name", |_| Ok(ShowDrops));
    let nodes = &[Node::View, Node::Enable, Node::Sgsn];
    grammar.add(
        nodes,
        "show timer [TNNNN]",
        "Show the state of the node\nTimers of mobility and session management\nOne of them",
        Action::<Sgsn>::Show(show_timers),
    );
}

pub(super) fn show_timers(config: &SgsnConfig, args: &Args, out: &mut String) -> Result<(), CommandError> {
    let unknown = |_| CommandError(format!("No such timer: {}", args.text(0)));
    let only = args.get(0).map(GmmTimer::named).transpose().map_err(unknown)?;
    for timer in GmmTimer::ALL.iter().filter(|timer| only.is_none_or(|only| only == **timer)) {
        let (seconds, default) = (config.timers.get_s(*timer), timer.default_s());
        let _ = writeln!(out, "{timer} = {seconds} s\t{} (default: {default} s)", timer.help());
    }
    Ok(())
}

fn install_changes(grammar: &mut Grammar<Sgsn>) {
    use SgsnOperation::{
        ChangeNsvc, DeactivatePdp, Detach, Inform, Page, ReallocatePtmsi, Relocate, ResetBvc, ResetNs,
    };
    let enable = &[Node::Enable];
    let mut add = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        grammar.add(enable, pattern, help, Action::<Sgsn>::Operate(parse));
    };
    add(
        "pdp-context deactivate imsi IMSI nsapi <5-15>",
        "A PDP context\nDeactivate it, from the network's side\nBy IMSI\nThe IMSI\nBy NSAPI\nThe NSAPI",
        |args| Ok(DeactivatePdp { imsi: imsi(args, 0)?, nsapi: Nsapi(args.value(1)?) }),
    );
    add(
        "subscriber detach imsi IMSI",
        "A subscriber\nDetach it, from the network's side\nBy IMSI\nThe IMSI",
        |args| imsi(args, 0).map(Detach),
    );
    let help =
        "A subscriber\nTake it out as octets and in again, as a move to another SGSN does\nBy IMSI\nThe IMSI";
    add("subscriber relocate imsi IMSI", help, |args| imsi(args, 0).map(Relocate));
    let help = "A subscriber\nGive it a new P-TMSI as soon as it is heard; in STANDBY it is paged\nBy IMSI\nThe IMSI";
    add("subscriber reallocate-ptmsi imsi IMSI", help, |args| imsi(args, 0).map(ReallocatePtmsi));
    let help = "A subscriber\nTell it the names of the network: GMM INFORMATION\nBy IMSI\nThe IMSI";
    add("subscriber inform imsi IMSI", help, |args| imsi(args, 0).map(Inform));
    add("page imsi IMSI", "Page a mobile\nBy IMSI\nThe IMSI", |args| imsi(args, 0).map(Page));
    add("ns reset", "The network service\nReset every NS-VC", |_| Ok(ResetNs));
    add(
        "nsvc <0-65535> (block|unblock|reset)",
        "An NS-VC\nIts NSVCI\nBlock it\nUnblock it\nReset it",
        |args| {
            let change = match args.text(1) {
                "block" => NsvcChange::Block,
                "unblock" => NsvcChange::Unblock,
                _ => NsvcChange::Reset,
            };
            Ok(ChangeNsvc { nsvci: Nsvci(args.value(0)?), change })
        },
    );
    add(
        "bssgp bvc nsei <0-65535> bvci <0-65535> reset",
        "BSSGP\nA BVC\nOf which NSE\nIts NSEI\nWhich\nIts BVCI\nReset it",
        |args| Ok(ResetBvc { nsei: Nsei(args.value(0)?), bvci: Bvci(args.value(1)?) }),
    );
}
