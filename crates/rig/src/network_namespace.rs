//! What a thread that is in a network namespace sees of its devices.
#![expect(unsafe_code, reason = "system calls that no safe crate offers")]

use crate::check;
use core::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a setting of a device of the network namespace in which the calling thread is, to be read and written, whatever
/// namespace the process' own `/sys` shows; it stays open also for other threads.
///
/// # Errors
/// Without `CAP_SYS_ADMIN`, or where there is no such device or setting.
pub fn device_setting(device: &str, name: &str) -> io::Result<File> {
    let path = Path::new("/sys/class/net").join(device).join(name);
    let open = || {
        mount_own_sys()?;
        File::options().read(true).write(true).open(&path)
    };
    // The mounts go with the thread.
    let opened = std::thread::scope(|scope| scope.spawn(open).join());
    opened.unwrap_or_else(|_| Err(io::Error::other("the thread that opens it has failed")))
}

/// Gives the calling thread mounts of its own, of which `/sys` shows the network namespace that the thread is in.
fn mount_own_sys() -> io::Result<()> {
    const SYSFS: &CStr = c"sysfs";
    // SAFETY: changes what the calling thread may reach, and touches no memory.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    let (none, alone) = (core::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
    // SAFETY: the kernel reads the strings during the call; the others may be missing.
    check(unsafe { libc::mount(none, c"/".as_ptr(), none, alone, none.cast()) })?;
    // SAFETY: as above.
    match check(unsafe { libc::mount(SYSFS.as_ptr(), c"/sys".as_ptr(), SYSFS.as_ptr(), 0, none.cast()) }) {
        // What is there shows it already.
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_a_device_is_read_where_the_thread_is() {
        match device_setting("lo", "mtu") {
            Ok(file) => assert!(io::read_to_string(file).unwrap().trim().parse::<u32>().unwrap() > 0),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
        assert!(device_setting("no-such-device", "mtu").is_err());
    }
}
