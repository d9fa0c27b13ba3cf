//! What can go wrong between a program and the kernel, in sentences that name what is missing.

use aya::EbpfError;
use aya::maps::MapError;
use aya::programs::ProgramError;
use std::io;

/// Why something could not be had from the kernel.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The build had no compiler.
    #[error(
        "this build holds no kernel program '{0}': when it was built, clang or the headers of libbpf were missing \
         (install clang and libbpf-dev and build again)"
    )]
    NotBuilt(&'static str),
    /// The kernel does not let this process load anything.
    #[error("{0} needs the capabilities CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, or root")]
    NoCapability(String),
    /// An old kernel counts maps as locked memory.
    #[error("{0} needs more locked memory than `ulimit -l` permits")]
    LockedMemory(String),
    /// No memory.
    #[error("the kernel has no memory for {0}")]
    NoMemory(String),
    /// The kernel knows no BPF, or not this kind.
    #[error("this kernel cannot do {what}: {error}")]
    NotSupported {
        /// What was asked of it.
        what: String,
        /// Its answer.
        error: io::Error,
    },
    /// The driver of the interface calls no XDP programs.
    #[error(
        "the driver of interface {0} has no native XDP; generic mode would work, and costs most of the gain"
    )]
    NoNativeXdp(u32),
    /// Somebody else's program is there.
    #[error("another XDP program is attached to interface {0}; it has to go first")]
    Busy(u32),
    /// There is no such interface in this network namespace.
    #[error("no interface has the index {0} in this network namespace")]
    NoInterface(u32),
    /// The interface's frames are too long for its driver's XDP.
    #[error("the MTU of interface {0} is too large for native XDP")]
    MtuTooLarge(u32),
    /// The attachment would outlive the process.
    #[error(
        "this kernel attaches XDP programs without a link, so that they would outlive the process: too old"
    )]
    NoLink,
    /// The verifier refused a program.
    #[error("the kernel's verifier refuses the program '{program}': {error}; it ends with: {log}")]
    Refused {
        /// The program's name.
        program: String,
        /// The kernel's answer.
        error: io::Error,
        /// The last lines of the verifier's log.
        log: String,
    },
    /// A program or map of this name is not in the object, or is of another kind.
    #[error("the object '{object}' has no {kind} '{name}'")]
    NoSuch {
        /// The object's name.
        object: &'static str,
        /// What was asked for.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A type does not have the size of the map's values.
    #[error("the values of map '{map}' have {kernel} octets, here they have {here}")]
    ValueSize {
        /// The map.
        map: String,
        /// Size in the kernel, rounded up to eight octets.
        kernel: usize,
        /// Size of the type.
        here: usize,
    },
    /// Anything else that the loader said.
    #[error("the object '{object}' cannot be loaded: {reason}")]
    Load {
        /// The object's name.
        object: &'static str,
        /// Why.
        reason: String,
    },
    /// A call of the kernel failed.
    #[error("{what}: {error}")]
    Call {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        error: io::Error,
    },
}

impl Error {
    /// What an error number of the kernel means where loading a program or making a map was tried.
    pub(crate) fn of_call(what: impl Into<String>, error: io::Error) -> Self {
        let what = what.into();
        match error.raw_os_error() {
            // An old kernel says the same of a limit; who has the capability has met that.
            Some(libc::EPERM) if may_load() => Self::LockedMemory(what),
            Some(libc::EPERM | libc::EACCES) if !may_load() => Self::NoCapability(what),
            Some(libc::ENOMEM) => Self::NoMemory(what),
            Some(libc::ENOSYS) => Self::NotSupported { what, error },
            _ => Self::Call { what, error },
        }
    }

    /// What an error number means where a program was to be attached to an interface.
    pub(crate) fn of_attach(ifindex: u32, error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EBUSY | libc::EEXIST) => Self::Busy(ifindex),
            Some(libc::EOPNOTSUPP) => Self::NoNativeXdp(ifindex),
            Some(libc::ENODEV) => Self::NoInterface(ifindex),
            Some(libc::ERANGE) => Self::MtuTooLarge(ifindex),
            _ => Self::of_call(format!("attaching to interface {ifindex}"), error),
        }
    }

    /// From what the loader library says when an object is loaded.
    pub(crate) fn of_object(object: &'static str, error: EbpfError) -> Self {
        match error {
            EbpfError::MapError(error) => Self::of_map(object, error),
            EbpfError::ProgramError(error) => Self::of_program(object, error),
            other => Self::Load { object, reason: with_sources(&other) },
        }
    }

    /// From what it says about a map.
    pub(crate) fn of_map(map: &str, error: MapError) -> Self {
        match error {
            MapError::CreateError { name, io_error } => {
                Self::of_call(format!("making the map '{name}'"), io_error)
            }
            MapError::SyscallError(error) => {
                Self::of_call(format!("{} for '{map}'", error.call), error.io_error)
            }
            MapError::IoError(error) => Self::of_call(format!("the map '{map}'"), error),
            other => Self::Call { what: format!("the map '{map}'"), error: io::Error::other(other) },
        }
    }

    /// From what it says about a program.
    pub(crate) fn of_program(program: &str, error: ProgramError) -> Self {
        match error {
            ProgramError::LoadError { io_error, verifier_log } => {
                let log = verifier_log.to_string();
                // Only the verifier writes a log; without one the kernel did not let it begin. And it is stricter with
                // those who lack a right.
                if log.trim().is_empty() || !may_load() {
                    return Self::of_call(format!("loading the program '{program}'"), io_error);
                }
                Self::Refused { program: program.to_owned(), error: io_error, log: last_lines(&log) }
            }
            ProgramError::SyscallError(error) => {
                Self::of_call(format!("{} for '{program}'", error.call), error.io_error)
            }
            other => Self::Call {
                what: format!("the program '{program}'"),
                error: io::Error::other(with_sources(&other)),
            },
        }
    }
}

/// An error with all its reasons.
fn with_sources(error: &dyn core::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(reason) = next {
        text.push_str(": ");
        text.push_str(&reason.to_string());
        next = reason.source();
    }
    text
}

/// What a person needs of a verifier's log: its end.
fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(12);
    lines.get(from..).unwrap_or_default().join(" | ")
}

/// Whether this process has CAP_BPF, CAP_PERFMON (without which the verifier lets no program compute positions in a
/// packet) and CAP_NET_ADMIN, or CAP_SYS_ADMIN with the last.
#[must_use]
pub fn may_load() -> bool {
    const CAP_NET_ADMIN: u32 = 12;
    const CAP_SYS_ADMIN: u32 = 21;
    const CAP_PERFMON: u32 = 38;
    const CAP_BPF: u32 = 39;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    let has = |capability: u32| effective >> capability & 1 == 1;
    has(CAP_NET_ADMIN) && (has(CAP_SYS_ADMIN) || (has(CAP_BPF) && has(CAP_PERFMON)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_names_what_is_missing() {
        let of = |number| Error::of_attach(7, io::Error::from_raw_os_error(number)).to_string();
        assert!(of(libc::EBUSY).starts_with("another XDP program is attached to interface 7"));
        assert!(of(libc::EOPNOTSUPP).contains("generic mode"));
        assert!(of(libc::ENODEV).contains("no interface has the index 7"));
        assert!(of(libc::ERANGE).contains("MTU"));
        let refused = Error::of_call("loading the program 'gn'", io::Error::from_raw_os_error(libc::EPERM));
        let expected = if may_load() { "ulimit -l" } else { "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN" };
        assert!(refused.to_string().contains(expected), "{refused}");
        assert!(Error::NotBuilt("gn").to_string().contains("clang"));
    }
}
