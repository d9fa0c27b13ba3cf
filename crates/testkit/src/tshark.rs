//! What Wireshark's dissectors say about our octets, field by field.

use crate::TempDir;
use std::io::Write;

/// Frames to be dissected, as a classic pcap file of raw IPv4 (LINKTYPE_RAW), or of Ethernet (LINKTYPE_ETHERNET).
#[derive(Debug, Default)]
pub struct Capture {
    file: Vec<u8>,
    frames: usize,
}

/// The names of the fields asked for, in order; a row has the values of one frame in the same order.
pub type Rows = Vec<Vec<String>>;

impl Capture {
    /// An empty capture.
    #[must_use]
    pub fn new() -> Self {
        Self::of(101)
    }

    /// An empty capture of Ethernet frames, which [`Capture::add_packet`] adds.
    #[must_use]
    pub fn ethernet() -> Self {
        Self::of(1)
    }

    fn of(link_type: u32) -> Self {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, link_type] {
            // Version 2.4 is two 16-bit numbers, major first.
            let octets = if word == 0x0002_0004 { [2, 0, 4, 0] } else { word.to_le_bytes() };
            file.extend_from_slice(&octets);
        }
        Self { file, frames: 0 }
    }

    /// Adds one UDP datagram from 192.0.2.1 to 192.0.2.2.
    #[must_use]
    pub fn udp(mut self, source: u16, destination: u16, payload: &[u8]) -> Self {
        self.add_udp(source, destination, payload);
        self
    }

    /// The same, for loops.
    pub fn add_udp(&mut self, source: u16, destination: u16, payload: &[u8]) {
        let octets = |value: usize| u16::try_from(value).unwrap_or(u16::MAX).to_be_bytes();
        let mut ip = vec![0x45, 0];
        ip.extend(octets(28 + payload.len()));
        ip.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
        let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        let sum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap_or(0);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        ip.extend(source.to_be_bytes());
        ip.extend(destination.to_be_bytes());
        ip.extend(octets(8 + payload.len()));
        ip.extend([0, 0]);
        ip.extend(payload);
        self.add_packet(&ip);
    }

    /// Adds a whole IP packet, of either version, or a whole frame of Ethernet.
    pub fn add_packet(&mut self, ip: &[u8]) {
        let length = u32::try_from(ip.len()).unwrap_or(0).to_le_bytes();
        let seconds = u32::try_from(self.frames).unwrap_or(0).to_le_bytes();
        for part in [&seconds[..], &[0; 4], &length, &length, ip] {
            self.file.extend_from_slice(part);
        }
        self.frames += 1;
    }

    /// For each frame the values of `fields` as tshark prints them; several occurrences are joined by commas.
    ///
    /// # Panics
    /// Where tshark fails (its message is in the panic) or does not give one row a frame.
    #[must_use]
    pub fn dissect(&self, options: &[&str], fields: &[&str]) -> Rows {
        let (_directory, path) = self.write();
        let rows = dissect_file(&path, options, fields);
        assert_eq!(rows.len(), self.frames, "one row a frame");
        rows
    }

    /// The whole dissection as a person reads it (`tshark -V`), for what has no field of its own.
    ///
    /// # Panics
    /// Where tshark fails.
    #[must_use]
    pub fn details(&self, options: &[&str]) -> String {
        let (_directory, path) = self.write();
        let mut arguments = vec!["-n", "-V", "-r", &path];
        arguments.extend(options);
        crate::run("tshark", &arguments)
    }

    fn write(&self) -> (TempDir, String) {
        let directory = TempDir::new("gannet-tshark");
        let path = directory.path().join("frames.pcap");
        let mut file = std::fs::File::create(&path).unwrap_or_else(|error| panic!("{error}"));
        file.write_all(&self.file).unwrap_or_else(|error| panic!("{error}"));
        (directory, path.to_string_lossy().into_owned())
    }

    /// `frame.protocols` of each frame.
    #[must_use]
    pub fn protocols(&self, options: &[&str]) -> Vec<String> {
        self.dissect(options, &["frame.protocols"]).into_iter().map(|row| row.concat()).collect()
    }
}

/// The same for a capture file that exists already.
#[must_use]
pub fn dissect_file(path: &str, options: &[&str], fields: &[&str]) -> Rows {
    let mut arguments = vec!["-n", "-r", path, "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"];
    arguments.extend(options);
    for field in fields {
        arguments.extend(["-e", field]);
    }
    let printed = crate::run("tshark", &arguments);
    printed.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}
