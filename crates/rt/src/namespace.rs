//! Network namespaces: a thread goes into one to open its sockets and devices there.

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

/// Does something in the network namespace of that name, or with `None` where the calling thread is. What is opened there
/// stays there; the calling thread stays where it is.
///
/// # Errors
/// Those of `act`, and of [`NetworkNamespace::named`] and [`NetworkNamespace::enter`].
pub fn in_network_namespace<T: Send>(
    name: Option<&str>,
    act: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let Some(name) = name else { return act() };
    let namespace = NetworkNamespace::named(name)?;
    let entered = || {
        namespace.enter()?;
        act()
    };
    // A namespace is a thread's own: this one's ends with it.
    let done = std::thread::scope(|scope| scope.spawn(entered).join());
    done.unwrap_or_else(|_| Err(io::Error::other("the thread in the network namespace has failed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_is_not_there_is_an_error() {
        assert!(NetworkNamespace::named("no-such-namespace").is_err());
        assert!(NetworkNamespace::current().is_ok());
        let act = || -> io::Result<()> { panic!("it must not be done elsewhere") };
        assert_eq!(
            in_network_namespace(Some("no-such-namespace"), act).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        assert_eq!(in_network_namespace(None, || Ok(7)).unwrap(), 7);
    }
}
