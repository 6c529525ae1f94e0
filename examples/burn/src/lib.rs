//! Checks, and a scenario, that take stated CPU times: `BURN_US` in the check "burn", `AGAIN_US` in the check "burn again", `OWN_US` in
//! the scenario itself. With `DEFER=1` the first is deferred, as "burn later".
//!
//! A guest cannot read its own CPU time, and the clock on the wall also goes on while others run. So the work is counted in rounds of
//! a small calculation: `setup`, which runs alone, finds out how many of them a microsecond is worth, and every check does its number
//! of rounds however long it has to wait for the CPU in between.

use std::hint::black_box;
use std::time::{Duration, SystemTime};

use nettare::{Context, Request, Response, Result, check, env, time, vu};
use serde::{Deserialize, Serialize};

nettare::main! {
    checks: ["burn", "burn again"],
    deferred: [burn_later],
    setup: calibrate,
    init: Burner::prepare,
    scenarios: [burn],
}

/// Rounds of one measurement: about a millisecond.
const SAMPLE: u64 = 500_000;
/// Measurements, of which the shortest is taken: whatever disturbs one of them makes it longer.
const SAMPLES: usize = 30;

/// Requests before the first iteration of a virtual user.
const WARM_UPS: usize = 3;

/// How many rounds a microsecond of CPU time is worth on this machine.
#[derive(Serialize, Deserialize)]
struct Speed {
    rounds_per_us: f64,
}

/// What every iteration does.
struct Burner {
    url: String,
    rounds: u64,
    rounds_again: u64,
    rounds_of_its_own: u64,
    defers: bool,
}

fn calibrate() -> Result<Speed> {
    let shortest = (0..SAMPLES)
        .map(|_| timed(|| spin(SAMPLE)))
        .min()
        .unwrap_or_default();
    Ok(Speed {
        rounds_per_us: SAMPLE as f64 / microseconds(shortest),
    })
}

impl Burner {
    fn prepare(speed: Speed) -> Result<Burner> {
        let rounds = |name| burden(name).map(|us| (us * speed.rounds_per_us) as u64);
        let url = env("TARGET")?;
        // Instances for deferred checks send nothing.
        if vu::id() > 0 {
            warm_up(&url)?;
        }
        Ok(Burner {
            url,
            rounds: rounds("BURN_US")?,
            rounds_again: rounds("AGAIN_US")?,
            rounds_of_its_own: rounds("OWN_US")?,
            defers: env("DEFER").is_ok_and(|value| value == "1"),
        })
    }
}

/// Microseconds by a variable; 0 when it is not given.
fn burden(name: &str) -> Result<f64> {
    match env(name) {
        Ok(text) => text
            .parse()
            .context(format!("{name} is a number of microseconds")),
        Err(_) => Ok(0.0),
    }
}

/// Opens the connection, and has the kernel find out how large a receive window it needs: the first responses of a connection
/// take longer, and there is one connection for each virtual user, however many responses it gets.
fn warm_up(url: &str) -> Result {
    for _ in 0..WARM_UPS {
        Request::get(url).name("warm-up").send()?;
    }
    Ok(())
}

fn burn(burner: &mut Burner) -> Result {
    let response = Request::get(&burner.url).name("target").send()?;
    spin(burner.rounds_of_its_own / 2);
    if burner.defers {
        response.verify_with(burn_later, &burner.rounds)?;
    } else {
        check("burn", || {
            spin(burner.rounds);
            response.status() == 200
        });
    }
    if burner.rounds_again > 0 {
        check("burn again", || -> Result<bool> {
            spin(burner.rounds_again / 2);
            // Whoever waits in a check burns nothing, and others burn meanwhile.
            let again = Request::get(&burner.url).name("again").send()?;
            spin(burner.rounds_again - burner.rounds_again / 2);
            Ok(again.status() == 200)
        });
    }
    spin(burner.rounds_of_its_own - burner.rounds_of_its_own / 2);
    Ok(())
}

fn burn_later(response: &Response, rounds: u64) -> bool {
    spin(rounds);
    response.status() == 200
}

/// The clock on the wall: the run's own stands still until the run starts.
fn timed(work: impl FnOnce()) -> Duration {
    let started = time::wall_clock();
    work();
    let ended: SystemTime = time::wall_clock();
    // A clock that was set back tells nothing; the longest time there is will not be taken.
    ended.duration_since(started).unwrap_or(Duration::MAX)
}

/// At least 1: by a clock that stands still the speed would be endless.
fn microseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).max(1.0)
}

/// xorshift: each round needs the one before, so neither compiler nor processor can shorten the way. Not inlined, so that a profile
/// names it.
#[inline(never)]
fn spin(rounds: u64) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..rounds {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

#[cfg(test)]
mod tests {
    use nettare::testing::{Host, Reply};

    use super::*;

    #[test]
    fn the_burden_follows_from_the_speed() {
        let host = Host::new().env("TARGET", "http://t/").env("BURN_US", "250");
        let (burner, _) = host.run(|| {
            Burner::prepare(Speed {
                rounds_per_us: 400.0,
            })
        });
        assert_eq!(burner.unwrap().rounds, 100_000);
    }

    #[test]
    fn a_speed_is_found_even_by_a_clock_that_stands_still() {
        let (speed, _) = Host::new().run(calibrate);
        let rounds_per_us = speed.unwrap().rounds_per_us;
        assert!(
            rounds_per_us.is_finite() && rounds_per_us > 0.0,
            "{rounds_per_us}"
        );
    }

    #[test]
    fn a_burden_that_is_no_number_ends_the_preparation_with_its_name() {
        let host = Host::new()
            .env("TARGET", "http://t/")
            .env("BURN_US", "much");
        let (burner, _) = host.run(|| Burner::prepare(Speed { rounds_per_us: 1.0 }));
        let error = burner.err().expect("much is no number");
        assert!(error.to_string().contains("BURN_US"), "{error}");
    }

    /// Whether the check passed on a response of this status.
    fn passed(status: u16, defers: bool) -> bool {
        let host = Host::new().answer(move |_| Reply::status(status));
        let mut burner = Burner {
            url: "http://t/".to_owned(),
            rounds: 10,
            rounds_again: 0,
            rounds_of_its_own: 10,
            defers,
        };
        let (result, seen) = host.run(|| burn(&mut burner));
        result.unwrap();
        seen.checks[0].passed
    }

    #[test]
    fn the_check_passes_on_a_good_response() {
        assert!(passed(200, false) && passed(200, true));
    }

    #[test]
    fn the_check_fails_on_a_bad_response() {
        assert!(!passed(500, false) && !passed(500, true));
    }
}
