//! Who sends the packets: a program of the kernel, in bursts, so that no system call of a sender limits what comes.

use core::net::Ipv4Addr;
use gannet_demux::bpf::{Attachment, Error, Loader, Object, TestRun, XdpMode};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Packets of a call: half of the ring between a pair of veth devices.
const BURST: u32 = 128;
/// Frames that the kernel handles at a time.
const BATCH: u32 = 64;
/// What the sender is late by is made up for to this extent; the rest is not sent.
const LATE_MAX: u64 = 4 * BURST as u64;

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub struct Packets<'a> {
    /// The device that they leave by.
    pub device: &'a str,
    /// The station that it leads to.
    pub station: [u8; 6],
    /// Source and destination of UDP.
    pub port: u16,
    /// The sender's address.
    pub from: Ipv4Addr,
    /// The first destination; the others follow it.
    pub first: Ipv4Addr,
    /// How many there are.
    pub destinations: u32,
    /// Octets of UDP's payload.
    pub payload: u16,
}

impl Packets<'_> {
    /// The frame without its destination and the checksum of IP.
    fn frame(&self) -> Vec<u8> {
        let mut frame = [&self.station[..], &[2, 0, 0, 0, 0, 1, 8, 0]].concat();
        frame.extend([0x45, 0]);
        frame.extend((self.payload + 28).to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
        frame.extend(self.from.octets());
        frame.extend(self.first.octets());
        // No checksum of UDP (RFC 768).
        frame.extend([self.port, self.port, self.payload + 8, 0].map(u16::to_be_bytes).concat());
        frame.resize(frame.len() + usize::from(self.payload), 0);
        frame
    }
}

/// The program, on the device.
#[derive(Debug)]
pub struct Sender {
    frame: Vec<u8>,
    object: Object,
    _attachment: Attachment,
}

impl Sender {
    /// Attaches it, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// What the kernel does not permit.
    pub fn open(packets: &Packets<'_>) -> Result<Self, String> {
        let text = |error: Error| error.to_string();
        let index = gannet_demux::link::index(packets.device).map_err(|error| error.to_string())?;
        let mut object = Loader::new(&gannet_rig::objects::SEND)
            .global("device", &index.to_ne_bytes())
            .global("first", &u32::from(packets.first).to_ne_bytes())
            .global("destinations", &packets.destinations.to_ne_bytes())
            .load()
            .map_err(text)?;
        let attachment = object.attach_xdp("send", index, XdpMode::Native).map_err(text)?;
        Ok(Self { frame: packets.frame(), object, _attachment: attachment })
    }

    /// Sends at a rate for a time, in the network namespace of the calling thread; says how many were sent. Of what is late by more
    /// than some bursts nothing is sent later.
    ///
    /// # Errors
    /// That of the kernel, or that the person has interrupted it.
    pub fn send(&self, pps: f64, lasting: Duration, stop: &AtomicBool) -> Result<u64, String> {
        let gap_ns = Duration::from_secs_f64(1.0 / pps).as_nanos().max(1);
        let (mut sent, mut missed) = (0_u64, 0_u64);
        let begun = Instant::now();
        while begun.elapsed() < lasting {
            if stop.load(Relaxed) {
                return Err("interrupted".to_owned());
            }
            let due = u64::try_from(begun.elapsed().as_nanos() / gap_ns).unwrap_or(u64::MAX);
            let late = due.saturating_sub(sent + missed);
            if late < BURST.into() {
                std::thread::sleep(Duration::from_micros(50));
                continue;
            }
            missed += late.saturating_sub(LATE_MAX);
            let run = TestRun {
                data: &self.frame,
                data_out: None,
                context: None,
                context_out: None,
                repeat: BURST,
                live_batch: Some(BATCH),
            };
            match self.object.run("send", run) {
                Ok(_) => sent += u64::from(BURST),
                // A signal ended the call.
                Err(Error::Call { error, .. }) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_udp_in_ip_in_ethernet() {
        let packets = Packets {
            device: "near",
            station: [2, 0, 0, 0, 0, 2],
            port: 7007,
            from: Ipv4Addr::new(198, 18, 1, 1),
            first: Ipv4Addr::new(198, 19, 0, 1),
            destinations: 9,
            payload: 200,
        };
        let frame = packets.frame();
        assert_eq!(frame.len(), 14 + 228);
        assert_eq!(frame[..6], [2, 0, 0, 0, 0, 2]);
        assert_eq!(frame[12..18], [8, 0, 0x45, 0, 0, 228]);
        assert_eq!(frame[26..34], [198, 18, 1, 1, 198, 19, 0, 1]);
        assert_eq!(frame[34..42], [0x1b, 0x5f, 0x1b, 0x5f, 0, 208, 0, 0]);
    }
}
