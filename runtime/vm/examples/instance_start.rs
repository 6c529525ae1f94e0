//! How long it takes to start an instance of a guest: `instance_start GUEST.wasm` prints one line of JSON.
//!
//! Virtual users are made one after the other and all kept, as at the start of a run, so that every start takes fresh memory.

#![expect(
    clippy::print_stdout,
    reason = "an example speaks through its standard output"
)]

use std::error::Error;
use std::future::{Pending, Ready, pending, ready};
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use nettare_vm::{
    Cancelled, Guest, GuestOptions, Host, HttpReply, HttpRequest, LogLevel, Record, Registry, Vu,
    VuLimits, VuSetup,
};

const INSTANCES: u32 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("the path of a guest is needed")?;
    let options = GuestOptions {
        max_vus: INSTANCES,
        ..GuestOptions::default()
    };
    let guest = Guest::load(&std::fs::read(path)?, &options)?;
    let registry = Arc::new(Registry::default());
    let mut kept = Vec::new();
    let mut times_ns = Vec::new();
    for id in 1..=INSTANCES {
        let setup = VuSetup {
            id,
            scenario: 0,
            host: Nothing::default(),
            registry: registry.clone(),
            env: Arc::default(),
            seed: 1,
            run_start: Default::default(),
            limits: VuLimits::default(),
            deferred: Default::default(),
        };
        let started = Instant::now();
        let vu = Vu::new(&guest, setup)
            .now_or_never()
            .ok_or("making a virtual user waited for something")??;
        times_ns.push(started.elapsed().as_nanos());
        kept.push(vu);
    }
    times_ns.sort_unstable();
    let quantile = |per_cent: usize| times_ns[(times_ns.len() - 1) * per_cent / 100];
    println!(
        r#"{{"instances": {INSTANCES}, "p50_ns": {}, "p99_ns": {}}}"#,
        quantile(50),
        quantile(99)
    );
    Ok(())
}

/// A world in which nothing ever happens: no instance is started far enough to ask for anything.
#[derive(Default)]
struct Nothing {
    records: Vec<Record>,
}

impl Host for Nothing {
    type Reply = Pending<HttpReply>;
    type Sleep = Ready<Result<(), Cancelled>>;

    fn http(&mut self, _request: Arc<HttpRequest>) -> Self::Reply {
        pending()
    }

    fn sleep(&mut self, _nanoseconds: u64) -> Self::Sleep {
        ready(Ok(()))
    }

    fn abort(&mut self, _why: String) {}

    fn log(&mut self, _level: LogLevel, _message: String) {}

    fn records(&mut self) -> &mut Vec<Record> {
        &mut self.records
    }
}
