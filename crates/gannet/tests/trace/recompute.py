#!/usr/bin/env python3
"""Numbers of `gannet trace analyze` once more, from what tshark prints: recompute.py DIRECTORY prints them as JSON.

DIRECTORY has drop-sender.pcap, drop-receiver.pcap, spike-sender.pcap, real-phone-core.pcapng.gz and real-phone-um.pcapng.gz.
The sender of the first three is 10.9.0.1. Nothing here knows how Gannet counts.
"""
import json
import os
import subprocess
import sys

NS = ["-d", "udp.port==23000,gprs-ns"]
directory = sys.argv[1]


def tshark(name, fields, *options):
    """A row of each frame; of a field that a frame has twice the last value counts, which is that of the inner packet."""
    command = ["tshark", "-n", "-r", os.path.join(directory, name), "-T", "fields", "-E", "occurrence=l", *options]
    for field in fields:
        command += ["-e", field]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split("\t") for line in text.splitlines()]


def middle(values):
    """The value in the middle, of an even number the upper one."""
    return sorted(values)[len(values) // 2]


def ticks(text):
    """Seconds as an integer of nanoseconds: no digit is lost."""
    seconds, _, fraction = text.partition(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0"))


TCP = ["frame.time_epoch", "ip.src", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "ip.id", "tcp.flags.syn"]


def segments(name):
    """Time, whether the sender sent it, sequence number behind the SYN, acknowledgement, length, identification."""
    rows = [(ticks(at), src == "10.9.0.1", int(seq), int(ack), int(length), ident, syn)
            for at, src, seq, ack, length, ident, syn in tshark(name, TCP)]
    first = next(row[2] for row in rows if row[1])
    return [(at, own, seq - first if own else seq, ack - first, length, ident, syn)
            for at, own, seq, ack, length, ident, syn in rows]


def of_transport(name):
    numbers, rows = {}, segments(name)
    data = [(at, seq, length) for at, own, seq, _, length, _, _ in rows if own and length]
    acks = [(at, ack) for at, own, _, ack, _, _, _ in rows if not own]
    end = max(seq + length for _, seq, length in data)
    numbers["acknowledged octets"] = min(max(ack for _, ack in acks), end) - 1
    numbers["seconds"] = (data[-1][0] - data[0][0]) / 1e9
    seen, again = {}, []
    for at, seq, length in data:
        if seq in seen:
            again.append((at, seq))
        seen.setdefault(seq, []).append(at)
    numbers["sent again"] = len(again)
    numbers["data segments"] = len(data)
    # The round trip of the handshake is one too: the SYN takes a number.
    trips = [acks[0][0] - rows[0][0]]
    highest = 1
    for at, ack in acks[1:]:
        newly = [seq for _, seq, length in data if highest < seq + length <= ack and seen[seq][0] < at]
        once = [seq for seq in newly if len([t for t in seen[seq] if t < at]) == 1]
        if newly and len(once) == len(set(newly)):
            trips.append(at - seen[max(once)][0])
        highest = max(highest, ack)
    numbers["least round trip"] = min(trips) / 1e9
    return numbers, rows, data, acks, again, seen


def of_loss():
    numbers, rows, data, acks, again, seen = of_transport("drop-sender.pcap")
    # What was outstanding when the first lost segment was sent first.
    lost = seen[again[0][1]][0]
    sent = max(seq + length for at, seq, length in data if at < lost)
    numbers["outstanding at the first loss"] = sent - max(ack for at, ack in acks if at < lost)
    arrived = {(seq, ident) for _, own, seq, _, length, ident, _ in segments("drop-receiver.pcap") if own and length}
    numbers["lost on the way"] = sum((seq, ident) not in arrived for _, own, seq, _, length, ident, _ in rows if own and length)
    return numbers


def of_outage():
    _, _, _, acks, again, seen = of_transport("spike-sender.pcap")
    # The first of two copies was sent so long before the timer ran out.
    at, seq = again[0]
    waited = at - max(t for t in seen[seq] if t < at)
    heard = [t for t, _ in acks]
    longest = max(after - before for before, after in zip(heard, heard[1:]))
    return {"waited for a spurious timeout": waited / 1e9, "outage": longest / 1e9}


def of_core():
    name, numbers = "real-phone-core.pcapng.gz", {}
    inner = ["frame.time_epoch", "ip.src", "ip.dst", "ip.len", "icmp.type", "icmp.seq"]
    packets = tshark(name, inner, "-Y", "gtp.message == 0xff")
    phone = next(src for _, src, _, _, kind, _ in packets if kind == "8")
    asked = {seq: ticks(at) for at, _, _, _, kind, seq in packets if kind == "8"}
    trips = [ticks(at) - asked[seq] for at, _, _, _, kind, seq in packets if kind == "0"]
    numbers["pings"] = len(trips)
    numbers["median of pings"] = middle(trips) / 1e9
    down = [int(octets) for _, _, dst, octets, _, _ in packets if dst == phone]
    numbers["packets on Gn, downlink"], numbers["their octets"] = len(down), sum(down)
    rows = tshark(name, ["bssgp.pdu_type", "sndcp.f", "sndcp.m", "sndcp.npdu"], "-Y", "sndcp", *NS)
    yes = ("1", "True")
    down = [(first in yes, more in yes) for kind, first, more, _ in rows if int(kind, 0) == 0]
    numbers["SN-PDUs, downlink"] = len(down)
    numbers["N-PDUs, downlink"] = sum(first for first, _ in down)
    numbers["split N-PDUs, downlink"] = sum(first and more for first, more in down)
    return numbers


def of_radio():
    fields = ["gsmtap.uplink", "gsm_rlcmac.dl_payload_type", "gsm_rlcmac.dl.message_type"]
    rows = tshark("real-phone-um.pcapng.gz", fields)
    down = [(kind, message) for up, kind, message in rows if up == "0" and kind]
    dummy = sum(message in ("0x25", "37") for _, message in down)
    return {"dummy blocks, downlink": dummy, "data blocks, downlink": sum(kind == "0" for kind, _ in down)}


print(json.dumps({**of_loss(), **of_outage(), **of_core(), **of_radio()}, indent=1))
