//! A store that is new, used, damaged, somebody else's, and one that fails.

use super::*;
use gannet_testkit::TempDir;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LAYOUT: u8 = 5;

fn imsi(number: u32) -> Imsi {
    format!("00101{number:010}").parse().unwrap()
}

fn entries(store: &mut dyn Store) -> Vec<(Imsi, Vec<u8>)> {
    let mut all = Vec::new();
    store
        .all(&mut |entry| match entry {
            Entry::Of(imsi, octets) => all.push((imsi, octets.to_vec())),
            Entry::Foreign(name) => panic!("{name:?}"),
        })
        .unwrap();
    all
}

fn problem(result: Result<Embedded, StoreError>) -> (String, Problem) {
    let error = result.unwrap_err();
    (error.to_string(), error.problem)
}

#[test]
fn what_is_written_is_there_again() {
    let directory = TempDir::new("gannet-store");
    let path = directory.path().join("mobiles");
    let mut store = Embedded::open(&path, LAYOUT).unwrap();
    assert!(store.is_empty().unwrap() && store.owner().unwrap() == Owner::default());
    store.put(imsi(1), b"first").unwrap();
    let mut batch = Batch::default();
    batch.put(imsi(2), b"second");
    batch.put(imsi(1), b"newer");
    batch.delete(imsi(2));
    batch.put(imsi(3), b"");
    batch.delete(imsi(9));
    store.write(&batch).unwrap();
    let owner = Owner { starts: 3, restart_counter: 7, teid_secret: 5 << 64 | 9 };
    store.set_owner(owner).unwrap();
    assert_eq!(store.network().unwrap(), None);
    batch.clear();
    batch.put_network(b"bss".to_vec());
    assert_eq!((batch.len(), batch.is_empty()), (1, false));
    store.write(&batch).unwrap();
    drop(store);
    let mut store = Embedded::open(&path, LAYOUT).unwrap();
    assert_eq!(entries(&mut store), [(imsi(1), b"newer".to_vec()), (imsi(3), Vec::new())]);
    assert_eq!((store.len().unwrap(), store.owner().unwrap()), (2, owner));
    assert_eq!(store.network().unwrap(), Some(b"bss".to_vec()));
    store.delete(imsi(3)).unwrap();
    assert_eq!(store.len().unwrap(), 1);
    store.clear().unwrap();
    assert_eq!((store.len().unwrap(), store.owner().unwrap().starts), (0, 3));
}

#[test]
fn a_new_store_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = TempDir::new("gannet-store");
    let path = directory.path().join("mobiles");
    drop(Embedded::open(&path, LAYOUT).unwrap());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600, "there are keys in it");
    // What somebody has decided stays.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    drop(Embedded::open(&path, LAYOUT).unwrap());
    assert_eq!(mode(&path), 0o640);
}

#[test]
fn one_that_cannot_be_used_says_why_and_stays_as_it_is() {
    let directory = TempDir::new("gannet-store");
    let path = directory.path().join("mobiles");
    let mut store = Embedded::open(&path, LAYOUT).unwrap();
    store.put(imsi(1), b"first").unwrap();
    let (text, other) = problem(Embedded::open(&path, LAYOUT));
    assert!(matches!(other, Problem::InUse) && text.contains("another node has it"), "{text}");
    drop(store);
    let (text, other) = problem(Embedded::open(&path, LAYOUT + 1));
    assert!(matches!(other, Problem::OtherVersion { .. }), "{text}");
    assert!(text.contains("layout 5") && text.contains("layout 6") && text.contains("mobiles"), "{text}");
    assert_eq!(entries(&mut Embedded::open(&path, LAYOUT).unwrap()).len(), 1);
    let (text, other) = problem(Embedded::open(&directory.path().join("missing").join("mobiles"), LAYOUT));
    assert!(matches!(other, Problem::Io(_)) && text.contains("No such file"), "{text}");
    let (text, other) = problem(Embedded::open(directory.path(), LAYOUT));
    assert!(matches!(other, Problem::Io(_)) && text.contains("directory"), "{text}");
    let strange = directory.path().join("sgsn.cfg");
    let content = "sgsn\n".repeat(4000);
    std::fs::write(&strange, &content).unwrap();
    let (text, other) = problem(Embedded::open(&strange, LAYOUT));
    assert!(matches!(other, Problem::NoStore), "{text}");
    assert_eq!(std::fs::read_to_string(&strange).unwrap(), content);
}

/// Whatever octets are changed: an error or what was there, and never a panic.
#[test]
fn a_damaged_file_is_an_error_or_loses_what_is_damaged() {
    let directory = TempDir::new("gannet-store");
    let path = directory.path().join("mobiles");
    let mut store = Embedded::open(&path, LAYOUT).unwrap();
    let mut batch = Batch::default();
    (0..200).for_each(|number| batch.put(imsi(number), &[0x5a; 300]));
    store.write(&batch).unwrap();
    drop(store);
    let good = std::fs::read(&path).unwrap();
    let used = good.iter().rposition(|octet| *octet != 0).unwrap();
    let (mut refused, mut read) = (0, 0);
    for at in (0..used).step_by(used / 150) {
        let mut damaged = good.clone();
        damaged[at..].iter_mut().take(9).for_each(|octet| *octet ^= 0xff);
        let copy = directory.path().join("copy");
        std::fs::write(&copy, &damaged).unwrap();
        let result = Embedded::open(&copy, LAYOUT).and_then(|mut store| store.all(&mut |_| ()));
        match result {
            Ok(()) => read += 1,
            Err(error) => {
                assert!(error.to_string().starts_with("store "), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && read > 0, "{refused} refused, {read} read");
}

#[test]
fn a_name_that_is_no_imsi_is_told() {
    let directory = TempDir::new("gannet-store");
    let path = directory.path().join("mobiles");
    let mut store = Embedded::open(&path, LAYOUT).unwrap();
    store.put(imsi(1), b"first").unwrap();
    drop(store);
    let mobiles: redb::TableDefinition<'_, &[u8], &[u8]> = redb::TableDefinition::new("mobiles");
    let database = redb::Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(mobiles).unwrap().insert(&b"nobody"[..], &b"x"[..]).unwrap();
    transaction.open_table(mobiles).unwrap().insert(&[0xaa; 8][..], &b"x"[..]).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let mut foreign = Vec::new();
    let mut known = Vec::new();
    let mut store = Embedded::open(&path, LAYOUT).unwrap();
    store
        .all(&mut |entry| match entry {
            Entry::Of(imsi, _) => known.push(imsi),
            Entry::Foreign(name) => foreign.push(name.to_vec()),
        })
        .unwrap();
    foreign.sort_unstable();
    assert_eq!((known, foreign), (vec![imsi(1)], vec![b"nobody".to_vec(), vec![0xaa; 8]]));
}

/// Fails for as long as it is told, and then keeps.
#[derive(Debug, Default, Clone)]
struct Failing {
    fails: Arc<Mutex<bool>>,
    kept: Arc<Mutex<Vec<Batch>>>,
}

impl Store for Failing {
    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if *self.fails.lock().unwrap() {
            let problem = Problem::Io(io::Error::from(io::ErrorKind::StorageFull));
            return Err(StoreError { path: "x".into(), problem });
        }
        self.kept.lock().unwrap().push(batch.clone());
        Ok(())
    }
    fn all(&mut self, _: &mut dyn FnMut(Entry<'_>)) -> Result<(), StoreError> {
        Ok(())
    }
    fn len(&mut self) -> Result<u64, StoreError> {
        Ok(self.kept.lock().unwrap().len() as u64)
    }
    fn clear(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    fn network(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }

    fn owner(&mut self) -> Result<Owner, StoreError> {
        Ok(Owner::default())
    }
    fn set_owner(&mut self, _: Owner) -> Result<(), StoreError> {
        Ok(())
    }
}

fn until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_cannot_be_written_is_tried_again_and_no_batch_is_lost() {
    let store = Failing::default();
    *store.fails.lock().unwrap() = true;
    let mut writer = Writer::start(Box::new(store.clone()), 2).unwrap();
    for number in 0..2 {
        let mut batch = writer.spare().unwrap();
        batch.put(imsi(number), b"octets");
        writer.write(batch);
    }
    assert_eq!(writer.spare(), None, "both are under way");
    until(|| writer.status().failures > 0);
    let Status { error, lag, .. } = writer.status();
    assert!(error.unwrap().contains("store x: ") && lag > Duration::ZERO && !writer.is_idle());
    *store.fails.lock().unwrap() = false;
    until(|| writer.is_idle());
    let status = writer.status();
    assert_eq!((status.entries, status.changes, status.batches, &status.error), (2, 2, 2, &None));
    assert!(status.lag == Duration::ZERO && status.lag_max > Duration::ZERO);
    until(|| writer.spare().is_some_and(|batch| batch.is_empty()));
    let whose: Vec<Imsi> = store
        .kept
        .lock()
        .unwrap()
        .iter()
        .flat_map(|batch| batch.iter().map(|(imsi, _)| imsi).collect::<Vec<_>>())
        .collect();
    assert_eq!(whose, [imsi(0), imsi(1)]);
}

#[test]
fn what_was_given_to_the_thread_is_written_before_it_ends() {
    let store = Failing::default();
    let mut writer = Writer::start(Box::new(store.clone()), 3).unwrap();
    for number in 0..3 {
        let mut batch = writer.spare().unwrap();
        batch.delete(imsi(number));
        writer.write(batch);
    }
    drop(writer);
    assert_eq!(store.kept.lock().unwrap().len(), 3);
}
