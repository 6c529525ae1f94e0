//! Runs whose outcome is known: what was reported of other load testers and must be otherwise here, by number, and what the
//! documentation promises.

use super::oracle::check_run;
use super::shell::{Faults, Run};
use super::{MS, SECOND};
use crate::plan::{Executor, Rate};
use crate::sched::{Action, DropReason, Event, IterationCounts, Scheduler};
use crate::segment::Segment;

/// A run without faults, whose iterations all take `service_ns`.
fn steady(executor: Executor, workers: u32, service_ns: u64) -> Run {
    Run {
        executor,
        workers,
        graceful_stop_ns: 30 * SECOND,
        service_ns,
        stops_at_ns: None,
        kills_at_ns: None,
        faults: Faults::none(),
        seed: 1,
    }
}

fn arrival_rate(
    per_second: u64,
    duration_ns: u64,
    pre_allocated_vus: u32,
    max_vus: u32,
) -> Executor {
    let rate = Rate {
        arrivals: per_second,
        per_ns: SECOND,
    };
    Executor::ConstantArrivalRate {
        rate,
        duration_ns,
        pre_allocated_vus,
        max_vus,
    }
}

#[test]
fn case_020_totals_are_exact_for_any_number_of_workers() {
    // 20: 340 arrivals over several workers became 500, and 10 became 3.
    for iterations in [10, 340] {
        for workers in 1..=16 {
            let executor = Executor::SharedIterations {
                vus: 7,
                iterations,
                max_duration_ns: 600 * SECOND,
                rate: None,
            };
            let seen = check_run(&steady(executor, workers, 10 * MS));
            assert_eq!(
                seen.counts.completed, iterations,
                "{iterations} iterations over {workers} workers"
            );
        }
    }
}

#[test]
fn case_020_each_virtual_user_runs_its_own_number() {
    for workers in 1..=16 {
        let executor = Executor::PerVuIterations {
            vus: 7,
            iterations: 20,
            max_duration_ns: 600 * SECOND,
        };
        let seen = check_run(&steady(executor, workers, 10 * MS));
        assert_eq!(
            seen.starts_by_vu,
            (1..=7).map(|vu| (vu, 20)).collect(),
            "over {workers} workers"
        );
    }
}

#[test]
fn case_021_a_constant_rate_starts_exactly_rate_times_duration() {
    // 21: totals of a constant rate varied from run to run.
    for workers in [1, 2, 3, 4, 8] {
        let seen = check_run(&steady(
            arrival_rate(500, 10 * SECOND, 20, 20),
            workers,
            10 * MS,
        ));
        assert_eq!(
            seen.counts.started, 5_000,
            "500/s for 10 s over {workers} workers"
        );
    }
}

#[test]
fn case_021_a_late_timer_does_not_change_the_total() {
    for seed in 0..50 {
        let faults = Faults {
            timer_lag_ns: 3 * MS,
            ..Faults::none()
        };
        let run = Run {
            faults,
            seed,
            ..steady(arrival_rate(500, 10 * SECOND, 40, 40), 2, 10 * MS)
        };
        assert_eq!(check_run(&run).counts.started, 5_000, "seed {seed}");
    }
}

#[test]
fn case_023_interrupted_iterations_are_shown_apart() {
    // 23: the count of iterations came out lower by the number of virtual users, because those under way vanished.
    let run = Run {
        graceful_stop_ns: 0,
        ..steady(
            Executor::ConstantVus {
                vus: 10,
                duration_ns: SECOND,
            },
            2,
            300 * MS,
        )
    };
    let seen = check_run(&run);
    assert_eq!(
        (
            seen.counts.started,
            seen.counts.completed,
            seen.counts.interrupted
        ),
        (40, 30, 10)
    );
}

#[test]
fn case_024_no_more_virtual_users_than_the_plan_allows() {
    // 24: arrival executors showed twice the virtual users there were.
    for workers in 1..=5 {
        let seen = check_run(&steady(
            arrival_rate(1_000, SECOND, 3, 9),
            workers,
            100 * MS,
        ));
        assert_eq!(seen.starts_by_vu.len(), 9, "over {workers} workers");
        assert!(seen.most_running <= 9);
    }
}

#[test]
fn case_046_a_stalled_generator_makes_no_burst() {
    // 46: an attack of 20 s took 118 s without a warning, with peaks of 134 at a rate of 50.
    let faults = Faults {
        stall: Some((5 * SECOND, 8 * SECOND)),
        ..Faults::none()
    };
    let run = Run {
        faults,
        ..steady(arrival_rate(50, 20 * SECOND, 100, 100), 1, MS)
    };
    let seen = check_run(&run);
    assert_eq!(seen.counts.offered, 1_000);
    assert_eq!(
        seen.counts.dropped[DropReason::Lag as usize],
        100,
        "those over 1 s late when the stall of 3 s ended"
    );
    assert!(
        seen.most_starts_at_once <= 51,
        "only the last second is caught up"
    );
    assert!(
        seen.ended_ns < 20 * SECOND + 10 * MS,
        "and the run is not longer for it"
    );
}

#[test]
fn case_047_short_runs_start_what_they_promise() {
    // 47: rates came out wrong for runs of less than a second.
    for duration_ms in [1, 10, 250, 999] {
        let seen = check_run(&steady(
            arrival_rate(2_000, duration_ms * MS, 50, 50),
            2,
            MS / 10,
        ));
        assert_eq!(
            seen.counts.completed,
            2 * duration_ms,
            "2,000/s for {duration_ms} ms"
        );
    }
}

#[test]
fn a_slow_server_makes_arrivals_wait_and_then_drops_them() {
    // 10 virtual users at 1 s each serve 10/s of the 100/s: 10 run, 10 wait, the others are dropped.
    let seen = check_run(&steady(arrival_rate(100, 5 * SECOND, 10, 10), 1, SECOND));
    assert_eq!(seen.counts.offered, 500);
    assert_eq!(seen.counts.started, 50);
    assert_eq!(seen.counts.dropped[DropReason::NoVu as usize], 450);
    assert!(
        seen.waited_for_vu_ns > 0 && seen.lag_ns == 0,
        "all of the lateness is for want of a virtual user"
    );
}

#[test]
fn a_late_timer_is_the_schedulers_lag() {
    let faults = Faults {
        timer_lag_ns: 3 * MS,
        ..Faults::none()
    };
    let run = Run {
        faults,
        ..steady(arrival_rate(100, 5 * SECOND, 10, 10), 1, MS)
    };
    let seen = check_run(&run);
    assert!(
        seen.lag_ns > 0 && seen.waited_for_vu_ns == 0,
        "a virtual user was free all the time"
    );
}

#[test]
fn paced_iterations_are_due_at_their_pace() {
    let rate = Some(Rate {
        arrivals: 100,
        per_ns: SECOND,
    });
    let executor = Executor::SharedIterations {
        vus: 5,
        iterations: 200,
        max_duration_ns: 60 * SECOND,
        rate,
    };
    for workers in 1..=4 {
        let seen = check_run(&steady(executor.clone(), workers, MS));
        assert_eq!(seen.counts.completed, 200);
        assert_eq!(
            seen.ended_ns,
            1_990 * MS + MS,
            "the last of 200 at 100/s is due at 1.99 s"
        );
    }
}

#[test]
fn what_the_time_did_not_suffice_for_is_known() {
    let executor = Executor::SharedIterations {
        vus: 2,
        iterations: 100,
        max_duration_ns: SECOND,
        rate: None,
    };
    let seen = check_run(&steady(executor, 2, 100 * MS));
    assert_eq!(
        (seen.counts.offered, seen.counts.started, seen.unstarted),
        (20, 20, 80)
    );
}

#[test]
fn fewer_iterations_than_virtual_users_are_legal() {
    let executor = Executor::SharedIterations {
        vus: 10,
        iterations: 3,
        max_duration_ns: SECOND,
        rate: None,
    };
    for workers in 1..=12 {
        assert_eq!(
            check_run(&steady(executor.clone(), workers, MS))
                .counts
                .completed,
            3
        );
    }
}

#[test]
fn a_scenario_whose_virtual_users_all_fail_drops_and_ends_in_time() {
    let faults = Faults {
        init_fails_percent: 100,
        ..Faults::none()
    };
    let run = Run {
        faults,
        ..steady(arrival_rate(100, SECOND, 0, 5), 2, MS)
    };
    let seen = check_run(&run);
    assert_eq!(
        (
            seen.counts.started,
            seen.counts.dropped[DropReason::NoVu as usize]
        ),
        (0, 100)
    );
}

#[test]
fn a_kill_cancels_at_once() {
    let run = Run {
        kills_at_ns: Some(500 * MS),
        ..steady(
            Executor::ConstantVus {
                vus: 4,
                duration_ns: 9 * SECOND,
            },
            2,
            5 * SECOND,
        )
    };
    let seen = check_run(&run);
    assert_eq!(seen.counts.interrupted, 4);
    assert!(seen.ended_ns < 600 * MS);
}

#[test]
fn an_hour_of_suspension_is_told_in_portions() {
    let mut scheduler = Scheduler::new(
        &arrival_rate(100_000, 3_600 * SECOND, 1, 1),
        Segment::whole(),
        0,
    );
    let mut actions = Vec::new();
    scheduler.step(0, Event::Begin, &mut actions);
    actions.clear();
    scheduler.step(1_800 * SECOND, Event::Timer, &mut actions);
    assert!(
        actions.len() < 20_000,
        "{} actions in one step",
        actions.len()
    );
    let at_once =
        |action: &Action| matches!(action, Action::WakeAt { at_ns } if *at_ns <= 1_800 * SECOND);
    assert!(actions.iter().any(at_once), "and it asks to go on at once");
}

#[test]
fn a_run_without_an_end_of_its_own_wants_no_timer() {
    let executor = Executor::SharedIterations {
        vus: 1,
        iterations: 1,
        max_duration_ns: u64::MAX,
        rate: None,
    };
    let mut scheduler = Scheduler::new(&executor, Segment::whole(), SECOND);
    let mut actions = Vec::new();
    scheduler.step(0, Event::Begin, &mut actions);
    assert!(
        matches!(actions.as_slice(), [Action::Start { vu: 1, .. }]),
        "{actions:?}"
    );
}

#[test]
fn a_stop_before_the_start_offers_nothing() {
    let mut scheduler = Scheduler::new(&arrival_rate(100, SECOND, 1, 1), Segment::whole(), SECOND);
    let mut actions = Vec::new();
    scheduler.step(5, Event::Stop, &mut actions);
    assert_eq!(
        actions,
        [
            Action::Drain {
                until_ns: 5 + SECOND
            },
            Action::Finish
        ]
    );
    assert_eq!(scheduler.counts(), IterationCounts::default());
}
