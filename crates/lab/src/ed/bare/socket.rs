//! The loop over sockets: `recvmmsg` with busy polling, headers, `sendmmsg`. What `gannet-fifo` could do at best.

use super::super::bed::{GB_LOAD, GB_PORT, GB_SGSN, GN_SGSN};
use super::template::Template;
use super::{BATCH, Options, READY, TURNS, Toil, bvci, tlli, user_of};
use core::net::SocketAddr;
use gannet_machine::frame::{Frame, FramePool};
use gannet_rig::{Datagrams, PolledSocket};
use gannet_wire::gtp::v1u::GPdu;
use std::collections::{HashMap, VecDeque};
use std::net::UdpSocket;

/// Datagrams of one system call.
const FRAMES: usize = 64;

pub(super) fn run(options: &Options, going: &dyn Fn() -> bool) -> Result<(), String> {
    let address = |ip: &str, port: u16| -> Result<SocketAddr, String> {
        format!("{ip}:{port}").parse().map_err(|error| format!("{ip}: {error}"))
    };
    // A receive that would find nothing polls the device.
    let gn = PolledSocket::open(address(GN_SGSN, gannet_wire::gtp::PORT_USER)?, BATCH);
    let gn = gn.map_err(|error| format!("{GN_SGSN}: {error}"))?;
    let gb = UdpSocket::bind(address(GB_SGSN, GB_PORT)?).map_err(|error| format!("{GB_SGSN}: {error}"))?;
    let to = address(GB_LOAD, options.port)?;
    let pool = FramePool::new(4 * FRAMES);
    let mut frames: Vec<Frame> = Vec::with_capacity(FRAMES);
    let mut datagrams = Datagrams::default();
    let mut waiting = VecDeque::with_capacity(FRAMES);
    let mut templates: HashMap<usize, Template> = HashMap::new();
    gannet_rt::outln!("{READY}");
    let toil = Toil::of(options);
    while going() {
        for _ in 0..TURNS {
            while frames.len() < FRAMES
                && let Some(frame) = pool.alloc()
            {
                frames.push(frame);
            }
            // An error of an earlier datagram, or nothing there.
            let count = datagrams.receive(gn.socket(), &mut frames).unwrap_or(0);
            for mut frame in frames.drain(..count) {
                let Ok((header, _, range)) = GPdu::parse(&frame) else { continue };
                if !frame.narrow(range.start, range.end) {
                    continue;
                }
                let len = frame.len();
                let template = templates.entry(len).or_insert_with(|| Template::new(len, None));
                let user = user_of(header.teid.0);
                toil.spend(&frame);
                if template.put(&mut frame, tlli(user), bvci(user, options.cells)) {
                    waiting.push_back((to, frame));
                }
            }
            // What the socket refuses is tried again in the next turn.
            let _ = datagrams.send(&gb, &mut waiting);
        }
    }
    Ok(())
}
