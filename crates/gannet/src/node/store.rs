//! Subscribers outlive a restart: from the store into the node at the start, and behind it ever after.

use core::cell::RefCell;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_machine::{Context, Machine};
use gannet_node::kept::Change;
use gannet_ops::store::{Batch, Embedded, Entry, Owner, Store as _, Writer};
use gannet_ops::view;
use gannet_proto::gtp::TeidKey;
use gannet_rt::{Access, EventLoop, MachineId, Service};
use gannet_wire::id::Imsi;
use std::io;
use std::path::Path;
use std::rc::Rc;

/// Batches that may be under way.
const BATCHES: usize = 3;
/// Changes in a batch: what a disk does in some milliseconds.
const BATCH: usize = 256;
/// Changes that are taken in one turn of the loop, some 20 µs.
const A_TURN: usize = 12;
/// How long a batch is collected.
const COLLECTED: Duration = Duration::from_millis(50);
/// Entries of one kind that are named in the log.
const NAMED: u64 = 10;
/// From one start to the next the generation of TEIDs goes on by so many: a place that one run uses less often never gives
/// out a TEID again that the run before it has given out last.
const GENERATIONS: u64 = 16;

/// A node whose subscribers outlive a restart.
pub trait Kept: Machine + 'static {
    /// The layout of what it keeps.
    const LAYOUT: u8;
    /// What it is.
    const NAME: &'static str;

    /// Under which key its contexts have their TEIDs.
    fn key(&self) -> TeidKey;
    /// From now on changes wait.
    fn keep_changes(&mut self);
    /// How many places wait.
    fn changes_waiting(&self) -> usize;
    /// Gives out what some places have come to.
    fn take_changes(&mut self, max: usize, each: &mut dyn FnMut(Change<'_>));
    /// Takes a subscriber in again; what of him is missing, where something is.
    ///
    /// # Errors
    /// A sentence: why nothing of him could be restored.
    fn restore(&mut self, cx: &mut Context<'_>, imsi: Imsi, octets: &[u8]) -> Result<Option<String>, String>;

    /// A number that is another one whenever [`Kept::network`] is.
    fn network_changes(&self) -> u64 {
        0
    }
    /// What was learned of the network.
    fn network(&self) -> Vec<u8> {
        Vec::new()
    }
    /// What was learned before a restart. False where it cannot be read.
    fn recall_network(&mut self, _octets: &[u8]) -> bool {
        true
    }
}

/// A store that was opened, and what follows for the node that goes on with it.
#[derive(Debug)]
pub struct Opened {
    path: String,
    store: Embedded,
    owner: Owner,
    /// Nothing in it is still true: the node was started without it in the meantime.
    stale: bool,
}

impl Opened {
    /// Opens the store at the start of a node whose peers have last seen this restart counter, where that is known.
    ///
    /// # Errors
    /// A sentence: why it cannot be used.
    pub fn open<M: Kept>(path: &str, last_counter: Option<u8>) -> Result<Self, String> {
        let say = |error: gannet_ops::store::StoreError| error.to_string();
        let mut store = Embedded::open(Path::new(path), M::LAYOUT).map_err(say)?;
        let owner = store.owner().map_err(say)?;
        let stale = owner.starts > 0 && last_counter.is_some_and(|last| last != owner.restart_counter);
        Ok(Self { path: path.to_owned(), store, owner, stale })
    }

    /// The restart counter of before, where the GGSNs are not to see a restart: their contexts go on (29.060 clause 11.2).
    pub fn counter(&self) -> Option<u8> {
        (self.owner.starts > 0 && !self.stale).then_some(self.owner.restart_counter)
    }

    /// With which generation the TEIDs of this run begin.
    pub fn teid_generation(&self) -> u8 {
        u8::try_from(self.owner.starts * GENERATIONS % 255).unwrap_or(0)
    }

    /// Under which key the contexts in it have their TEIDs, where it has any.
    pub fn teid_key(&self) -> Option<TeidKey> {
        (self.owner.teid_secret != 0).then(|| TeidKey::new(self.owner.teid_secret))
    }

    /// Takes all mobiles into the node, and keeps it from now on.
    ///
    /// # Errors
    /// A sentence: why the store cannot be used.
    pub fn restore<M: Kept>(
        self,
        restart_counter: u8,
        machine: MachineId<M>,
        node: &mut EventLoop,
    ) -> Result<Keeper<M>, String> {
        let say = |error: gannet_ops::store::StoreError| error.to_string();
        let Self { path, mut store, owner, stale } = self;
        let key = node.access().look_at(machine).map(Kept::key).unwrap_or_default();
        let teid_secret = key.secret();
        store.set_owner(Owner { starts: owner.starts + 1, restart_counter, teid_secret }).map_err(say)?;
        let mut access = node.access();
        if let Some((node, _)) = access.machine_and_context(machine) {
            node.keep_changes();
        }
        if stale {
            store.clear().map_err(say)?;
            let text = format_args!(
                "store {path}: the {} ran without it meanwhile; all mobiles in it are forgotten",
                M::NAME
            );
            access.log().line(Category::Main, Level::Notice, text);
        }
        // BSSs are where they were, whatever became of the mobiles.
        let network = store.network().map_err(say)?;
        if let Some((node, _)) = access.machine_and_context(machine)
            && network.is_some_and(|octets| !node.recall_network(&octets))
        {
            let text = format_args!("store {path}: what it has of BSSs cannot be read, and is passed over");
            access.log().line(Category::Main, Level::Error, text);
        }
        let begin = std::time::Instant::now();
        let mut found = Found::default();
        store.all(&mut |entry| found.take(entry, machine, &mut access)).map_err(say)?;
        let Found { restored, refused, gone } = found;
        // What could not be taken in will never be: the mobile begins anew.
        store.write(&gone).map_err(say)?;
        let text = format_args!(
            "store {path}: {restored} mobiles restored, {refused} not, in {} ms",
            begin.elapsed().as_millis()
        );
        access.log().line(Category::Main, Level::Notice, text);
        let writer = Writer::start(Box::new(store), BATCHES).map_err(|error| error.to_string())?;
        let (batch, since) = (None, Instant::ZERO);
        let (failures, network) = (0, 0);
        Ok(Keeper { path, machine, writer, batch, since, network, failures, restored: (restored, refused) })
    }
}

/// What was found in a store.
#[derive(Debug, Default)]
struct Found {
    restored: u64,
    refused: u64,
    gone: Batch,
}

impl Found {
    fn take<M: Kept>(&mut self, entry: Entry<'_>, machine: MachineId<M>, access: &mut Access<'_>) {
        match entry {
            Entry::Of(imsi, octets) => {
                let Some((node, mut cx)) = access.machine_and_context(machine) else { return };
                match node.restore(&mut cx, imsi, octets) {
                    Ok(None) => self.restored += 1,
                    Ok(Some(missing)) => {
                        self.restored += 1;
                        let text = format_args!("IMSI {imsi} is restored in part: {missing}");
                        access.log().line(Category::Main, Level::Error, text);
                    }
                    Err(error) => {
                        self.gone.delete(imsi);
                        self.refuse(access, format_args!("IMSI {imsi} is not restored: {error}"));
                    }
                }
            }
            Entry::Foreign(name) => {
                self.refuse(access, format_args!("the entry {} of the store is no subscriber's", hex(name)));
            }
        }
    }

    fn refuse(&mut self, access: &mut Access<'_>, why: core::fmt::Arguments<'_>) {
        self.refused += 1;
        if self.refused <= NAMED {
            access.log().line(Category::Main, Level::Error, why);
        }
    }
}

/// Keeps the store up to date.
#[derive(Debug)]
pub struct Keeper<M: Kept> {
    path: String,
    machine: MachineId<M>,
    writer: Writer,
    /// What is collected, and since when.
    batch: Option<Batch>,
    since: Instant,
    /// The number of what was last kept of BSSs.
    network: u64,
    /// Of which the log was told.
    failures: u64,
    restored: (u64, u64),
}

impl<M: Kept> Keeper<M> {
    /// `show store`.
    pub fn show(&self, access: &mut Access<'_>) -> view::Store {
        let waiting = access.look_at(self.machine).map_or(0, Kept::changes_waiting);
        let collected = self.batch.as_ref().map_or(0, Batch::len);
        view::Store {
            path: self.path.clone(),
            restored: self.restored,
            waiting: (waiting + collected) as u64,
            status: self.writer.status(),
        }
    }

    /// Takes some changes, and gives them to the writer where that is enough or they have waited long enough.
    fn round(&mut self, access: &mut Access<'_>) {
        let now = access.now();
        let changes = access.look_at(self.machine).map_or(self.network, Kept::network_changes);
        let has_moved = changes != self.network;
        if has_moved || access.look_at(self.machine).is_some_and(|node| node.changes_waiting() > 0) {
            if self.batch.is_none() {
                self.batch = self.writer.spare();
                self.since = now;
            }
            if let (true, Some(batch), Some(node)) =
                (has_moved, &mut self.batch, access.look_at(self.machine))
            {
                batch.put_network(node.network());
                self.network = changes;
            }
            if let (Some(batch), Some(node)) = (&mut self.batch, access.machine(self.machine)) {
                node.take_changes(A_TURN, &mut |change| match change {
                    Change::Put { imsi, octets } => batch.put(imsi, octets),
                    Change::Delete { imsi } => batch.delete(imsi),
                });
            }
        }
        if self.batch.as_ref().is_some_and(|batch| batch.len() >= BATCH || self.since + COLLECTED <= now) {
            self.batch.take().into_iter().for_each(|batch| self.writer.write(batch));
            self.tell_failures(access);
        }
    }

    /// The first failure of several is told, and that it is over.
    fn tell_failures(&mut self, access: &mut Access<'_>) {
        let status = self.writer.status();
        match status.error {
            Some(error) if self.failures == 0 => {
                self.failures = status.failures;
                access.log().line(Category::Main, Level::Error, format_args!("{error}; it is tried again"));
            }
            None if self.failures > 0 => {
                self.failures = 0;
                let text = format_args!("store {}: it is written again", self.path);
                access.log().line(Category::Main, Level::Notice, text);
            }
            Some(_) | None => {}
        }
    }

    /// All that has changed is written. What is left is hurried on.
    pub fn is_done(&mut self, access: &mut Access<'_>) -> bool {
        self.since = Instant::ZERO;
        self.round(access);
        let waiting = access.look_at(self.machine).map_or(0, Kept::changes_waiting);
        waiting == 0 && self.batch.is_none() && self.writer.is_idle()
    }
}

/// The keeper has its turn at the end of each round.
#[derive(Debug)]
pub struct StoreService<M: Kept>(pub Rc<RefCell<Keeper<M>>>);

impl<M: Kept> Service for StoreService<M> {
    fn start(&mut self, _access: &mut Access<'_>) -> io::Result<()> {
        Ok(())
    }

    fn ready(&mut self, _number: u32, _readable: bool, _writable: bool, _access: &mut Access<'_>) {}

    fn round(&mut self, access: &mut Access<'_>) {
        self.0.borrow_mut().round(access);
    }

    fn next_wake(&self) -> Option<Instant> {
        let keeper = self.0.borrow();
        keeper.batch.as_ref().map(|_| keeper.since + COLLECTED)
    }
}

/// Octets as hexadecimal digits.
fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
