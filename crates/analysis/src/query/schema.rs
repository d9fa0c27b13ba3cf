//! The tables and their columns, with what each says.

use std::fmt::Write as _;

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// What a row of it is.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
}

/// Name, type and meaning of a column.
pub type Column = (&'static str, &'static str, &'static str);

const AT: Column =
    ("at_ns", "INTEGER", "nanoseconds since the beginning of 1970, UTC, on the corrected clock");
const SECONDS: Column = ("t", "REAL", "seconds since the first record");
const FILE: Column = ("file", "INTEGER", "number of the file, from 1");
const FRAME: Column =
    ("frame", "INTEGER", "number of the frame in it, from 1, as Wireshark counts: the proof");
const PLACE: Column = ("place", "INTEGER", "where: places.place");
const RECORD: Column = ("record", "INTEGER", "records.record");
const CONNECTION: Column = ("connection", "INTEGER", "connections.connection");
const MOBILE: Column = ("mobile", "INTEGER", "whose: mobiles.mobile; NULL where it is unknown");
const DIRECTION: Column = ("direction", "TEXT", "up, down, or NULL where it is unknown");
const ARFCN: Column = ("arfcn", "INTEGER", "the cell's channel number");
const TFI: Column = ("tfi", "INTEGER", "temporary flow identity");
const TLLI: Column = ("tlli", "TEXT", "TLLI of the mobile, eight hexadecimal digits");

const PLACES: Table = Table {
    name: "places",
    about: "An interface of a file on which one kind of traffic was seen",
    columns: &[
        ("place", "INTEGER", "number, from 0"),
        FILE,
        ("interface", "INTEGER", "interface within the file, from 0"),
        ("name", "TEXT", "name of the interface, where the file says it"),
        ("kind", "TEXT", "Um, Gb, Gn or IP"),
    ],
};

const MOBILES: Table = Table {
    name: "mobiles",
    about: "A mobile",
    columns: &[
        ("mobile", "INTEGER", "number"),
        ("name", "TEXT", "its best name: IMSI, else TLLI, else address"),
        ("imsi", "TEXT", "IMSI"),
    ],
};

const MOBILE_NAMES: Table = Table {
    name: "mobile_names",
    about: "A name of a mobile; each has any number of them",
    columns: &[
        ("mobile", "INTEGER", "mobiles.mobile"),
        ("kind", "TEXT", "IMSI, TLLI or address"),
        ("name", "TEXT", "the name; a TLLI has eight hexadecimal digits"),
    ],
};

const CONNECTIONS: Table = Table {
    name: "connections",
    about: "A connection of TCP",
    columns: &[
        ("connection", "INTEGER", "number, from 0"),
        ("opener", "TEXT", "address and port of the end that opened it"),
        ("other", "TEXT", "address and port of the other end"),
    ],
};

const RECORDS: Table = Table {
    name: "records",
    about: "A unit of one layer at one place; a frame has a record for each layer in it",
    columns: &[
        ("record", "INTEGER", "number, in the order of time"),
        AT,
        SECONDS,
        FILE,
        FRAME,
        PLACE,
        ("layer", "TEXT", "RLC/MAC, NS, BSSGP, LLC, GMM/SM, SNDCP, IP, TCP, GTP"),
        MOBILE,
        DIRECTION,
        (
            "octets",
            "INTEGER",
            "octets of the unit with its header; of an RLC block its LL-PDUs' octets; NULL where it has none",
        ),
        ("payload", "INTEGER", "octets without the header; NULL where that is unknown"),
        ("began_ns", "INTEGER", "time of its first part, where it was put together from several"),
        ("first_frame", "INTEGER", "frame of that, in the same file"),
        ("what", "TEXT", "in words, as `gannet trace timeline` has it"),
    ],
};

const SEGMENTS: Table = Table {
    name: "segments",
    about: "A segment of TCP, wherever it was seen",
    columns: &[
        RECORD,
        AT,
        SECONDS,
        FILE,
        FRAME,
        PLACE,
        MOBILE,
        DIRECTION,
        CONNECTION,
        ("forward", "INTEGER", "1 from the opener to the other end, else 0"),
        ("sequence", "INTEGER", "first sequence number, as on the wire"),
        ("acknowledgement", "INTEGER", "acknowledgement number, as on the wire"),
        ("length", "INTEGER", "octets of the stream"),
        ("flags", "INTEGER", "CWR ECE URG ACK PSH RST SYN FIN, from bit 7 to bit 0"),
        ("window", "INTEGER", "window as written, without its scale"),
        ("sack_blocks", "INTEGER", "number of blocks of selective acknowledgement"),
        ("tsval", "INTEGER", "timestamp value"),
        ("tsecr", "INTEGER", "timestamp echo"),
        ("identification", "INTEGER", "identification of the IPv4 header"),
        ("ip_octets", "INTEGER", "octets of the IP packet"),
    ],
};

const BLOCKS: Table = Table {
    name: "blocks",
    about: "A block of RLC/MAC or an access burst",
    columns: &[
        RECORD,
        AT,
        SECONDS,
        FILE,
        FRAME,
        PLACE,
        ARFCN,
        ("timeslot", "INTEGER", "0 to 7"),
        ("frame_number", "INTEGER", "TDMA frame number of its first burst"),
        DIRECTION,
        (
            "what",
            "TEXT",
            "data, report, assignment, dummy, access, unreadable, or the name of a control message",
        ),
        TFI,
        ("bsn", "INTEGER", "block sequence number of data; starting sequence number of a report"),
        ("scheme", "TEXT", "coding scheme of data, CS-1 to CS-4"),
        ("user_octets", "INTEGER", "octets of LL-PDUs in data"),
        (
            "countdown",
            "INTEGER",
            "data, uplink: countdown value; downlink: 0 where it is the final block, else 15",
        ),
        (
            "polls_or_stalls",
            "INTEGER",
            "data, downlink: it asks for a report; uplink: the mobile's window is full",
        ),
        TLLI,
    ],
};

const TBFS: Table = Table {
    name: "tbfs",
    about: "A temporary block flow",
    columns: &[
        PLACE,
        ARFCN,
        DIRECTION,
        TFI,
        TLLI,
        ("timeslots", "INTEGER", "bit n stands for timeslot n"),
        ("asked_ns", "INTEGER", "time of the access burst that may have asked for it"),
        ("assigned_ns", "INTEGER", "time of its assignment"),
        ("first_data_ns", "INTEGER", "time of its first data block"),
        ("last_new_ns", "INTEGER", "time of its last new data block"),
        ("last_ns", "INTEGER", "time of its last block or report"),
        FILE,
        ("first_frame", "INTEGER", "frame of its assignment, or of its first block"),
        ("last_frame", "INTEGER", "frame of its last block or report"),
        ("end", "TEXT", "released, replaced, silent, open"),
        ("blocks", "INTEGER", "new data blocks"),
        ("user_octets", "INTEGER", "octets of LL-PDUs in them"),
        ("line_bits_per_s", "REAL", "what its schemes and timeslots carry"),
        ("needed", "INTEGER", "blocks sent again because a report denied them"),
        ("premature", "INTEGER", "blocks sent again that no report had asked for"),
        ("repeated", "INTEGER", "blocks sent again before the copy before could be reported"),
        ("acknowledged", "INTEGER", "blocks sent again after they were acknowledged"),
        ("late", "INTEGER", "new blocks that came behind later ones"),
        ("reports", "INTEGER", "reports"),
        ("polls_or_stalls", "INTEGER", "downlink: polls; uplink: blocks that say that the window is full"),
        ("stalls", "INTEGER", "times when the window was full"),
        ("stalled_ns", "INTEGER", "how long, together"),
        ("set_up_ns", "INTEGER", "from the request or assignment to the first data block"),
        ("round_trip_ns", "INTEGER", "shortest time from a block to its report"),
        ("dummies", "INTEGER", "dummy blocks while it had nothing new"),
    ],
};

const FINDINGS: Table = Table {
    name: "findings",
    about: "What `gannet trace analyze` says",
    columns: &[
        ("finding", "INTEGER", "number, from 1"),
        ("kind", "TEXT", "kind, such as tcp-buffer"),
        ("of", "TEXT", "what it is about"),
        ("text", "TEXT", "in plain words"),
    ],
};

const FINDING_NUMBERS: Table = Table {
    name: "finding_numbers",
    about: "A number of a finding",
    columns: &[
        ("finding", "INTEGER", "findings.finding"),
        ("name", "TEXT", "name with its unit"),
        ("value", "REAL", "value"),
    ],
};

const FINDING_PROOFS: Table = Table {
    name: "finding_proofs",
    about: "A frame that proves a finding",
    columns: &[("finding", "INTEGER", "findings.finding"), FILE, FRAME],
};

/// All tables.
pub const TABLES: &[Table] = &[
    PLACES,
    MOBILES,
    MOBILE_NAMES,
    CONNECTIONS,
    RECORDS,
    SEGMENTS,
    BLOCKS,
    TBFS,
    FINDINGS,
    FINDING_NUMBERS,
    FINDING_PROOFS,
];

/// The tables for people.
#[must_use]
pub fn text() -> String {
    let mut text = String::new();
    for table in TABLES {
        let _ = writeln!(text, "{}: {}", table.name, table.about);
        for (name, kind, about) in table.columns {
            let _ = writeln!(text, "  {name:<16} {kind:<8} {about}");
        }
        text.push('\n');
    }
    text
}

/// The statement that makes a table, with its meaning as remarks.
pub(super) fn create(table: &Table) -> String {
    let last = table.columns.len().saturating_sub(1);
    let mut sql = format!("CREATE TABLE \"{}\" ( -- {}\n", table.name, table.about);
    for (number, (name, kind, about)) in table.columns.iter().enumerate() {
        let comma = if number < last { "," } else { "" };
        let _ = writeln!(sql, "  \"{name}\" {kind}{comma} -- {about}");
    }
    sql.push(')');
    sql
}

/// The statement that adds a row.
pub(super) fn insert(table: &Table) -> String {
    let places = vec!["?"; table.columns.len()].join(", ");
    format!("INSERT INTO \"{}\" VALUES ({places})", table.name)
}
