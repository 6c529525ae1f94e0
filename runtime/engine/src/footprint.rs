//! How much memory a virtual user of a guest takes, measured on a few of them before any load.
//!
//! Each is a real one, instantiated and initialised as in the run, but for two things: it has nobody behind its doors, so that
//! no request leaves the machine, and `init` gets no data of `setup`, which is not called. What iterations add (a heap that grows,
//! responses) is not in the figure: it is what a virtual user takes at least.
//!
//! Counted are resident pages by their share (`Pss`: a page that all instances map is counted once) and page tables. The first
//! instance is left out, since it makes what all have in common; of several batches the median is taken.

use std::collections::BTreeMap;
use std::fs;
use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use nettare_core::sample::{CallTiming, ErrorKind, Failure, Phases, Stamp};
use nettare_core::stats::SeriesId;
use nettare_vm::{
    Cancelled, Deferred, Guest, Host, HttpReply, HttpRequest, LogLevel, Record, Registry, RunStart,
    Vu, VuLimits, VuSetup,
};

use crate::clock::monotonic_ns;

/// So many batches of so many virtual users; with the first one they fit into the room that a guest has to spare.
const BATCHES: usize = 4;
const BATCH: u32 = 4;

/// No batch begins after this time: a guest that computes for long in `init` is measured on fewer.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Bytes of one virtual user of `guest` without its connections; none where the system does not tell, or no instance can be made.
pub fn bytes_per_vu(guest: &Guest, env: &BTreeMap<String, String>) -> Option<u64> {
    let env = Arc::new(env.clone());
    let registry = Arc::new(Registry::new());
    let begun_ns = monotonic_ns();
    let mut alive = Vec::new();
    let mut make = |id| {
        let made = make(guest, &registry, &env, id)?;
        alive.push(made);
        Some(())
    };
    make(1)?;
    let mut before = resident_bytes()?;
    let mut samples = Vec::new();
    for batch in 0..BATCHES as u32 {
        if batch > 0 && monotonic_ns() - begun_ns > PATIENCE_NS {
            break;
        }
        for index in 0..BATCH {
            make(2 + batch * BATCH + index)?;
        }
        let after = resident_bytes()?;
        samples.push(after.saturating_sub(before) / u64::from(BATCH));
        before = after;
    }
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied()
}

/// A virtual user that is ready for its first iteration, or as far on the way as it came.
fn make(
    guest: &Guest,
    registry: &Arc<Registry>,
    env: &Arc<BTreeMap<String, String>>,
    id: u32,
) -> Option<Vu<Nobody>> {
    let setup = VuSetup {
        id,
        scenario: 0,
        host: Nobody::default(),
        registry: Arc::clone(registry),
        env: Arc::clone(env),
        seed: 0,
        run_start: RunStart::default(),
        limits: VuLimits::default(),
        deferred: Deferred::default(),
    };
    let mut vu = finish(Vu::new(guest, setup)).ok()?;
    // One that fails for want of a server or of data has grown all the same.
    let _ = finish(vu.init(&[]));
    Some(vu)
}

/// Polls a future whose only reason to be pending is that a guest gives way after a millisecond; its CPU budget bounds it.
fn finish<F: Future>(work: F) -> F::Output {
    let mut work = pin!(work);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = work.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// Nobody behind the doors: every call fails at once, every sleep is over.
#[derive(Default)]
struct Nobody {
    records: Vec<Record>,
}

impl Host for Nobody {
    type Reply = Ready<HttpReply>;
    type Sleep = Ready<Result<(), Cancelled>>;

    fn http(&mut self, _: Arc<HttpRequest>) -> Self::Reply {
        self.records.clear();
        ready(HttpReply {
            result: Err(Failure {
                kind: ErrorKind::Denied,
                code: 0,
                message: "nothing is sent while memory is measured".to_owned(),
            }),
            timing: CallTiming {
                last: Phases::default(),
                sum: Phases::default(),
                hops: 0,
                stamp: Stamp::User,
                decode_ns: 0,
                ready_at_ns: monotonic_ns(),
            },
            series: SeriesId::NONE,
        })
    }

    fn sleep(&mut self, _: u64) -> Self::Sleep {
        ready(Ok(()))
    }

    fn abort(&mut self, _: String) {}

    fn log(&mut self, _: LogLevel, _: String) {}

    fn records(&mut self) -> &mut Vec<Record> {
        &mut self.records
    }

    fn flush_records(&mut self) {
        self.records.clear();
    }
}

/// Pages of this process by their share, and its page tables; none where the system does not tell. See proc_pid_smaps(5).
fn resident_bytes() -> Option<u64> {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    Some(field_bytes(&rollup, "Pss:")? + field_bytes(&status, "VmPTE:")?)
}

fn field_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use nettare_vm::GuestOptions;

    use super::*;

    /// A guest that writes to `pages` pages of 64 KiB in `init`.
    fn guest_of(pages: u32) -> Guest {
        let text = format!(
            r#"(module
              (memory (export "memory") {memory})
              (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
              (func (export "init") (param i32 i32) (result i32)
                (memory.fill (i32.const 65536) (i32.const 7) (i32.const {bytes}))
                (i32.const 0))
              (func (export "run") (param i32 i64 i64 i64) (result i32) (i32.const 0)))"#,
            memory = pages + 1,
            bytes = pages * 65536,
        );
        Guest::load(&wat::parse_str(text).unwrap(), &GuestOptions::default()).unwrap()
    }

    #[test]
    fn a_guest_that_fills_more_memory_takes_so_much_more() {
        let measure = |pages| bytes_per_vu(&guest_of(pages), &BTreeMap::new()).unwrap();
        let (small, large) = (measure(1), measure(33));
        let more = large.saturating_sub(small);
        let filled = 32 * 65536;
        assert!(
            more > filled / 10 * 8 && more < filled / 10 * 15,
            "{small} and {large} bytes for a difference of {filled}"
        );
    }

    #[test]
    fn fields_are_read_in_bytes_or_not_at_all() {
        assert_eq!(
            field_bytes("Rss: 9 kB\nPss:      2 kB\n", "Pss:"),
            Some(2_048)
        );
        for text in [
            "",
            "Pss:",
            "Pss: x kB",
            "Pss: 2 MB",
            "Pss: 99999999999999999999 kB",
        ] {
            assert_eq!(field_bytes(text, "Pss:"), None, "{text}");
        }
    }
}
