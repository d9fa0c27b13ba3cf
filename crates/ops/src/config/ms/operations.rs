//! What an operator can ask of the mobiles of this machine.

use super::commands::cell_of;
use super::{FilterOrder, MobileStation, Mode};
use crate::config::bearers::{self, Link};
use crate::config::fleet;
use crate::grammar::common::OPERATING;
use crate::grammar::{Action, Args, CommandError, Grammar, Node};
use gannet_wire::id::{CellId, Imsi};

/// What an operator asks of a mobile station. Mobiles are numbered from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MsOperation {
    /// `show mobile [N]`: a [`crate::view::Mobile`] for each.
    ShowMobiles(Option<u32>),
    /// `show devices`: each device, its address and what waits for it.
    ShowDevices,
    /// `show cells`: those of its own, or of access points.
    ShowCells,
    /// `show drops`: a [`crate::view::DropCount`] for each.
    ShowDrops,
    /// `show why imsi IMSI`: the last [`crate::view::Why`]s of a mobile.
    ShowWhy(Imsi),
    /// `mobile N …`
    Order {
        /// Which mobile.
        mobile: u32,
        /// What it is to do.
        order: Order,
    },
    /// `bearer prefer …`: which access point all mobiles prefer.
    Prefer(Preference),
}

/// Which access points are preferred, until another order or the next start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Preference {
    /// Those of a bearer.
    Link(Link),
    /// That of a cell.
    Cell(CellId),
    /// As the lines `cell` of the configuration have it.
    Configured,
}

/// What a mobile is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// `attach`
    Attach,
    /// `detach`
    Detach,
    /// `activate`: all contexts that are activated at an attach.
    ActivateAll,
    /// `deactivate`: all contexts.
    DeactivateAll,
    /// `… context NAME`
    Context {
        /// Its name.
        name: String,
        /// What becomes of it.
        order: ContextOrder,
    },
}

/// What becomes of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextOrder {
    /// `activate context NAME`
    Activate,
    /// `deactivate context NAME`
    Deactivate,
    /// `mode context NAME (acknowledged|unacknowledged)`
    Mode(Mode),
    /// `modify context NAME delay-class N`
    DelayClass(u8),
    /// `modify context NAME precedence …`: other packets belong to it.
    Filter(FilterOrder),
}

type Parsed = Result<MsOperation, CommandError>;

fn order(args: &Args, order: Order) -> Parsed {
    Ok(MsOperation::Order { mobile: args.value(0)?, order })
}

fn context(args: &Args, what: ContextOrder) -> Parsed {
    order(args, Order::Context { name: args.text(1).to_owned(), order: what })
}

/// All of them.
pub(super) fn install(grammar: &mut Grammar<MobileStation>) {
    let mut show = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        let help = format!("Show the state of the node\n{help}");
        grammar.add(OPERATING, pattern, &help, Action::<MobileStation>::Operate(parse));
    };
    show("show mobile [<1-1000000>]", "Mobiles: state, identities, address\nOne of them", |args| {
        args.optional(0).map(MsOperation::ShowMobiles)
    });
    show("show devices", "Devices of contexts: address, packets", |_| Ok(MsOperation::ShowDevices));
    show("show cells", "Cells of their own or of access points: identities, state", |_| {
        Ok(MsOperation::ShowCells)
    });
    show("show drops", "What was dropped or refused, by name", |_| Ok(MsOperation::ShowDrops));
    let why = "The last rejects and drops of a mobile, with their clauses\nBy IMSI\nThe IMSI";
    show("show why imsi IMSI", why, |args| args.value(0).map(MsOperation::ShowWhy));
    install_orders(grammar);
    install_preference(grammar);
}

fn install_preference(grammar: &mut Grammar<MobileStation>) {
    let mut add = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        let help = format!("Links of the mobiles and access points\nWhich access point is preferred\n{help}");
        grammar.add(&[Node::Enable], pattern, &help, Action::<MobileStation>::Operate(parse));
    };
    let ethernet = "Those on Ethernet or wireless LAN\nThe device's name in the system";
    add("bearer prefer ethernet DEVICE", ethernet, |args| {
        Ok(MsOperation::Prefer(Preference::Link(Link::Ethernet(args.text(0).to_owned()))))
    });
    let udp = "That over UDP\nIts IPv4 address\nIts IPv6 address\nIts port";
    add("bearer prefer udp (A.B.C.D|X:X::X:X) <1-65535>", udp, |args| {
        Ok(MsOperation::Prefer(Preference::Link(bearers::udp(args)?)))
    });
    add("bearer prefer radio um", bearers::RADIO_HELP, |_| {
        Ok(MsOperation::Prefer(Preference::Link(bearers::radio())))
    });
    let radio = format!("{}\nThe multicast group to the mobiles\nThat from the mobiles", bearers::RADIO_HELP);
    add("bearer prefer radio um A.B.C.D A.B.C.D", &radio, |args| {
        Ok(MsOperation::Prefer(Preference::Link(bearers::radio_with(args)?)))
    });
    let cell = "That of a cell\nMobile country code\nMobile network code; three digits are another code than two\nLocation area code\nRouting area code\nCell identity";
    add("bearer prefer cell <0-999> <0-999> <0-65535> <0-255> <0-65535>", cell, |args| {
        Ok(MsOperation::Prefer(Preference::Cell(cell_of(args)?)))
    });
    add("bearer prefer configured", "The order of the lines 'cell'", |_| {
        Ok(MsOperation::Prefer(Preference::Configured))
    });
}

fn install_orders(grammar: &mut Grammar<MobileStation>) {
    let mut add = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        let help = format!("A mobile\nIts number, from 1\n{help}");
        grammar.add(&[Node::Enable], pattern, &help, Action::<MobileStation>::Operate(parse));
    };
    add("mobile <1-1000000> attach", "Attach", |args| order(args, Order::Attach));
    add("mobile <1-1000000> detach", "Detach", |args| order(args, Order::Detach));
    let activate = "Activate PDP contexts: all that are activated at an attach";
    add("mobile <1-1000000> activate", activate, |args| order(args, Order::ActivateAll));
    let name = "One context\nIts name";
    add("mobile <1-1000000> activate context NAME", &format!("{activate}\n{name}"), |args| {
        context(args, ContextOrder::Activate)
    });
    let deactivate = "Deactivate PDP contexts: all";
    add("mobile <1-1000000> deactivate", deactivate, |args| order(args, Order::DeactivateAll));
    add("mobile <1-1000000> deactivate context NAME", &format!("{deactivate}\n{name}"), |args| {
        context(args, ContextOrder::Deactivate)
    });
    let mode = format!(
        "Ask for another way of packets\n{name}\nThe network confirms them: class 2\nNobody does: class 3"
    );
    add("mobile <1-1000000> mode context NAME (acknowledged|unacknowledged)", &mode, |args| {
        let acknowledged = args.text(2) == "acknowledged";
        context(
            args,
            ContextOrder::Mode(if acknowledged { Mode::Acknowledged } else { Mode::Unacknowledged }),
        )
    });
    let modify = format!("Modify a PDP context\n{name}");
    let help = format!("{modify}\nAsk for a delay class\nThe class");
    add("mobile <1-1000000> modify context NAME delay-class <1-4>", &help, |args| {
        context(args, ContextOrder::DelayClass(args.value(2)?))
    });
    let help = format!("{modify}\n{}", fleet::FILTER_HELP);
    add(
        "mobile <1-1000000> modify context NAME precedence <0-255> (protocol|source-port|destination-port) <0-65535>",
        &help,
        |args| context(args, ContextOrder::Filter(fleet::filter(args, 2)?)),
    );
}
