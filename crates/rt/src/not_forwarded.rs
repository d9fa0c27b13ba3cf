//! Keeps the kernel from forwarding what a router of ours forwards: a table of nf_tables that belongs to this process' socket and
//! goes with it, however the process ends (`NFT_TABLE_F_OWNER`).
//!
//! The packets are dropped where the kernel would forward them. Before that it has answered what a router has to answer: hop limits
//! that are used up, packets that are too long, and destinations without a route.

use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read as _, Write as _};
use std::time::Duration;

/// The promise; it ends when this is dropped.
#[derive(Debug)]
pub struct NotForwarded {
    _socket: Socket,
}

const NFNL_SUBSYS_NFTABLES: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEWTABLE: u16 = NFNL_SUBSYS_NFTABLES << 8;
const NEWCHAIN: u16 = NFNL_SUBSYS_NFTABLES << 8 | 3;
const NEWRULE: u16 = NFNL_SUBSYS_NFTABLES << 8 | 6;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;
const NLMSG_ERROR: u16 = 2;
const NFPROTO_INET: u8 = 1;
const NESTED: u16 = 0x8000;
const TABLE_F_OWNER: u32 = 2;
const HOOK_FORWARD: u32 = 2;
const ACCEPT: u32 = 1;
const DROP: u32 = 0;
const META_IIFNAME: u32 = 6;
const META_OIFNAME: u32 = 7;
const REGISTER_VERDICT: u32 = 0;
const REGISTER_1: u32 = 1;
/// Octets of an interface's name (`IFNAMSIZ`).
const NAME_LEN: usize = 16;

impl NotForwarded {
    /// From each of these devices to each of them, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or in a kernel without nf_tables or before Linux 5.12.
    pub fn between(devices: &[&str]) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::from(libc::AF_NETLINK),
            Type::RAW.cloexec(),
            Some(Protocol::from(libc::NETLINK_NETFILTER)),
        )?;
        socket.set_read_timeout(Some(Duration::from_secs(5)))?;
        let table = format!("gannet-edge-{}", std::process::id());
        let mut batch = Batch::default();
        batch.message(BATCH_BEGIN, 0, 0, |_| ());
        let flags = NLM_F_ACK | NLM_F_CREATE;
        batch.message(NEWTABLE, flags, NFPROTO_INET, |of| {
            of.text(1, &table);
            of.number(2, TABLE_F_OWNER);
        });
        batch.message(NEWCHAIN, flags, NFPROTO_INET, |of| {
            of.text(1, &table);
            of.text(3, "forward");
            of.nest(4, |of| {
                of.number(1, HOOK_FORWARD);
                of.number(2, 0);
            });
            of.number(5, ACCEPT);
            of.text(7, "filter");
        });
        let mut rules = 0;
        for from in devices {
            for to in devices {
                batch.message(NEWRULE, flags | NLM_F_APPEND, NFPROTO_INET, |of| {
                    of.text(1, &table);
                    of.text(2, "forward");
                    of.nest(4, |of| {
                        of.has_name(META_IIFNAME, from);
                        of.has_name(META_OIFNAME, to);
                        of.drop_it();
                    });
                });
                rules += 1;
            }
        }
        batch.message(BATCH_END, 0, 0, |_| ());
        (&socket).write_all(&batch.octets)?;
        acknowledged(&socket, 2 + rules)?;
        Ok(Self { _socket: socket })
    }
}

/// Waits until so many messages are acknowledged.
fn acknowledged(mut socket: &Socket, mut messages: usize) -> io::Result<()> {
    let mut octets = vec![0; 32 * 1024];
    while messages > 0 {
        let len = socket.read(&mut octets)?;
        let mut rest = octets.get(..len).unwrap_or_default();
        while let Some(head) = rest.first_chunk::<20>() {
            let [a, b, c, d, e, f, .., w, x, y, z] = *head;
            if u16::from_ne_bytes([e, f]) == NLMSG_ERROR {
                match i32::from_ne_bytes([w, x, y, z]) {
                    0 => messages = messages.saturating_sub(1),
                    code => return Err(io::Error::from_raw_os_error(-code)),
                }
            }
            let len = usize::try_from(u32::from_ne_bytes([a, b, c, d])).unwrap_or(usize::MAX).max(16);
            rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
    }
    Ok(())
}

/// Messages of nf_tables, one after the other.
#[derive(Debug, Default)]
struct Batch {
    octets: Vec<u8>,
    count: u32,
}

impl Batch {
    fn message(&mut self, kind: u16, flags: u16, family: u8, content: impl FnOnce(&mut Self)) {
        let start = self.octets.len();
        self.count += 1;
        self.octets.extend([0; 4]);
        self.octets.extend(kind.to_ne_bytes());
        self.octets.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        self.octets.extend(self.count.to_ne_bytes());
        self.octets.extend([0; 4]);
        // `nfgenmsg`: the family, version 0, and for the ends of a batch the subsystem.
        let resource = if flags == 0 { NFNL_SUBSYS_NFTABLES } else { 0 };
        self.octets.extend([family, 0]);
        self.octets.extend(resource.to_be_bytes());
        content(self);
        let len = u32::try_from(self.octets.len() - start).unwrap_or(0);
        if let Some(field) = self.octets.get_mut(start..start + 4) {
            field.copy_from_slice(&len.to_ne_bytes());
        }
    }

    fn nest(&mut self, kind: u16, content: impl FnOnce(&mut Self)) {
        self.attribute(kind | NESTED, content);
    }

    fn attribute(&mut self, kind: u16, content: impl FnOnce(&mut Self)) {
        let start = self.octets.len();
        self.octets.extend([0; 2]);
        self.octets.extend(kind.to_ne_bytes());
        content(self);
        let len = u16::try_from(self.octets.len() - start).unwrap_or(0);
        if let Some(field) = self.octets.get_mut(start..start + 2) {
            field.copy_from_slice(&len.to_ne_bytes());
        }
        self.octets.resize(self.octets.len().next_multiple_of(4), 0);
    }

    fn text(&mut self, kind: u16, text: &str) {
        self.attribute(kind, |of| {
            of.octets.extend(text.as_bytes());
            of.octets.push(0);
        });
    }

    fn number(&mut self, kind: u16, number: u32) {
        self.attribute(kind, |of| of.octets.extend(number.to_be_bytes()));
    }

    fn expression(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.nest(1, |of| {
            of.text(1, name);
            of.nest(2, content);
        });
    }

    /// The rule holds where the device of this key has this name.
    fn has_name(&mut self, key: u32, name: &str) {
        self.expression("meta", |of| {
            of.number(1, REGISTER_1);
            of.number(2, key);
        });
        let mut octets = [0; NAME_LEN];
        for (to, from) in octets.iter_mut().zip(name.bytes()) {
            *to = from;
        }
        self.expression("cmp", |of| {
            of.number(1, REGISTER_1);
            of.number(2, 0);
            of.nest(3, |of| of.attribute(1, |of| of.octets.extend(octets)));
        });
    }

    fn drop_it(&mut self) {
        self.expression("immediate", |of| {
            of.number(1, REGISTER_VERDICT);
            of.nest(2, |of| of.nest(2, |of| of.number(1, DROP)));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_what_is_inside_and_all_is_aligned() {
        let mut batch = Batch::default();
        batch.message(NEWRULE, NLM_F_ACK, NFPROTO_INET, |of| {
            of.nest(4, |of| of.has_name(META_IIFNAME, "eth0"))
        });
        assert_eq!(batch.octets.len() % 4, 0);
        let len = u32::from_ne_bytes(*batch.octets.first_chunk().unwrap());
        assert_eq!(len as usize, batch.octets.len());
        let nest = u16::from_ne_bytes([batch.octets[20], batch.octets[21]]);
        assert_eq!(usize::from(nest), batch.octets.len() - 20);
        assert!(batch.octets.windows(5).any(|part| part == b"eth0\0"));
    }
}
