//! Network namespaces: a thread goes into one to open its sockets there.

use crate::sys;
use std::fs::File;
use std::io;
use std::path::Path;

/// A network namespace that is held open.
#[derive(Debug)]
pub struct NetworkNamespace(File);

impl NetworkNamespace {
    /// That in which the calling thread is.
    ///
    /// # Errors
    /// Where `/proc` is not there.
    pub fn current() -> io::Result<Self> {
        File::open("/proc/thread-self/ns/net").map(Self)
    }

    /// One that `ip netns add NAME` has made.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn named(name: &str) -> io::Result<Self> {
        File::open(Path::new("/run/netns").join(name)).map(Self)
    }

    /// The calling thread is in it from now on: what it opens later belongs there, what it has opened stays where it is.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`.
    pub fn enter(&self) -> io::Result<()> {
        sys::enter_network_namespace(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_is_not_there_is_an_error() {
        assert!(NetworkNamespace::named("no-such-namespace").is_err());
        assert!(NetworkNamespace::current().is_ok());
    }
}
