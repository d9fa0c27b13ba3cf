//! A GGSN moves its end of a tunnel: it names other addresses or endpoints in its answer to an Update (29.060 clause 7.3.4).

use crate::sgsn::Sgsn;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_proto::about::About as _;
use gannet_proto::gtp::{GsnAddresses, GtpTunnel, Version};
use gannet_wire::gtp::v1c::UpdateResponse;
use gannet_wire::id::{Nsapi, Teid};

/// Addresses of a context's GGSN at most, besides those of its tunnel: where a GGSN moves on and on, the oldest go.
const OTHERS_MAX: usize = 8;

impl Sgsn {
    /// Takes over what an accepted Update Response says of the GGSN's end; what it leaves out stays as it is. Where its addresses
    /// cannot be reached from here, all stays: counted and logged.
    pub(super) fn tunnel_moved(
        &mut self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        (peer, asked): (IpAddr, IpAddr),
        response: &UpdateResponse,
    ) {
        let Some(tunnel) = self.tunnel_of(slot, nsapi).filter(|_| response.cause.is_accepted()) else {
            return;
        };
        if let Some(counter) = response.recovery {
            self.ggsn_origins.note_counter(slot, nsapi, counter);
        }
        let held = self.address_of(tunnel.control_path).zip(self.address_of(tunnel.user_path));
        let Some(held) = held else { return };
        let named = GsnAddresses {
            control: [response.gsn_first, response.alternative_control],
            user: [response.gsn_second, response.alternative_user],
        };
        let Some((control, user)) = self.ends_of(&named, held) else {
            let whose = self.imsi_of(slot);
            cx.drop_of(Drop::GtpUnreachable, whose);
            let addresses: Vec<String> = named.iter().map(|address| address.to_string()).collect();
            let text = format_args!(
                "NSAPI {nsapi}: Update response from {peer}: GSN Address {} cannot be reached from here, the tunnel stays as it is",
                addresses.join(", ")
            );
            return cx.log_of(whose, Category::Gtp, Level::Notice, text);
        };
        let teid = |said: Option<Teid>, held| said.filter(|teid| *teid != Teid(0)).unwrap_or(held);
        let control = (control, teid(response.teid_control, tunnel.peer_control));
        let user = (user, teid(response.teid_data, tunnel.peer_user));
        let is_same = (control, user) == ((held.0, tunnel.peer_control), (held.1, tunnel.peer_user));
        if !is_same {
            let recovery = response.recovery.map(|counter| (peer, counter));
            let Some(opened) = self.gtp.open(cx, tunnel.version, control, user, recovery) else { return };
            let next_sequence = tunnel.next_sequence;
            let opened = GtpTunnel { next_sequence, sequenced: tunnel.sequenced, ..opened };
            let others = [peer, asked].into_iter().chain(named.iter()).chain([held.0, held.1]);
            self.exchange(slot, nsapi, tunnel, opened, others.collect());
            let line = format_args!(
                "NSAPI {nsapi}: GGSN {peer} moves the tunnel to {}, user traffic to {}",
                control.0, user.0
            );
            cx.log_of(self.imsi_of(slot), Category::Gtp, Level::Notice, line);
        }
        let name = self.mobiles.get(slot).and_then(|mobile| mobile.bearer(nsapi)).map(|bearer| bearer.name);
        if let Some(name) = name {
            self.account_moved(name, control.0, response.charging_id);
        }
    }

    /// The addresses that are used from now on, of those that are named; those held, where none is.
    fn ends_of(&self, named: &GsnAddresses, held: (IpAddr, IpAddr)) -> Option<(IpAddr, IpAddr)> {
        if named.iter().next().is_none() {
            return Some(held);
        }
        let or_held = |of: [Option<IpAddr>; 2], held| if of == [None; 2] { [Some(held), None] } else { of };
        self.gtp.reachable(&GsnAddresses {
            control: or_held(named.control, held.0),
            user: or_held(named.user, held.1),
        })
    }

    /// Puts a tunnel into the place of another. G-PDUs are known by our own endpoint, which stays; a driver learns their new source.
    fn exchange(&mut self, slot: Slot, nsapi: Nsapi, from: GtpTunnel, to: GtpTunnel, others: Vec<IpAddr>) {
        let Some(bearer) = self.mobiles.get_mut(slot).and_then(|mobile| mobile.bearer_mut(nsapi)) else {
            return self.gtp.close(to);
        };
        bearer.tunnel = Some(to);
        let ends = [to.control_path, to.user_path].map(|path| self.address_of(path));
        let mut known: Vec<IpAddr> = Vec::new();
        for address in others.into_iter().chain(self.ggsn_addresses.of(slot, nsapi).iter().copied()) {
            if !ends.contains(&Some(address)) && !known.contains(&address) {
                known.push(address);
            }
        }
        known.truncate(OTHERS_MAX);
        self.by_peer_endpoint.remove(&(from.user_path, from.peer_user, slot, nsapi));
        self.gtp.close(from);
        self.ggsn_addresses.set(slot, nsapi, known);
        if to.version == Version::V1 {
            self.by_peer_endpoint.insert((to.user_path, to.peer_user, slot, nsapi));
        }
        self.flow_changed(slot, nsapi);
    }
}
