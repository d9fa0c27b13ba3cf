//! The loader itself, with the program that probes a machine.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use gannet_demux::bpf::{Error, Loader, TestRun, objects};

fn run(data: &[u8]) -> TestRun<'_> {
    TestRun { data, data_out: None, context: None, context_out: None, repeat: 1, live_batch: None }
}

/// A variable is set, a program runs, and both kinds of maps show what it did.
pub fn maps_and_programs() {
    const XDP_PASS: u32 = 2;
    let step = 5_u64.to_ne_bytes();
    let loader = Loader::new(&objects::PROBE).global("step", &step).max_entries("seen", 1000);
    let mut object = loader.load().unwrap();
    object.load_xdp("probe").unwrap();
    let seen = object.mapped_array::<AtomicU64>("seen").unwrap();
    assert_eq!(seen.len(), 1000);
    let frame = [0_u8; 64];
    let mut out = [0_u8; 80];
    let result = object.run("probe", TestRun { data_out: Some(&mut out), repeat: 3, ..run(&frame) }).unwrap();
    assert_eq!((result.verdict, result.data_len), (XDP_PASS, 64));
    assert_eq!(seen.get(0).unwrap().load(Ordering::Relaxed), 15);
    assert_eq!(object.per_cpu_sum("seen_by_cpu", 0).unwrap(), 15);
    seen.get(999).unwrap().store(7, Ordering::Relaxed);
    assert_eq!(object.array_value("seen", 999).unwrap(), 7);
    assert!(seen.get(1000).is_none());
    // The mapping outlives the object.
    drop(object);
    assert_eq!(seen.get(999).unwrap().load(Ordering::Relaxed), 7);
}

/// Errors name what is missing.
pub fn errors_say_what_is_wrong() {
    let mut object = Loader::new(&objects::PROBE).load().unwrap();
    assert!(matches!(object.load_xdp("nobody"), Err(Error::NoSuch { .. })));
    assert!(matches!(object.map_fd("nobody"), Err(Error::NoSuch { .. })));
    assert!(matches!(
        object.mapped_array::<AtomicU32>("seen"),
        Err(Error::ValueSize { kernel: 8, here: 4, .. })
    ));
    // Another kind of map.
    assert!(matches!(object.mapped_array::<AtomicU64>("sockets"), Err(Error::NoSuch { .. })));
    let wrong_size = Loader::new(&objects::PROBE).global("step", &[0; 4]).load();
    assert!(matches!(wrong_size, Err(Error::Load { .. })), "{wrong_size:?}");
    let no_socket = object.set_socket("sockets", 0, std::io::stdin()).unwrap_err();
    assert!(no_socket.to_string().contains("bpf_map_update_elem"), "{no_socket}");
    object.clear_socket("sockets", 0).unwrap();
}
