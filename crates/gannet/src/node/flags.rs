//! What stands behind `gannet sgsn`, `gannet ggsn` and `gannet bss` on the command line: the flags of Osmocom's daemons.

use clap::Args;
use gannet_machine::trace::{Category, Level};
use gannet_ops::grammar::log_view::{category_of, level_of};
use gannet_rt::log::TargetOptions;
use std::path::PathBuf;

/// The flags of a node.
#[derive(Debug, Clone, Args)]
pub struct Flags {
    /// The configuration file
    #[arg(short, long, value_name = "FILE")]
    pub config_file: Option<PathBuf>,
    #[command(flatten)]
    pub process: ProcessFlags,
}

/// Those that speak of the process, not of one node in it.
#[derive(Debug, Clone, Args)]
pub struct ProcessFlags {
    /// Log these categories: CATEGORY[:CATEGORY…], each alone (everything) or as CATEGORY,LEVEL
    #[arg(short, long, value_name = "CATEGORIES")]
    pub debug: Option<Debug>,
    /// Log from this level on: 1 debug, 3 info, 5 notice, 7 error, 8 fatal
    #[arg(short = 'e', long, value_name = "LEVEL", value_parser = parse_level)]
    pub log_level: Option<Level>,
    /// Go to the background
    #[arg(short = 'D', long)]
    pub daemonize: bool,
    /// No colours on standard error
    #[arg(short = 's', long)]
    pub disable_color: bool,
    /// Record everything on the interfaces, as pcapng; - is standard output, for 'wireshark -k -i -'
    #[arg(short = 'w', long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Send blocks of the radio and LL-PDUs to who listens there, as GSMTAP; the port is 4729 unless given
    #[arg(long, value_name = "HOST[:PORT]", value_parser = super::trace::listener)]
    pub gsmtap: Option<std::net::SocketAddr>,
    /// Read the configuration, say whether it is right, and start nothing
    #[arg(long)]
    pub check: bool,
}

impl ProcessFlags {
    /// True where a flag speaks about standard error.
    pub const fn wants_stderr(&self) -> bool {
        self.debug.is_some() || self.log_level.is_some()
    }

    /// What the flags say about the lines on standard error comes before what the file says.
    pub fn apply(&self, options: &mut TargetOptions) {
        if let Some(level) = self.log_level {
            options.set_all_levels(level);
        }
        if let Some(debug) = &self.debug {
            options.set_all_levels(Level::Fatal);
            debug.0.iter().for_each(|(category, level)| options.set_level(*category, *level));
        }
        options.colour &= !self.disable_color && gannet_rt::log::stderr_is_terminal();
    }
}

/// Categories and from which level on they are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Debug(Vec<(Category, Level)>);

impl core::str::FromStr for Debug {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(':').map(parse_category).collect::<Result<_, _>>().map(Self)
    }
}

/// `DMM`, `mm`, `MM,3`, `DGTP,error`.
fn parse_category(text: &str) -> Result<(Category, Level), String> {
    let (name, level) = text.split_once(',').map_or((text, None), |(name, level)| (name, Some(level)));
    let name = name.to_ascii_lowercase();
    let category = category_of(&name).or_else(|| category_of(name.strip_prefix('d')?));
    let category = category.ok_or_else(|| {
        let known: Vec<&str> = Category::ALL.iter().map(|category| category.name()).collect();
        format!("there is no category '{text}'; there are: {}", known.join(", "))
    })?;
    Ok((category, level.map_or(Ok(Level::Debug), parse_level)?))
}

/// Osmocom's numbers, or our words.
fn parse_level(text: &str) -> Result<Level, String> {
    match text.parse::<u8>() {
        Ok(0..=2) => Ok(Level::Debug),
        Ok(3 | 4) => Ok(Level::Info),
        Ok(5 | 6) => Ok(Level::Notice),
        Ok(7) => Ok(Level::Error),
        Ok(8) => Ok(Level::Fatal),
        Ok(_) | Err(_) => level_of(text).ok_or_else(|| {
            format!("'{text}' is no level: say 1 to 8, or debug, info, notice, error or fatal")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_in_osmocoms_manner() {
        let debug: Debug = "DMM:DNS,3:gtp,error:lbssgp".parse().unwrap();
        let expected = [
            (Category::Mm, Level::Debug),
            (Category::Ns, Level::Info),
            (Category::Gtp, Level::Error),
            (Category::Bssgp, Level::Debug),
        ];
        assert_eq!(debug.0, expected);
        assert!("DNOTHING".parse::<Debug>().unwrap_err().contains("bssgp"));
        for wrong in ["loud", "9", "-1", "256", ""] {
            assert!(parse_level(wrong).unwrap_err().contains("say 1 to 8"), "{wrong}");
        }
        assert_eq!(parse_level("8"), Ok(Level::Fatal));
    }
}
