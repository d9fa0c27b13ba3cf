//! Forwarding at the driver as the loop has it: made for a machine, told its rules, and kept while devices come and go.

use crate::gateway::{Change, Forwarder, ForwardingConfig, ForwardingReport};
use crate::ingress::device_of;
use crate::io::Io;
use crate::netlink::Netlink;
use gannet_machine::time::Instant;
use gannet_machine::trace::Level;
use gannet_proto::forwarding::{ForwardChange, Forwarded};
use gannet_proto::gtp::ContextName;

impl Io {
    /// Has a machine's packets forwarded at the driver.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit.
    pub(crate) fn attach_forwarding(
        &mut self,
        machine: usize,
        config: &ForwardingConfig,
    ) -> Result<ForwardingReport, String> {
        let mut netlink = Netlink::open().map_err(|error| format!("no rtnetlink socket: {error}"))?;
        let gn = device_of(&mut netlink, config.user.into())?;
        let interfaces = config.networks.iter().flatten().map(|network| &network.interface);
        for wanted in interfaces.chain([&gn.name]) {
            if self.forwarders.iter().any(|other| other.serves(wanted)) {
                return Err(format!("{wanted} serves another GGSN already, and a device takes one program"));
            }
        }
        let forwarder = Forwarder::open(machine, &gn.name, config, netlink)?;
        self.watch_tables();
        let report = forwarder.report();
        self.forwarders.push(forwarder);
        Ok(report)
    }

    /// A rule of a machine for its forwarder, where it has one.
    pub(crate) fn forward(&mut self, machine: usize, change: &ForwardChange) {
        let Some(forwarder) = self.forwarders.iter_mut().find(|it| it.machine == machine) else { return };
        let Err(error) = forwarder.apply(change) else { return };
        // A table that is too small would say so for every context.
        if !core::mem::replace(&mut forwarder.refusal_told, true) {
            self.note(
                Level::Error,
                format_args!("a context is not forwarded at the driver, perhaps others too: {error}"),
            );
        }
    }

    /// What was counted for a context of a machine.
    pub(crate) fn forwarded(&self, machine: usize, name: ContextName) -> Option<Forwarded> {
        self.forwarders.iter().find(|it| it.machine == machine)?.forwarded(name)
    }

    /// What forwards for a machine; `None` where the machine does it itself.
    pub(crate) fn forwarding(&self, machine: usize) -> Option<ForwardingReport> {
        self.forwarders.iter().find(|it| it.machine == machine).map(Forwarder::report)
    }

    /// Looks at the devices of all forwarders.
    pub(crate) fn look_at_forwarders(&mut self, at_once: bool) {
        if self.forwarders.is_empty() {
            return;
        }
        let now = self.now;
        let mut news = Vec::new();
        for forwarder in &mut self.forwarders {
            forwarder.look(now, at_once, |name, change| news.push((name.to_owned(), change)));
        }
        for (name, change) in news {
            match change {
                Change::Served(mode) => {
                    self.note(Level::Notice, format_args!("{name}: forwarding at the driver, {mode} mode"));
                }
                Change::Gone => {
                    self.note(
                        Level::Error,
                        format_args!("{name} is away: nothing is forwarded at the driver"),
                    );
                }
                Change::Refused(error) => {
                    self.note(Level::Error, format_args!("no forwarding at the driver: {error}"));
                }
            }
        }
    }

    /// When [`Io::look_at_forwarders`] wants to be called at the latest.
    pub(crate) fn forwarders_look_at(&self) -> Option<Instant> {
        self.forwarders.iter().map(Forwarder::look_at).min()
    }
}
