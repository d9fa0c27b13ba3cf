//! What an operator changes while the GGSN runs.

use super::{ApnConfig, Ggsn, GgsnConfig, some_refuse};
use crate::slots::Slot;
use gannet_machine::Context;
use gannet_proto::gtp::Timing;

impl Ggsn {
    /// Takes over all but addresses, pools and subscribers' own addresses: what else access points are told, the one for unknown
    /// names, Echo Requests, who is believed, code points, what becomes of the contexts of an SGSN that has restarted. An access point that the new configuration
    /// does not have serves nobody from now on, and its contexts end; one that was not there before is for the next start.
    pub fn reconfigure(&mut self, cx: &mut Context<'_>, new: &GgsnConfig) {
        let default = new.default_apn.and_then(|place| new.apns.get(usize::from(place)));
        let mut closed = Vec::new();
        for (index, point) in (0_u16..).zip(&mut self.access_points) {
            let apn = new.apns.iter().find(|apn| apn.name == point.config.name);
            point.closed = apn.is_none();
            match apn {
                // Its addresses stay, and with them the version of IP that it serves.
                Some(apn) => {
                    let ApnConfig { v4, v6, dual_stack, .. } = point.config;
                    point.config = ApnConfig { v4, v6, dual_stack, ..apn.clone() };
                }
                None => closed.push(index),
            }
        }
        self.config.default_apn = default.and_then(|default| {
            let place = self.access_points.iter().position(|point| point.config.name == default.name);
            place.and_then(|place| u16::try_from(place).ok())
        });
        (self.config.source_check, self.config.peers) = (new.source_check, new.peers.clone());
        self.gtp.trust(new.source_check, new.peers.clone());
        self.config.echo_interval = new.echo_interval;
        let timing = Timing {
            t3_response: new.t3_response,
            n3_requests: new.n3_requests,
            echo_interval: new.echo_interval,
            echo_intervals: Vec::new(),
        };
        self.gtp.set_timing(cx, timing);
        self.config.after_restart = new.after_restart;
        self.config.code_points = new.code_points;
        self.some_refuse = some_refuse(&self.access_points);
        self.watch_all_idle(cx);
        self.touch_all_rules();
        let ended = self.contexts.iter().filter(|(_, context)| closed.contains(&context.apn));
        let ended: Vec<Slot> = ended.map(|(slot, _)| slot).collect();
        ended.into_iter().for_each(|slot| self.ask_to_delete(cx, slot));
        self.drain_gtp(cx);
        self.follow_rules();
    }
}
