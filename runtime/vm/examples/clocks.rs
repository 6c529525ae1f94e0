//! What a reading of each clock costs on this machine.
//!
//! `cargo run --release -p nettare-vm --example clocks`. The figures of the decision record on clocks come from here: each is the
//! median of many rounds, and the clocks take turns within a round, so that whatever the machine does meanwhile reaches all of them
//! alike. What the loop itself takes is taken off.

#![expect(clippy::print_stdout, reason = "it is run for what it prints")]

use std::hint::black_box;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Readings of one clock in one round.
const READINGS: u32 = 10_000;

const ROUNDS: usize = 101;

/// Reads a clock.
type Read = Box<dyn Fn() -> u64>;

fn main() {
    if let Ok(source) =
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    {
        println!("clock source of the kernel: {}", source.trim());
    }
    let quanta = quanta::Clock::new();
    let by_kernel = |clock: ClockId| move || nanoseconds(clock);
    let clocks: [(&str, Read); 6] = [
        ("(the loop alone)", Box::new(|| 0)),
        (
            "time-stamp counter (quanta)",
            Box::new(move || quanta.raw()),
        ),
        ("CLOCK_MONOTONIC", Box::new(by_kernel(ClockId::Monotonic))),
        ("CLOCK_REALTIME", Box::new(by_kernel(ClockId::Realtime))),
        (
            "CLOCK_REALTIME and CLOCK_MONOTONIC, as for a kernel stamp",
            Box::new(|| nanoseconds(ClockId::Realtime) - nanoseconds(ClockId::Monotonic)),
        ),
        (
            "CLOCK_THREAD_CPUTIME_ID",
            Box::new(by_kernel(ClockId::ThreadCPUTime)),
        ),
    ];
    let mut rounds: Vec<Vec<f64>> = vec![Vec::with_capacity(ROUNDS); clocks.len()];
    for _ in 0..ROUNDS {
        for ((_, clock), figures) in clocks.iter().zip(&mut rounds) {
            figures.push(nanoseconds_each(clock));
        }
    }
    let medians: Vec<f64> = rounds.iter_mut().map(|figures| median(figures)).collect();
    println!("one reading, median of {ROUNDS} rounds of {READINGS}");
    for ((name, _), median) in clocks.iter().zip(&medians).skip(1) {
        println!("  {:>7.1} ns  {name}", median - medians[0]);
    }
}

fn nanoseconds_each(clock: &Read) -> f64 {
    let begun = Instant::now();
    for _ in 0..READINGS {
        black_box(clock());
    }
    begun.elapsed().as_secs_f64() * 1e9 / f64::from(READINGS)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
