//! How user data comes in and is served: ingress, queues, policing, and what is granted of a wish for quality.

use super::SgsnConfig;
use crate::Sgsn;
use crate::config::{ConfigText, busy_poll};
use crate::grammar::{Action, CommandError, Edit, Grammar, Node};

/// One of some words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$wdoc:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum $name { $($(#[$wdoc])* $word,)* }

        impl $name {
            /// As it is written.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$word => $text,)* }
            }

            fn of(edit: &Edit<'_, SgsnConfig>) -> Self {
                let text = edit.args.text(0);
                [$(Self::$word),*].into_iter().find(|word| word.word() == text).unwrap_or_default()
            }
        }
    };
}

words! {
    /// What receives user data.
    Ingress {
        /// The best of the others that the machine permits.
        #[default]
        Auto = "auto",
        /// One UDP socket, each N-PDU processed as it arrives.
        Fifo = "fifo",
        /// UDP sockets by class and precedence, and queues.
        Reuseport = "reuseport",
        /// XDP and AF_XDP, and queues.
        Xdp = "xdp",
    }
}
words! {
    /// How DL-UNITDATA leave.
    GbOutput {
        /// The best that the machine permits.
        #[default]
        Auto = "auto",
        /// Through a UDP socket.
        Udp = "udp",
        /// Through AF_XDP.
        Xdp = "xdp",
    }
}

/// How user data comes in and is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// What receives user data.
    pub ingress: Ingress,
    /// How DL-UNITDATA leave.
    pub gb_output: GbOutput,
    /// The core of the process.
    pub core: Option<u16>,
    /// Frames of 2048 octets in all; `None` as the tables need them.
    pub frames: Option<u32>,
    /// The kernel's buffer of the socket for G-PDUs, in KiB.
    pub socket_buffer_kib: u32,
    /// How much of its rate a context may have waiting, in ms.
    pub buffer_ms: u16,
    /// What exceeds a context's rate is dropped.
    pub policing: bool,
    /// What passes at once after a pause, in ms of the rate.
    pub policing_burst_ms: u16,
    /// What real time may take ahead of others of the node's processing, in percent; 100 is no limit.
    pub real_time_node_percent: u8,
    /// What real time may take ahead of others in a cell, in kbit/s.
    pub real_time_cell_kbit: Option<u32>,
    /// The best that is granted.
    pub ceilings: Ceilings,
    /// What may be guaranteed.
    pub admission: Admission,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            ingress: Ingress::default(),
            gb_output: GbOutput::default(),
            core: None,
            frames: None,
            socket_buffer_kib: 1024,
            buffer_ms: 1000,
            policing: true,
            policing_burst_ms: 1000,
            real_time_node_percent: 80,
            real_time_cell_kbit: None,
            ceilings: Ceilings::default(),
            admission: Admission::default(),
        }
    }
}

/// What is granted at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    /// Peak throughput class.
    pub peak: u8,
    /// Maximum bit rates for downlink and uplink of a profile of R99, in kbit/s.
    pub mbr_kbps: [Option<u32>; 2],
    /// Real time is granted.
    pub real_time: bool,
    /// Precedence class.
    pub precedence: u8,
    /// Reliability class; 2 is acknowledged mode of LLC.
    pub reliability: u8,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self { peak: 9, mbr_kbps: [None; 2], real_time: true, precedence: 1, reliability: 2 }
    }
}

/// What may be guaranteed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// Of a cell's leak rate, in percent.
    pub cell_percent: u8,
    /// In all cells together, in kbit/s.
    pub node_kbit: Option<u32>,
    /// What does not fit is rejected; else it gets a class of which nothing is guaranteed.
    pub rejects: bool,
}

impl Default for Admission {
    fn default() -> Self {
        Self { cell_percent: 80, node_kbit: None, rejects: false }
    }
}

const DIRECTIONS: [&str; 2] = ["downlink", "uplink"];

/// Writes what differs from the defaults.
pub(super) fn write(service: &Service, text: &mut ConfigText) {
    let default = Service::default();
    let mut word = |name: &str, differs: bool, value: &dyn core::fmt::Display| {
        if differs {
            text.line(format_args!("{name} {value}"));
        }
    };
    let Service { ingress, gb_output, .. } = service;
    word("ingress", *ingress != default.ingress, &ingress.word());
    word("gb-output", *gb_output != default.gb_output, &gb_output.word());
    let number = |value: Option<u32>| value.unwrap_or_default();
    word("core", service.core.is_some(), &service.core.unwrap_or_default());
    word("max-frames", service.frames.is_some(), &number(service.frames));
    let kib = service.socket_buffer_kib;
    word("socket-buffer", kib != default.socket_buffer_kib, &kib);
    word("buffer-ms", service.buffer_ms != default.buffer_ms, &service.buffer_ms);
    word("policing", service.policing != default.policing, &if service.policing { "on" } else { "off" });
    let burst = service.policing_burst_ms;
    word("policing burst-ms", burst != default.policing_burst_ms, &burst);
    let percent = service.real_time_node_percent;
    word("real-time node", percent != default.real_time_node_percent, &percent);
    word("real-time cell", service.real_time_cell_kbit.is_some(), &number(service.real_time_cell_kbit));
    let (own, usual) = (service.admission, default.admission);
    word("qos guaranteed cell", own.cell_percent != usual.cell_percent, &own.cell_percent);
    word("qos guaranteed node", own.node_kbit.is_some(), &number(own.node_kbit));
    word("qos guaranteed otherwise", own.rejects != usual.rejects, &"reject");
    let (own, default) = (service.ceilings, default.ceilings);
    word("qos max-peak", own.peak != default.peak, &own.peak);
    word("qos max-precedence", own.precedence != default.precedence, &own.precedence);
    word("qos max-reliability", own.reliability != default.reliability, &own.reliability);
    word("qos real-time", own.real_time != default.real_time, &"refused");
    for (direction, kbps) in DIRECTIONS.iter().zip(own.mbr_kbps) {
        word(&format!("qos max-mbr {direction}"), kbps.is_some(), &number(kbps));
    }
}

/// All commands.
pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    install_paths(grammar);
    install_queues(grammar);
    install_ceilings(grammar);
    install_admission(grammar);
}

fn add(
    grammar: &mut Grammar<Sgsn>,
    pattern: &'static str,
    help: &str,
    set: fn(&mut Edit<'_, SgsnConfig>) -> Result<(), CommandError>,
) {
    grammar.add(&[Node::Sgsn], pattern, help, Action::<Sgsn>::Set(set));
}

fn install_paths(grammar: &mut Grammar<Sgsn>) {
    let help = "What receives user data, on Gn and, with xdp, on Gb\nThe best that the machine permits\nOne UDP socket, first in, first out\n\
                UDP sockets by class and precedence\nXDP and AF_XDP";
    add(grammar, "ingress (auto|fifo|reuseport|xdp)", help, |edit| {
        edit.config.service.ingress = Ingress::of(edit);
        Ok(())
    });
    let help =
        "How PDUs leave on Gb\nThe best that the machine permits\nThrough a UDP socket\nThrough AF_XDP";
    add(grammar, "gb-output (auto|udp|xdp)", help, |edit| {
        edit.config.service.gb_output = GbOutput::of(edit);
        Ok(())
    });
    busy_poll::install(grammar, Node::Sgsn);
    add(grammar, "core <0-1023>", "The core on which the process runs\nIts number", |edit| {
        edit.config.service.core = Some(edit.args.value(0)?);
        Ok(())
    });
    add(grammar, "no core", "Take back\nThe core on which the process runs", |edit| {
        edit.config.service.core = None;
        Ok(())
    });
    let help = "Frames for everything that waits, 2048 octets each\nHow many";
    add(grammar, "max-frames <4096-4194304>", help, |edit| {
        edit.config.service.frames = Some(edit.args.value(0)?);
        Ok(())
    });
    let help =
        "What waits in the kernel at the socket for G-PDUs: with ingress fifo all of the input's buffer\nKiB";
    add(grammar, "socket-buffer <64-1048576>", help, |edit| {
        edit.config.service.socket_buffer_kib = edit.args.value(0)?;
        Ok(())
    });
    add(grammar, "no max-frames", "Take back\nFrames: as the tables need them", |edit| {
        edit.config.service.frames = None;
        Ok(())
    });
}

fn install_queues(grammar: &mut Grammar<Sgsn>) {
    let help = "How much of its rate may wait for a PDP context\nMilliseconds";
    add(grammar, "buffer-ms <1-60000>", help, |edit| {
        edit.config.service.buffer_ms = edit.args.value(0)?;
        Ok(())
    });
    let help = "Dropping what exceeds a context's peak throughput\nDo it\nLet it pass";
    add(grammar, "policing (on|off)", help, |edit| {
        edit.config.service.policing = edit.args.text(0) == "on";
        Ok(())
    });
    let help = "Dropping what exceeds a context's peak throughput\nWhat passes at once after a pause\n\
                Milliseconds of the rate";
    add(grammar, "policing burst-ms <10-60000>", help, |edit| {
        edit.config.service.policing_burst_ms = edit.args.value(0)?;
        Ok(())
    });
    let help = "What real time may take ahead of others\nOf the node's processing\nPercent; 100 is no limit";
    add(grammar, "real-time node <1-100>", help, |edit| {
        edit.config.service.real_time_node_percent = edit.args.value(0)?;
        Ok(())
    });
    let help = "What real time may take ahead of others\nOf each cell\nkbit/s";
    add(grammar, "real-time cell <8-1000000>", help, |edit| {
        edit.config.service.real_time_cell_kbit = Some(edit.args.value(0)?);
        Ok(())
    });
    let help = "Take back\nWhat real time may take ahead of others\nOf each cell";
    add(grammar, "no real-time cell", help, |edit| {
        edit.config.service.real_time_cell_kbit = None;
        Ok(())
    });
}

fn direction(edit: &Edit<'_, SgsnConfig>) -> usize {
    usize::from(edit.args.text(0) == "uplink")
}

fn install_ceilings(grammar: &mut Grammar<Sgsn>) {
    let help =
        "Quality of service that is granted at most\nPeak throughput class\nThe class; 9 is the fastest";
    add(grammar, "qos max-peak <1-9>", help, |edit| {
        edit.config.service.ceilings.peak = edit.args.value(0)?;
        Ok(())
    });
    let help = "Quality of service that is granted at most\nPrecedence class\nThe class; 1 is dropped last";
    add(grammar, "qos max-precedence <1-3>", help, |edit| {
        edit.config.service.ceilings.precedence = edit.args.value(0)?;
        Ok(())
    });
    let help = "Quality of service that is granted at most\nReliability class\n\
                The class; 2 is acknowledged mode of LLC, 3 is without";
    add(grammar, "qos max-reliability <2-3>", help, |edit| {
        edit.config.service.ceilings.reliability = edit.args.value(0)?;
        Ok(())
    });
    let help = "Quality of service that is granted at most\nDelay class 1, conversational and streaming\n\
                Granted\nLowered to the next best";
    add(grammar, "qos real-time (granted|refused)", help, |edit| {
        edit.config.service.ceilings.real_time = edit.args.text(0) == "granted";
        Ok(())
    });
    let help = "Quality of service that is granted at most\nMaximum bit rate of a profile of R99\n\
                Towards the mobile\nFrom the mobile\nkbit/s";
    add(grammar, "qos max-mbr (downlink|uplink) <1-256000>", help, |edit| {
        let (direction, kbps) = (direction(edit), edit.args.value(1)?);
        if let Some(ceiling) = edit.config.service.ceilings.mbr_kbps.get_mut(direction) {
            *ceiling = Some(kbps);
        }
        Ok(())
    });
    let help = "Take back\nQuality of service that is granted at most\nMaximum bit rate of a profile of R99\n\
                Towards the mobile\nFrom the mobile";
    add(grammar, "no qos max-mbr (downlink|uplink)", help, |edit| {
        let direction = direction(edit);
        if let Some(ceiling) = edit.config.service.ceilings.mbr_kbps.get_mut(direction) {
            *ceiling = None;
        }
        Ok(())
    });
}

fn install_admission(grammar: &mut Grammar<Sgsn>) {
    let help = "Quality of service\nRates that are guaranteed\nOf each cell's leak rate\nPercent";
    add(grammar, "qos guaranteed cell <0-100>", help, |edit| {
        edit.config.service.admission.cell_percent = edit.args.value(0)?;
        Ok(())
    });
    let help = "Quality of service\nRates that are guaranteed\nIn all cells together\nkbit/s";
    add(grammar, "qos guaranteed node <1-100000000>", help, |edit| {
        edit.config.service.admission.node_kbit = Some(edit.args.value(0)?);
        Ok(())
    });
    let help = "Take back\nQuality of service\nRates that are guaranteed\nIn all cells together";
    add(grammar, "no qos guaranteed node", help, |edit| {
        edit.config.service.admission.node_kbit = None;
        Ok(())
    });
    let help = "Quality of service\nRates that are guaranteed\nAn activation whose rate does not fit\n\
                Gets a class of which nothing is guaranteed\nIs rejected with cause 26";
    add(grammar, "qos guaranteed otherwise (lower|reject)", help, |edit| {
        edit.config.service.admission.rejects = edit.args.text(0) == "reject";
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn every_line_is_written_as_it_was_read() {
        let lines = [
            "ingress xdp",
            "gb-output udp",
            "busy-poll always",
            "core 3",
            "max-frames 65536",
            "socket-buffer 80000",
            "buffer-ms 250",
            "policing off",
            "policing burst-ms 500",
            "real-time node 50",
            "real-time cell 64",
            "qos max-peak 6",
            "qos max-precedence 2",
            "qos real-time refused",
            "qos max-mbr downlink 128",
            "qos max-mbr uplink 64",
            "qos guaranteed cell 50",
            "qos guaranteed node 4000",
            "qos guaranteed otherwise reject",
        ];
        let text = format!("sgsn\n gtp local-ip 127.0.0.1\n {}\n", lines.join("\n "));
        let config = config::read::<Sgsn>("x", &text).unwrap().config;
        assert_eq!((config.service.ingress, config.service.core), (Ingress::Xdp, Some(3)));
        assert_eq!(config.service.ceilings.mbr_kbps, [Some(128), Some(64)]);
        let written = config::write::<Sgsn>(&config);
        for line in lines {
            assert!(written.lines().any(|written| written.trim() == line), "{line}: {written}");
        }
        let back = format!(
            "{text} no core\n no max-frames\n no real-time cell\n no qos max-mbr uplink\n no qos guaranteed node\n"
        );
        let config = config::read::<Sgsn>("x", &back).unwrap().config;
        let Service { core, frames, real_time_cell_kbit, ceilings, .. } = config.service;
        assert_eq!((core, frames, real_time_cell_kbit), (None, None, None));
        assert_eq!(ceilings.mbr_kbps, [Some(128), None]);
        assert_eq!(config.service.admission, Admission { cell_percent: 50, node_kbit: None, rejects: true });
    }

    #[test]
    fn the_lines_of_flow_control_too() {
        let lines = [
            "watermark ms high 4 low 1",
            "watermark cell high 40 low 9",
            "real-time share 50",
            "send-delay 0",
            "flush-ll delete",
            "flush-ll timeout 500",
            "cell-reselection timeout 9",
            "pdu-lifetime 2000",
            "pdu-lifetime real-time 30",
            "pdu-lifetime guaranteed infinite",
        ];
        let text = format!("sgsn\n gtp local-ip 127.0.0.1\nbssgp\n {}\n", lines.join("\n "));
        let written = config::write::<Sgsn>(&config::read::<Sgsn>("x", &text).unwrap().config);
        for line in lines {
            assert!(written.lines().any(|written| written.trim() == line), "{line}: {written}");
        }
        let wrong = text.replace("low 9", "low 40");
        assert!(config::read::<Sgsn>("x", &wrong).unwrap_err().to_string().contains("below the high one"));
    }
}
