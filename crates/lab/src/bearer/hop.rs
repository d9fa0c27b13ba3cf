//! A bare hop: packets of a TUN device become frames of Ethernet and back, by the nodes' own loop and drivers and without any GPRS.
//!
//! Two of them, one at each end of a line, are what the way through user space alone costs there.

use super::text;
use core::convert::Infallible;
use gannet_machine::{Batch, Context, EthernetAddress, Input, Machine, Output, Peer, Port};
use gannet_rt::log::{LogSink, TargetOptions};
use gannet_rt::{BusyPoll, Clock, EventLoop, LoopConfig, NoHooks, Tun};

/// EtherType of its frames: the second for local experiments (IEEE 802 clause 9.2.4).
const ETHER_TYPE: u16 = 0x88b6;
const TUN: Port = Port(0);
const LINE: Port = Port(1);
/// Frames of its pool: some batches each way.
const FRAMES: usize = 4096;

/// Between what, and with whom.
#[derive(Debug, Clone)]
pub struct Options {
    /// The TUN device; one that is there is taken.
    pub tun: String,
    /// The Ethernet device.
    pub device: String,
    /// Address of the hop at the other end.
    pub far: EthernetAddress,
    /// It polls for a millisecond after each packet.
    pub polls: bool,
}

/// Copies, and nothing else.
#[derive(Debug)]
struct Hop {
    far: Peer,
    waiting: Batch<Output<bool, Infallible>>,
}

impl Machine for Hop {
    type Command = ();
    /// The TUN device is to be left alone, or read again.
    type Event = bool;
    type Rule = Infallible;

    fn handle_input(&mut self, _: &mut Context<'_>, inputs: &mut Batch<Input<()>>) {
        while let Some(input) = inputs.pop() {
            let Input::Datagram { port, frame, .. } = input else { continue };
            let (port, peer) = if port == TUN { (LINE, self.far) } else { (TUN, Peer::Link) };
            self.waiting.push(Output::Transmit { port, peer, frame });
        }
    }

    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<bool, Infallible>>) {
        outputs.append(&mut self.waiting);
    }

    fn hold_back(&mut self, on: bool) {
        self.waiting.push(Output::Event(on));
    }
}

/// Runs one until the process is told to stop.
///
/// # Errors
/// A sentence: a device that is not there, or a right that is missing.
pub fn run(options: &Options) -> Result<(), String> {
    let clock = Clock::start();
    let mut log = LogSink::new(clock);
    log.add_stderr(TargetOptions::default());
    let busy_poll = if options.polls { BusyPoll::Adaptive } else { BusyPoll::Off };
    let config = LoopConfig { frames: FRAMES, timers: 16, busy_poll, ..LoopConfig::default() };
    let mut hop = EventLoop::new(config, clock, log).map_err(text)?;
    let machine = Hop { far: Peer::Ethernet(options.far), waiting: Batch::default() };
    let machine = hop.add_machine(machine, |_, on, outside| outside.hold(TUN, Peer::Link, on));
    let tun = Tun::open(&options.tun).map_err(|error| format!("{}: {error}", options.tun))?;
    hop.attach_tun(machine, TUN, Peer::Link, tun, None).map_err(text)?;
    let attached = hop.attach_ether_type(machine, LINE, &options.device, ETHER_TYPE);
    attached.map_err(|error| format!("{}: {error}", options.device))?;
    hop.run(&mut NoHooks).map_err(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::Surroundings;
    use gannet_machine::trace::Quiet;

    #[test]
    fn packets_go_to_the_far_hop_and_frames_to_the_device_in_their_order() {
        let far = Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 2, 0]));
        let mut hop = Hop { far, waiting: Batch::default() };
        let mut around = Surroundings::new(1, 8, Quiet::default());
        let mut inputs = Batch::default();
        for (port, octet) in [(TUN, 1), (LINE, 2), (TUN, 3)] {
            let frame = around.frames.copy_of(&[octet; 20]).unwrap();
            inputs.push(Input::Datagram { port, peer: Peer::Link, frame });
        }
        hop.handle_input(&mut around.context(), &mut inputs);
        hop.hold_back(true);
        let mut outputs = Batch::default();
        hop.poll_output(&mut around.context(), &mut outputs);
        let mut told = Vec::new();
        while let Some(output) = outputs.pop() {
            told.push(match output {
                Output::Transmit { port, peer, frame } => (port, peer, frame.to_vec()),
                Output::Event(on) => (TUN, Peer::Slot(u32::from(on)), Vec::new()),
                _ => panic!("a hop does nothing else"),
            });
        }
        let expected = [
            (LINE, far, vec![1; 20]),
            (TUN, Peer::Link, vec![2; 20]),
            (LINE, far, vec![3; 20]),
            (TUN, Peer::Slot(1), Vec::new()),
        ];
        assert_eq!(told, expected);
    }
}
