//! Records into tables.

use super::schema::{self, TABLES, Table};
use crate::findings::{Analysis, Finding, Names, Report};
use crate::layers::octets_of;
use crate::radio::report::{End, Tbf};
use crate::reading::Reading;
use crate::record::{BlockContents, Direction, Proof, RadioBlock, Record, Seen, Stamp, TcpSegment};
use crate::view::{kind, mobile, words};
use rusqlite::types::Value;
use rusqlite::{Connection, Statement, params_from_iter};

/// A row that is about to be written.
#[derive(Debug, Default)]
struct Row(Vec<Value>);

impl Row {
    fn whole(mut self, value: impl Into<Option<u64>>) -> Self {
        self.0.push(value.into().map_or(Value::Null, |value| Value::Integer(value.cast_signed())));
        self
    }

    fn real(mut self, value: f64) -> Self {
        self.0.push(Value::Real(value));
        self
    }

    fn text(mut self, value: Option<impl Into<String>>) -> Self {
        self.0.push(value.map_or(Value::Null, |value| Value::Text(value.into())));
        self
    }

    fn proof(self, proof: Proof) -> Self {
        self.whole(u64::from(proof.file) + 1).whole(proof.frame)
    }
}

/// Writes rows of all tables.
struct Writer<'a> {
    connection: &'a Connection,
    /// What adds a row to each table.
    inserts: Vec<(&'static str, Statement<'a>)>,
    start: Option<Stamp>,
    records: u64,
    /// The highest number of a mobile that was written.
    mobiles: Option<u32>,
    /// Direction and mobile of the last packet, for the segment in it.
    packet: (Proof, Option<Direction>, Option<u32>),
}

/// Reads to the end.
pub(super) fn fill(connection: &Connection, reading: &mut Reading) -> rusqlite::Result<Report> {
    connection.execute_batch("BEGIN")?;
    let insert = |table: &Table| Ok((table.name, connection.prepare(&schema::insert(table))?));
    let mut writer = Writer {
        connection,
        inserts: TABLES.iter().map(insert).collect::<rusqlite::Result<_>>()?,
        start: None,
        records: 0,
        mobiles: None,
        packet: (Proof { file: 0, frame: 0 }, None, None),
    };
    let mut analysis = Analysis::default();
    for seen in reading.by_ref() {
        writer.record(&seen)?;
        analysis.take(&seen);
    }
    let report = analysis.finish(&Names::of(reading));
    writer.names(reading)?;
    report.radio.tbfs.iter().try_for_each(|tbf| writer.tbf(tbf))?;
    for (number, finding) in (1..).zip(&report.findings) {
        writer.finding(number, finding)?;
    }
    drop(writer);
    connection.execute_batch(
        "CREATE INDEX records_proof ON records (file, frame); CREATE INDEX segments_record ON segments (record); \
         CREATE INDEX blocks_record ON blocks (record); COMMIT",
    )?;
    Ok(report)
}

const fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
    }
}

fn hexadecimal(tlli: u32) -> String {
    format!("{tlli:08x}")
}

impl Writer<'_> {
    fn put(&mut self, table: &str, row: &Row) -> rusqlite::Result<()> {
        let insert = self.inserts.iter_mut().find(|(name, _)| *name == table);
        let (_, insert) = insert.ok_or(rusqlite::Error::InvalidQuery)?;
        insert.execute(params_from_iter(&row.0)).map(drop)
    }

    fn at(&self, row: Row, seen: &Seen<Record>) -> Row {
        let seconds = seen.at.seconds_since(self.start.unwrap_or(seen.at));
        row.whole(seen.at.0).real(seconds).proof(seen.proof).whole(u64::from(seen.place))
    }

    fn record(&mut self, seen: &Seen<Record>) -> rusqlite::Result<()> {
        self.start.get_or_insert(seen.at);
        self.records += 1;
        let (mut direction, mut whose) = (direction(&seen.what), seen.what.mobile());
        let (mut began, mut first) = (None, None);
        match &seen.what {
            Record::Packet(packet) => {
                self.packet = (seen.proof, packet.direction, packet.mobile);
                (began, first) = (Some(packet.began.0), Some(packet.first.frame));
            }
            Record::Llc(ll_pdu) => (began, first) = (Some(ll_pdu.began.0), Some(ll_pdu.first.frame)),
            Record::Tcp(_) if self.packet.0 == seen.proof => {
                (direction, whose) = (self.packet.1, self.packet.2)
            }
            _ => {}
        }
        self.mobiles = self.mobiles.max(whose);
        let (octets, payload) = octets_of(&seen.what).unzip();
        let row = self
            .at(Row::default().whole(self.records), seen)
            .text(Some(seen.what.layer()))
            .whole(whose.map(u64::from))
            .text(direction.map(way))
            .whole(octets)
            .whole(payload.flatten())
            .whole(began)
            .whole(first)
            .text(Some(words(&seen.what)));
        self.put("records", &row)?;
        match &seen.what {
            Record::Tcp(segment) => self.segment(seen, segment, (direction, whose)),
            Record::Radio(block) => self.block(seen, block),
            _ => Ok(()),
        }
    }

    fn segment(
        &mut self,
        seen: &Seen<Record>,
        segment: &TcpSegment,
        (direction, whose): (Option<Direction>, Option<u32>),
    ) -> rusqlite::Result<()> {
        let (tsval, tsecr) = segment.timestamps.unzip();
        let row = self
            .at(Row::default().whole(self.records), seen)
            .whole(whose.map(u64::from))
            .text(direction.map(way))
            .whole(u64::from(segment.connection))
            .whole(u64::from(segment.is_forward))
            .whole(u64::from(segment.sequence))
            .whole(u64::from(segment.acknowledgement))
            .whole(u64::from(segment.length))
            .whole(u64::from(segment.flags))
            .whole(u64::from(segment.window))
            .whole(segment.sack.len() as u64)
            .whole(tsval.map(u64::from))
            .whole(tsecr.map(u64::from))
            .whole(u64::from(segment.identification))
            .whole(u64::from(segment.ip_octets));
        self.put("segments", &row)
    }

    fn block(&mut self, seen: &Seen<Record>, block: &RadioBlock) -> rusqlite::Result<()> {
        let row = self
            .at(Row::default().whole(self.records), seen)
            .whole(u64::from(block.arfcn))
            .whole(u64::from(block.timeslot))
            .whole(u64::from(block.frame_number))
            .text(Some(way(block.direction)));
        let none = None::<u64>;
        let rest = |row: Row, what: &str, (tfi, bsn): (Option<u8>, Option<u8>), tlli: Option<u32>| {
            row.text(Some(what))
                .whole(tfi.map(u64::from))
                .whole(bsn.map(u64::from))
                .whole(none)
                .whole(none)
                .whole(none)
                .whole(none)
                .text(tlli.map(hexadecimal))
        };
        let row = match &block.contents {
            BlockContents::Data(data) => row
                .text(Some("data"))
                .whole(u64::from(data.tfi))
                .whole(u64::from(data.bsn))
                .text(data.scheme.map(|scheme| scheme.to_string()))
                .whole(u64::from(data.user_octets))
                .whole(u64::from(data.countdown))
                .whole(u64::from(data.polls_or_stalls))
                .text(data.tlli.map(hexadecimal)),
            BlockContents::AckNack(it) => rest(row, "report", (Some(it.tfi), Some(it.ssn)), None),
            BlockContents::Assignment(it) => rest(row, "assignment", (it.tfi, None), it.tlli),
            BlockContents::Control { name, tlli } => rest(row, name, (None, None), *tlli),
            BlockContents::Dummy => rest(row, "dummy", (None, None), None),
            BlockContents::Access => rest(row, "access", (None, None), None),
            BlockContents::Unreadable => rest(row, "unreadable", (None, None), None),
        };
        self.put("blocks", &row)
    }

    /// Places, connections and mobiles as they are known at the end. Two numbers that turned out to be one mobile become one.
    fn names(&mut self, reading: &Reading) -> rusqlite::Result<()> {
        for (number, place) in (0..).zip(reading.places()) {
            let row = Row::default()
                .whole(number)
                .whole(u64::from(place.file) + 1)
                .whole(place.interface as u64)
                .text(place.name.as_deref())
                .text(Some(kind(place.kind)));
            self.put("places", &row)?;
        }
        for (number, ends) in (0..).zip(reading.connections()) {
            let row = Row::default()
                .whole(number)
                .text(Some(ends.opener.to_string()))
                .text(Some(ends.other.to_string()));
            self.put("connections", &row)?;
        }
        for (number, known) in reading.mobiles().all() {
            let imsi = known.imsi.map(|imsi| imsi.to_string());
            let number = u64::from(number);
            self.put(
                "mobiles",
                &Row::default().whole(number).text(Some(mobile(known))).text(imsi.as_deref()),
            )?;
            let tllis = known.tllis.iter().map(|tlli| ("TLLI", hexadecimal(*tlli)));
            let addresses = known.addresses.iter().map(|address| ("address", address.to_string()));
            for (kind, name) in imsi.map(|imsi| ("IMSI", imsi)).into_iter().chain(tllis).chain(addresses) {
                self.put("mobile_names", &Row::default().whole(number).text(Some(kind)).text(Some(name)))?;
            }
        }
        self.connection.execute_batch("CREATE TEMP TABLE same (mobile INTEGER PRIMARY KEY, one INTEGER)")?;
        let mut same = self.connection.prepare("INSERT INTO same VALUES (?, ?)")?;
        for number in 0..self.mobiles.map_or(0, |last| last + 1) {
            let one = reading.mobiles().canonical(number);
            if one != number {
                same.execute((number, one))?;
            }
        }
        drop(same);
        for table in ["records", "segments"] {
            self.connection.execute_batch(&format!(
                "UPDATE {table} SET mobile = (SELECT one FROM same WHERE same.mobile = {table}.mobile) \
                 WHERE mobile IN (SELECT mobile FROM same)"
            ))?;
        }
        self.connection.execute_batch("DROP TABLE same")
    }

    fn tbf(&mut self, tbf: &Tbf) -> rusqlite::Result<()> {
        let at = |point: Option<(Stamp, Proof)>| point.map(|(at, _)| at.0);
        let (_, first) = tbf.asked.or(tbf.assigned).or(tbf.first_data).unwrap_or(tbf.last);
        let end = match tbf.end {
            End::Released => "released",
            End::Replaced => "replaced",
            End::Silent => "silent",
            End::Open => "open",
        };
        let row = Row::default()
            .whole(u64::from(tbf.place))
            .whole(u64::from(tbf.arfcn))
            .text(Some(way(tbf.direction)))
            .whole(u64::from(tbf.tfi))
            .text(tbf.tlli.map(hexadecimal))
            .whole(u64::from(tbf.timeslots))
            .whole(at(tbf.asked))
            .whole(at(tbf.assigned))
            .whole(at(tbf.first_data))
            .whole(at(tbf.last_new))
            .whole(tbf.last.0.0)
            .proof(first)
            .whole(tbf.last.1.frame)
            .text(Some(end))
            .whole(tbf.blocks)
            .whole(tbf.user_octets)
            .real(tbf.line_rate)
            .whole(tbf.again.needed)
            .whole(tbf.again.premature)
            .whole(tbf.again.repeated)
            .whole(tbf.again.acknowledged)
            .whole(tbf.late)
            .whole(tbf.reports)
            .whole(tbf.polls_or_stalls)
            .whole(tbf.stalls.len() as u64)
            .whole(tbf.stalled_ns())
            .whole(tbf.set_up_ns())
            .whole(tbf.round_trip_ns)
            .whole(tbf.dummies);
        self.put("tbfs", &row)
    }

    fn finding(&mut self, number: u64, finding: &Finding) -> rusqlite::Result<()> {
        let row = Row::default()
            .whole(number)
            .text(Some(finding.kind))
            .text(Some(finding.of.as_str()))
            .text(Some(finding.text.as_str()));
        self.put("findings", &row)?;
        for (name, value) in &finding.numbers {
            self.put("finding_numbers", &Row::default().whole(number).text(Some(*name)).real(*value))?;
        }
        for proof in &finding.proofs {
            self.put("finding_proofs", &Row::default().whole(number).proof(*proof))?;
        }
        Ok(())
    }
}

const fn direction(record: &Record) -> Option<Direction> {
    match record {
        Record::Radio(block) => Some(block.direction),
        Record::Bssgp(pdu) => match &pdu.what {
            crate::record::BssgpWhat::Unitdata { direction, .. } => Some(*direction),
            _ => None,
        },
        Record::Llc(ll_pdu) => Some(ll_pdu.direction),
        Record::Layer3(message) => Some(message.direction),
        Record::Segment(segment) => Some(segment.direction),
        Record::Packet(packet) => packet.direction,
        Record::Ns(_) | Record::Tcp(_) | Record::Gtp(_) | Record::Unreadable(_) => None,
    }
}
