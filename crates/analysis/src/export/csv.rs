//! Comma-separated values (RFC 4180), lines ending with a line feed. Times are seconds since 1970 with nine digits, files count from 1.

use crate::findings::Finding;
use crate::record::{BlockContents, Direction, RadioBlock, Seen, Stamp, TcpSegment};
use std::io::{self, Write};

/// The first line of a table of segments.
pub const SEGMENT_COLUMNS: &str = "time,file,frame,place,connection,forward,sequence,acknowledgement,length,flags,window,\
                                   sack_blocks,tsval,tsecr,ip_octets";
/// The first line of a table of blocks.
pub const BLOCK_COLUMNS: &str = "time,file,frame,place,arfcn,timeslot,frame_number,direction,what,tfi,bsn,scheme,user_octets,polls_or_stalls";
/// The first line of a table of findings.
pub const FINDING_COLUMNS: &str = "kind,of,number,value";

/// Writes a line for a segment.
///
/// # Errors
/// Those of the writer.
pub fn segments(to: &mut dyn Write, seen: &Seen<TcpSegment>) -> io::Result<()> {
    let segment = &seen.what;
    let (tsval, tsecr) = segment.timestamps.unzip();
    writeln!(
        to,
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
        time(seen.at),
        u32::from(seen.proof.file) + 1,
        seen.proof.frame,
        seen.place,
        segment.connection,
        u8::from(segment.is_forward),
        segment.sequence,
        segment.acknowledgement,
        segment.length,
        segment.flags,
        segment.window,
        segment.sack.len(),
        or_empty(tsval),
        or_empty(tsecr),
        segment.ip_octets
    )
}

/// Writes a line for a block.
///
/// # Errors
/// Those of the writer.
pub fn blocks(to: &mut dyn Write, seen: &Seen<RadioBlock>) -> io::Result<()> {
    let block = &seen.what;
    let direction = match block.direction {
        Direction::Up => "up",
        Direction::Down => "down",
    };
    let (mut tfi, mut bsn, mut rest) = (None, None, ",,".to_owned());
    let what = match &block.contents {
        BlockContents::Data(data) => {
            (tfi, bsn) = (Some(data.tfi), Some(data.bsn));
            rest =
                format!("{},{},{}", or_empty(data.scheme), data.user_octets, u8::from(data.polls_or_stalls));
            "data"
        }
        BlockContents::AckNack(report) => {
            (tfi, bsn) = (Some(report.tfi), Some(report.ssn));
            "report"
        }
        BlockContents::Assignment(assignment) => {
            tfi = assignment.tfi;
            "assignment"
        }
        BlockContents::Control { name, .. } => name,
        BlockContents::Dummy => "dummy",
        BlockContents::Access => "access",
        BlockContents::Unreadable => "unreadable",
    };
    writeln!(
        to,
        "{},{},{},{},{},{},{},{direction},{},{},{},{rest}",
        time(seen.at),
        u32::from(seen.proof.file) + 1,
        seen.proof.frame,
        seen.place,
        block.arfcn,
        block.timeslot,
        block.frame_number,
        quoted(what),
        or_empty(tfi),
        or_empty(bsn)
    )
}

/// Writes a line for each number of a finding.
///
/// # Errors
/// Those of the writer.
pub fn findings(to: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    for (name, value) in &finding.numbers {
        writeln!(to, "{},{},{name},{value}", finding.kind, quoted(&finding.of))?;
    }
    Ok(())
}

fn time(at: Stamp) -> String {
    format!("{}.{:09}", at.0 / 1_000_000_000, at.0 % 1_000_000_000)
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// In quotation marks where it has a comma, one of them, or an end of a line.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
