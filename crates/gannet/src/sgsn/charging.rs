//! Charging records: from the node into a file and to the control interface, as osmo-sgsn writes and tells them.

use core::fmt::{self, Write as _};
use core::net::IpAddr;
use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_node::sgsn::charging::{ChargedEvent, ChargedRecord, ChargedSession};
use gannet_ops::cdr::Writer;
use gannet_ops::config::sgsn::Charging;
use gannet_ops::metrics::{Group, Metric};
use gannet_rt::log::{ExtendedTimestamp, LogSink};
use gannet_wire::l3::ie::PdpAddress;
use std::path::Path;

/// The variable of their TRAP.
const VARIABLE: &str = "cdr-v1";
/// TRAPs that wait for a turn of the control interface.
const TRAPS_MAX: usize = 4096;

/// How long the end of the node waits for the disk.
const PATIENCE: core::time::Duration = core::time::Duration::from_secs(2);

/// Where records go.
#[derive(Debug, Default)]
pub struct Records {
    file: Option<(String, Writer)>,
    /// Earlier files, whose last records are on their way.
    leaving: Vec<(String, Writer)>,
    traps: Option<Vec<(&'static str, String)>>,
    /// Records that no TRAP told, since too many came in one turn.
    untold: u64,
    /// TRAPs that somebody who is connected had no room for.
    unheard: u64,
    /// What earlier files have had and lost.
    former: (u64, u64),
    failing: bool,
    /// Records of the present file that were lost before it failed.
    lost_before: u64,
}

/// Between two records of a context, where there are any.
pub fn interval(config: &Charging) -> Option<Duration> {
    config.is_on().then(|| Duration::from_secs(config.interval_s.into()))
}

impl Records {
    /// Goes by what an operator has written; nothing changes where it cannot.
    ///
    /// # Errors
    /// A sentence: the file that cannot be opened.
    pub fn set(&mut self, config: &Charging, has_control: bool) -> Result<(), String> {
        let wanted = config.filename.as_deref();
        if self.file.as_ref().map(|(name, _)| name.as_str()) != wanted {
            let next = wanted.map(|name| opened(name, Writer::start)).transpose()?;
            if let Some((name, mut writer)) = core::mem::replace(&mut self.file, next) {
                writer.close();
                self.leaving.push((name, writer));
                self.lost_before = 0;
            }
        }
        // Where nobody can listen nothing is kept for anybody.
        let traps = self.traps.take().unwrap_or_default();
        self.traps = (config.trap && has_control).then_some(traps);
        Ok(())
    }

    /// The same at the start of the node, which does not wait for a file that cannot be opened: that is said, and it is tried again
    /// with each record.
    ///
    /// # Errors
    /// Where there is no thread to be had.
    pub fn begin(&mut self, config: &Charging, has_control: bool, log: &mut LogSink) -> Result<(), String> {
        let Err(error) = self.set(config, has_control) else { return Ok(()) };
        let next = config.filename.as_deref().map(|name| opened(name, Writer::start_failing));
        self.file = next.transpose()?;
        let text = format_args!("charging records are not written, and it is tried again: {error}");
        log.line(Category::Main, Level::Error, text);
        self.failing = true;
        self.set(config, has_control)
    }

    /// Looks whether earlier files have all that they get.
    fn settle(&mut self, log: &mut LogSink) {
        for (_, writer) in self.leaving.extract_if(.., |(_, writer)| writer.is_over()) {
            let status = writer.status();
            self.former.0 += status.written;
            self.former.1 += status.lost;
            if let Some(error) = status.error {
                let text = format_args!("{} charging records are lost: {error}", status.lost);
                log.line(Category::Main, Level::Error, text);
            }
        }
    }

    /// Takes a record.
    pub fn take(&mut self, record: &ChargedRecord, log: &mut LogSink) {
        self.settle(log);
        let line = Line(ExtendedTimestamp(log.unix_ns()), record).to_string();
        if let Some(traps) = &mut self.traps {
            if traps.len() < TRAPS_MAX {
                traps.push((VARIABLE, line.clone()));
            } else {
                self.untold += 1;
            }
        }
        let Some((name, writer)) = &mut self.file else { return };
        writer.write(line);
        let status = writer.status();
        match (status.error, self.failing) {
            (Some(error), false) => {
                let text = format_args!("charging records are not written, and it is tried again: {error}");
                log.line(Category::Main, Level::Error, text);
                self.failing = true;
            }
            (None, true) => {
                let lost = status.lost - core::mem::replace(&mut self.lost_before, status.lost);
                let text =
                    format_args!("{name}: charging records are written again, {lost} of them are missing");
                log.line(Category::Main, Level::Notice, text);
                self.failing = false;
            }
            (Some(_), true) | (None, false) => {}
        }
    }

    /// What the control interface is to tell.
    pub fn traps(&mut self) -> Vec<(&'static str, String)> {
        self.traps.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// Is there something?
    pub fn has_traps(&self) -> bool {
        self.traps.as_ref().is_some_and(|traps| !traps.is_empty())
    }

    /// How many of the TRAPs were not heard so far.
    pub const fn traps_unheard(&mut self, total: u64) {
        self.unheard = total;
    }

    /// All records are in their file, or cannot be written.
    pub fn is_done(&self) -> bool {
        self.file.iter().chain(&self.leaving).all(|(_, writer)| {
            let status = writer.status();
            status.waiting == 0 || status.error.is_some()
        })
    }

    /// Says at the end what did not come into its file.
    pub fn farewell(&self, log: &mut LogSink) {
        for (name, writer) in self.file.iter().chain(&self.leaving) {
            let status = writer.status();
            let missing = status.lost + status.waiting;
            if missing > 0 {
                let why = status.error.unwrap_or_else(|| format!("{name} was too slow"));
                let text = format_args!("{missing} charging records are missing: {why}");
                log.line(Category::Main, Level::Error, text);
            }
        }
    }

    /// What is counted of them.
    pub fn add_to(&self, group: &mut Group) {
        let (mut written, mut lost) = self.former;
        let mut waiting = 0;
        for (_, writer) in self.file.iter().chain(&self.leaving) {
            let status = writer.status();
            written += status.written;
            lost += status.lost;
            waiting += status.waiting;
        }
        for (name, help, value) in [
            ("cdr_written", "charging records in their file", written),
            ("cdr_lost", "charging records that found no room to wait for the disk", lost),
            ("cdr_untold", "charging records that no TRAP told, since too many came at once", self.untold),
            (
                "cdr_unheard",
                "TRAPs that a connection did not hear, since too much waited for it",
                self.unheard,
            ),
        ] {
            group.add(Metric::counter(name, help, value));
        }
        group.add(Metric::gauge("cdr_waiting", "charging records on their way to the disk", waiting));
    }
}

/// A file with what writes it.
fn opened(name: &str, start: fn(&Path) -> std::io::Result<Writer>) -> Result<(String, Writer), String> {
    let writer = start(Path::new(name)).map_err(|error| format!("cdr filename: {error}"))?;
    Ok((name.to_owned(), writer))
}

impl Drop for Records {
    /// What waits is written, unless the disk takes too long.
    fn drop(&mut self) {
        let end = std::time::Instant::now() + PATIENCE;
        if let Some((_, writer)) = &mut self.file {
            writer.close();
        }
        for (_, writer) in self.file.iter().chain(&self.leaving) {
            // Nobody is left to whom it could be said.
            let _ = writer.wait(end.saturating_duration_since(std::time::Instant::now()));
        }
    }
}

const fn event_name(event: ChargedEvent) -> &'static str {
    match event {
        ChargedEvent::Attach => "attach",
        ChargedEvent::Update => "update",
        ChargedEvent::Detach => "detach",
        ChargedEvent::Free => "free",
        ChargedEvent::PdpActive => "pdp-act",
        ChargedEvent::PdpPeriodic => "pdp-periodic",
        ChargedEvent::PdpDeactivated => "pdp-deact",
        ChargedEvent::PdpTerminated => "pdp-terminate",
        ChargedEvent::PdpFree => "pdp-free",
    }
}

/// A record in the columns of [`gannet_ops::cdr::HEADER`].
struct Line<'a>(ExtendedTimestamp, &'a ChargedRecord);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(time, ChargedRecord { event, imsi, imei, msisdn, hlr, cell, lac, session }) = self;
        let imei = imei.map(|imei| imei.to_string()).unwrap_or_default();
        let (msisdn, hlr) = (msisdn.as_deref().unwrap_or_default(), hlr.as_deref().unwrap_or_default());
        write!(f, "{time},{imsi},{imei},{msisdn},{cell},{lac},{hlr},{}", event_name(*event))?;
        session.as_ref().map_or(Ok(()), |session| write_session(session, f))
    }
}

fn write_session(session: &ChargedSession, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let ChargedSession { duration, ggsn, sgsn, apn, address, uplink_octets, downlink_octets, charging_id } =
        session;
    write!(f, ",{},{ggsn},{sgsn},{apn}", duration.0 / 1_000_000_000)?;
    match address {
        PdpAddress::Ipv4(address) => write!(f, ",{}", IpAddr::V4(*address))?,
        PdpAddress::Ipv6(address) => write!(f, ",{}", IpAddr::V6(*address))?,
        PdpAddress::Ipv4v6(v4, v6) => write!(f, ",{v4} {v6}")?,
        PdpAddress::Ipv4Dynamic
        | PdpAddress::Ipv6Dynamic
        | PdpAddress::Ipv4v6Dynamic
        | PdpAddress::Ppp
        | PdpAddress::Empty
        | PdpAddress::Other { .. } => f.write_char(',')?,
    }
    write!(f, ",{uplink_octets},{downlink_octets},")?;
    charging_id.map_or(Ok(()), |id| write!(f, "{id}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;
    use gannet_ops::metrics::{Class, Level as MetricLevel};
    use gannet_wire::l3::ie::Apn;

    fn record(event: ChargedEvent, session: Option<ChargedSession>) -> ChargedRecord {
        ChargedRecord {
            event,
            imsi: "001010000000001".parse().unwrap(),
            imei: Some("350000000000010".parse().unwrap()),
            msisdn: Some("1001".to_owned()),
            hlr: None,
            cell: 1,
            lac: 1,
            session,
        }
    }

    fn session(apn: &str) -> ChargedSession {
        ChargedSession {
            duration: Duration::from_millis(9999),
            ggsn: Ipv4Addr::new(127, 0, 0, 2).into(),
            sgsn: Ipv4Addr::LOCALHOST.into(),
            apn: apn.parse().unwrap(),
            address: PdpAddress::Ipv4(Ipv4Addr::new(198, 51, 100, 2)),
            uplink_octets: 420,
            downlink_octets: 84,
            charging_id: Some(1),
        }
    }

    fn line(record: &ChargedRecord) -> String {
        Line(ExtendedTimestamp(1_795_549_942_890_000_000), record).to_string()
    }

    /// The lines are those that osmo-sgsn 1.9.0 has written, but for the octets to the mobile and the IMEI, of which it leaves
    /// the check digit out.
    #[test]
    fn records_look_as_those_of_osmo_sgsn() {
        let head = "20261124195222890,001010000000001,350000000000010,1001,1,1,,";
        assert_eq!(line(&record(ChargedEvent::Attach, None)), format!("{head}attach"));
        let of_context = record(ChargedEvent::PdpDeactivated, Some(session("internet")));
        let tail = "9,127.0.0.2,127.0.0.1,internet,198.51.100.2,420,84,1";
        assert_eq!(line(&of_context), format!("{head}pdp-deact,{tail}"));
        let columns = gannet_ops::cdr::HEADER.split(',').count();
        assert_eq!(line(&of_context).split(',').count(), columns);
        let nobody = ChargedRecord { imei: None, msisdn: None, ..record(ChargedEvent::Free, None) };
        assert_eq!(line(&nobody), "20261124195222890,001010000000001,,,1,1,,free");
    }

    /// The name is what a mobile has sent.
    #[test]
    fn what_is_not_known_is_empty_and_a_name_ends_no_column() {
        assert!(["a,b", "a\"b", "a\nb"].iter().all(|name| name.parse::<Apn>().is_err()));
        let mut session = session("a.b-c");
        session.address = PdpAddress::Ipv4Dynamic;
        session.charging_id = None;
        let line = line(&record(ChargedEvent::PdpActive, Some(session)));
        assert!(line.ends_with(",a.b-c,,420,84,"), "{line}");
    }

    #[test]
    fn a_file_that_cannot_be_written_gives_way_and_its_records_are_counted_as_lost() {
        let directory = gannet_testkit::TempDir::new("gannet-records-give-way");
        let place = directory.path().join("there");
        std::fs::create_dir(&place).unwrap();
        let at = |path: std::path::PathBuf| Charging {
            filename: Some(path.to_str().unwrap().to_owned()),
            ..Charging::default()
        };
        let (mut log, mut records) = (LogSink::new(gannet_rt::Clock::start()), Records::default());
        let attach = record(ChargedEvent::Attach, None);
        records.set(&at(place.join("a.csv")), false).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        (0..3000).for_each(|_| records.take(&attach, &mut log));
        records.set(&at(directory.path().join("b.csv")), false).unwrap();
        records.take(&attach, &mut log);
        for (_, writer) in &records.leaving {
            assert!(writer.wait(core::time::Duration::from_secs(60)));
        }
        records.settle(&mut log);
        assert!(records.leaving.is_empty());
        assert_eq!(records.former, (0, 3000));
        drop(records);
        assert_eq!(std::fs::read_to_string(directory.path().join("b.csv")).unwrap().lines().count(), 2);
    }

    /// As `show counters` has it, without the gauge.
    fn counted(records: &Records) -> Vec<String> {
        const CLASS: Class =
            Class { name: "", osmocom: "", title: "", level: MetricLevel::Global, lines: Some("") };
        let mut group = Group::single(&CLASS);
        records.add_to(&mut group);
        let mut text = String::new();
        gannet_ops::metrics::text::counters(&[group], &mut text);
        text.lines().filter(|line| !line.starts_with("cdr_waiting")).map(str::to_owned).collect()
    }

    #[test]
    fn traps_wait_within_bounds_and_only_where_somebody_can_listen() {
        let mut log = LogSink::new(gannet_rt::Clock::start());
        let mut records = Records::default();
        let attach = record(ChargedEvent::Attach, None);
        let config = Charging { trap: true, ..Charging::default() };
        records.set(&config, false).unwrap();
        records.take(&attach, &mut log);
        assert!(!records.has_traps());
        records.set(&config, true).unwrap();
        (0..TRAPS_MAX + 2).for_each(|_| records.take(&attach, &mut log));
        assert_eq!((records.has_traps(), records.traps().len(), records.untold), (true, TRAPS_MAX, 2));
        assert!(!records.has_traps() && records.is_done());
        records.traps_unheard(3);
        assert_eq!(counted(&records), ["cdr_written 0", "cdr_lost 0", "cdr_untold 2", "cdr_unheard 3"]);
        let nowhere = Charging { filename: Some("/no/where.csv".to_owned()), ..config };
        assert!(records.set(&nowhere, true).unwrap_err().contains("/no/where.csv"));
    }

    /// Of its file it is said that it is not written, that it is again, and how many records are missing.
    #[test]
    fn a_file_that_is_written_again_is_told_with_what_is_missing() {
        use std::cell::RefCell;
        use std::rc::Rc;
        #[derive(Clone, Default)]
        struct Kept(Rc<RefCell<Vec<u8>>>);
        impl std::io::Write for Kept {
            fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
                self.0.borrow_mut().write(octets)
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let directory = gannet_testkit::TempDir::new("gannet-cdr-told");
        let place = directory.path().join("there");
        std::fs::create_dir(&place).unwrap();
        let name = place.join("a.csv").display().to_string();
        let (mut log, mut records) = (LogSink::new(gannet_rt::Clock::start()), Records::default());
        let kept = Kept::default();
        log.add_writer(Box::new(kept.clone()), gannet_rt::log::TargetOptions::default());
        let said = || String::from_utf8(core::mem::take(&mut *kept.0.borrow_mut())).unwrap();
        records.set(&Charging { filename: Some(name.clone()), ..Charging::default() }, false).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        let attach = record(ChargedEvent::Attach, None);
        while records.file.as_ref().unwrap().1.status().lost == 0 || !records.failing {
            records.take(&attach, &mut log);
        }
        let told = said();
        let line = format!(
            "main ERROR charging records are not written, and it is tried again: {name}: No such file"
        );
        assert!(told.starts_with(&line) && told.lines().count() == 1, "{told}");
        let missing = records.file.as_ref().unwrap().1.status().lost;
        std::fs::create_dir(&place).unwrap();
        let settle = |records: &Records| {
            while records.file.as_ref().unwrap().1.status().waiting > 0 {
                std::thread::sleep(core::time::Duration::from_millis(5));
            }
        };
        settle(&records);
        records.take(&attach, &mut log);
        settle(&records);
        let line = format!(
            "main NOTICE {name}: charging records are written again, {missing} of them are missing\n"
        );
        assert_eq!(said(), line);
        records.farewell(&mut log);
        assert!(said().contains(&format!("{missing} charging records are missing")));
    }

    #[test]
    fn a_node_starts_without_its_file_and_writes_it_later() {
        let directory = gannet_testkit::TempDir::new("gannet-cdr-begin");
        let place = directory.path().join("there");
        let name = place.join("a.csv").display().to_string();
        let mut log = LogSink::new(gannet_rt::Clock::start());
        let mut records = Records::default();
        let config = Charging { filename: Some(name.clone()), ..Charging::default() };
        records.begin(&config, false, &mut log).unwrap();
        assert!(records.failing, "it is said once");
        records.take(&record(ChargedEvent::Attach, None), &mut log);
        std::fs::create_dir(&place).unwrap();
        drop(records);
        assert_eq!(std::fs::read_to_string(name).unwrap().lines().count(), 2);
    }
}
