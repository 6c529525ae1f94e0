//! What lives in a virtual user's store: all that the imports work on.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use nettare_core::sample::SkipReason;
use wasmtime::component::ResourceTable;

use crate::doors::{Cancelled, DeferredCheck, Host, HttpReply, HttpRequest, LogLevel};
use crate::host::WitError;
use crate::limits::{Limiter, RECORDS_MOST, RECORDS_WAITING};
use crate::meter::{Closed, Meter};
use crate::profile::Sampler;
use crate::random::Random;
use crate::record::Record;
use crate::registry::Registry;
use crate::vu::RunStart;
use crate::vu::{Deferred, StopFlag, VuLimits, Yields};

pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// [`Host`] without its types, so that the imports are compiled once, here, and not again in every crate that has a host. It
/// costs an allocation for each call that waits, of the hundred or so that such a call makes anyway.
pub(crate) trait Doors: Send {
    fn http(&mut self, request: Arc<HttpRequest>) -> Boxed<HttpReply>;
    fn sleep(&mut self, nanoseconds: u64) -> Boxed<Result<(), Cancelled>>;
    fn defer(&mut self, check: DeferredCheck) -> Boxed<Result<(), SkipReason>>;
    fn abort(&mut self, why: String);
    fn log(&mut self, level: LogLevel, message: String);
    fn records(&mut self) -> &mut Vec<Record>;
    fn flush_records(&mut self);
    fn as_any(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<H: Host> Doors for H {
    fn http(&mut self, request: Arc<HttpRequest>) -> Boxed<HttpReply> {
        Box::pin(Host::http(self, request))
    }

    fn sleep(&mut self, nanoseconds: u64) -> Boxed<Result<(), Cancelled>> {
        Box::pin(Host::sleep(self, nanoseconds))
    }

    fn defer(&mut self, check: DeferredCheck) -> Boxed<Result<(), SkipReason>> {
        Host::defer(self, check)
    }

    fn abort(&mut self, why: String) {
        Host::abort(self, why);
    }

    fn log(&mut self, level: LogLevel, message: String) {
        Host::log(self, level, message);
    }

    fn records(&mut self) -> &mut Vec<Record> {
        Host::records(self)
    }

    fn flush_records(&mut self) {
        Host::flush_records(self);
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Doors that lead nowhere: for `describe`, and for the moment in which a virtual user changes its instance.
#[derive(Debug, Default)]
pub(crate) struct NoHost {
    records: Vec<Record>,
}

impl Host for NoHost {
    /// Never: the imports deny what would need it, before it comes here.
    type Reply = std::future::Pending<HttpReply>;
    type Sleep = std::future::Ready<Result<(), Cancelled>>;

    fn http(&mut self, _request: Arc<HttpRequest>) -> Self::Reply {
        std::future::pending()
    }

    fn sleep(&mut self, _nanoseconds: u64) -> Self::Sleep {
        std::future::ready(Err(Cancelled))
    }

    fn abort(&mut self, _why: String) {}

    fn log(&mut self, level: LogLevel, message: String) {
        tracing::debug!(?level, "describe: {message}");
    }

    fn records(&mut self) -> &mut Vec<Record> {
        &mut self.records
    }

    fn flush_records(&mut self) {
        self.records.clear();
    }
}

/// Which hook is running: what a guest may do depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// `describe`: nothing of the world outside.
    Describe,
    /// `judge`, and the `init` before it: checks, metrics and the log.
    Judge,
    /// Any other.
    Live,
}

impl Phase {
    /// Why a guest may not do something now.
    pub(crate) fn denies(self, what: &str) -> WitError {
        WitError::denied(match self {
            Phase::Judge => format!(
                "an instance for deferred checks cannot {what}: it may use `check`, `metrics`, `log` and `time.now`, and `init` \
                 knows it by `vu.id` 0"
            ),
            Phase::Describe | Phase::Live => format!(
                "`describe` cannot {what}: it is asked before the run, for nothing but words"
            ),
        })
    }
}

/// A deferred check under evaluation.
#[derive(Debug)]
pub(crate) struct Judging {
    pub(crate) check: u32,
    /// What its scope was charged, once the call has ended.
    pub(crate) closed: Option<Closed>,
}

/// Tags that a guest put on its virtual user.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    /// Sorted by key.
    pub(crate) list: Vec<(String, String)>,
    /// Another number for each other set of tags; 0 when there are none.
    pub(crate) version: u64,
    /// The last version given.
    last_version: u64,
}

impl Tags {
    /// Puts a tag, in place of one of the same key.
    pub(crate) fn put(&mut self, key: String, value: String) {
        put(&mut self.list, key, value);
        self.last_version += 1;
        self.version = self.last_version;
    }

    /// Takes all off; whether there were any.
    pub(crate) fn clear(&mut self) -> bool {
        self.version = 0;
        let had_some = !self.list.is_empty();
        self.list.clear();
        had_some
    }
}

/// Puts a tag into a list that is sorted by key.
pub(crate) fn put(list: &mut Vec<(String, String)>, key: String, value: String) {
    match list.binary_search_by(|(other, _)| other.as_str().cmp(&key)) {
        Ok(index) => list[index].1 = value,
        Err(index) => list.insert(index, (key, value)),
    }
}

/// A group that was begun.
#[derive(Debug)]
pub(crate) struct OpenGroup {
    pub(crate) group: u32,
    pub(crate) begun_ns: u64,
}

/// What a virtual user has in common with all others of its run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) registry: Arc<Registry>,
    pub(crate) env: Arc<BTreeMap<String, String>>,
    pub(crate) started: RunStart,
}

/// All that the imports of one virtual user work on.
pub(crate) struct State {
    pub(crate) doors: Box<dyn Doors>,
    pub(crate) run: Run,
    pub(crate) vu: u32,
    pub(crate) iteration: u64,
    pub(crate) phase: Phase,
    pub(crate) limits: VuLimits,
    pub(crate) cpu_budget_ns: u64,
    pub(crate) limiter: Limiter,
    pub(crate) stop: StopFlag,
    pub(crate) yields: Yields,
    pub(crate) meter: Meter,
    /// For the one virtual user that is sampled.
    pub(crate) sampler: Option<Box<Sampler>>,
    pub(crate) random: Random,
    /// Requests, responses and calls that the guest has handles on. Its instance's, and gone with it.
    pub(crate) table: ResourceTable,
    /// The guest's tags on this virtual user, until the iteration ends.
    pub(crate) tags: Tags,
    /// Groups begun and not ended, the innermost last.
    pub(crate) groups: Vec<OpenGroup>,
    /// The innermost group where none is begun: the one in which a check was deferred. Else 0.
    pub(crate) outer_group: u32,
    pub(crate) deferred: Deferred,
    /// Checks deferred in this call.
    pub(crate) deferrals: u32,
    /// In a judge: what it judges.
    pub(crate) judging: Option<Judging>,
    pub(crate) log_lines: u32,
    /// Whether the stopping run cut a wait short in this call.
    pub(crate) was_cancelled: bool,
    /// Whether the hook that runs is an iteration.
    pub(crate) iterates: bool,
    /// Misuse and limits hit in this call, summed so that a loop of either does not flood the records.
    pub(crate) misuse: Vec<(&'static str, u64)>,
    pub(crate) limits_hit: Vec<(&'static str, u64)>,
}

impl State {
    /// A state of nobody: no doors, no room, no budget. What a virtual user has is put in by its maker.
    pub(crate) fn hollow() -> State {
        let limits = VuLimits::default();
        State {
            doors: Box::new(NoHost::default()),
            run: Run {
                registry: Arc::default(),
                env: Arc::default(),
                started: RunStart::default(),
            },
            vu: 0,
            iteration: 0,
            phase: Phase::Describe,
            limits,
            cpu_budget_ns: 0,
            limiter: Limiter::new(0, 0),
            stop: StopFlag::default(),
            yields: Yields::default(),
            meter: Meter::new(nettare_core::plan::Meter::Off, 0),
            sampler: None,
            random: Random::new(0, 0),
            table: table(&limits),
            tags: Tags::default(),
            groups: Vec::new(),
            outer_group: 0,
            deferred: Deferred::default(),
            deferrals: 0,
            judging: None,
            log_lines: 0,
            was_cancelled: false,
            iterates: false,
            misuse: Vec::new(),
            limits_hit: Vec::new(),
        }
    }

    /// Hands something to the statistics.
    pub(crate) fn record(&mut self, record: Record) {
        if self.doors.records().len() >= RECORDS_WAITING {
            self.doors.flush_records();
            if self.doors.records().len() >= RECORDS_MOST {
                self.limit_hit("records");
                return;
            }
        }
        self.doors.records().push(record);
    }

    /// Counts what a guest did wrong without a way to be told.
    pub(crate) fn misuse(&mut self, what: &'static str) {
        count(&mut self.misuse, what);
    }

    /// Counts that a limit was hit.
    pub(crate) fn limit_hit(&mut self, name: &'static str) {
        count(&mut self.limits_hit, name);
    }

    /// Whether the next check to be deferred is among the sample: the same for the same seed, virtual user, iteration and place.
    pub(crate) fn draw_deferral(&mut self) -> bool {
        self.deferrals += 1;
        self.random.side_fraction(self.deferrals) < self.deferred.sample
    }

    /// The innermost group's number, or 0.
    pub(crate) fn group(&self) -> u32 {
        self.groups
            .last()
            .map_or(self.outer_group, |open| open.group)
    }

    /// Whether a name, tag or the like is short enough.
    pub(crate) fn is_short(&self, text: &str) -> bool {
        text.len() <= usize::try_from(self.limits.name_bytes).unwrap_or(usize::MAX)
    }

    /// A call into the guest is about to begin.
    pub(crate) fn begin_call(&mut self, iteration: Option<u64>) {
        self.meter.begin_call();
        if let Some(judging) = &self.judging {
            self.meter.open(judging.check);
        }
        self.random.begin(iteration);
        self.deferrals = 0;
        self.log_lines = 0;
        self.was_cancelled = false;
        self.iterates = iteration.is_some();
    }

    /// It has ended: what was open is closed, what was counted is told.
    pub(crate) fn end_call(&mut self) -> crate::meter::Usage {
        if let Some(judging) = &mut self.judging {
            judging.closed = self.meter.close(judging.check);
            for _ in 0..judging.closed.map_or(0, |closed| closed.left_open) {
                count(&mut self.misuse, "check-not-ended");
            }
        }
        let usage = self.meter.end_call();
        for _ in 0..usage.left_open {
            self.misuse("check-not-ended");
        }
        for _ in 0..self.groups.len() {
            self.misuse("group-not-ended");
        }
        self.groups.clear();
        if self.tags.clear() {
            self.record(Record::Tags(Arc::from([])));
        }
        for (what, count) in std::mem::take(&mut self.misuse) {
            self.doors.records().push(Record::Misuse { what, count });
        }
        for (name, count) in std::mem::take(&mut self.limits_hit) {
            self.doors.records().push(Record::Limit { name, count });
        }
        usage
    }

    /// Everything of a lost instance is forgotten.
    pub(crate) fn forget_instance(&mut self) {
        self.table = table(&self.limits);
        self.limiter.reset();
    }
}

fn table(limits: &VuLimits) -> ResourceTable {
    let mut table = ResourceTable::new();
    table.set_max_capacity(usize::try_from(limits.handles).unwrap_or(usize::MAX));
    table
}

fn count(counts: &mut Vec<(&'static str, u64)>, name: &'static str) {
    match counts.iter_mut().find(|(other, _)| *other == name) {
        Some((_, count)) => *count += 1,
        None => counts.push((name, 1)),
    }
}
