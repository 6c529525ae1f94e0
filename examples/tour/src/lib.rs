//! Everything a scenario can do, once.
//!
//! [`setup`] runs once a run, [`Visitor::enter`] once for each virtual user, a scenario once an iteration, [`teardown`] at the end.

use std::time::Duration;

use nettare::{
    Context, Counter, Gauge, Pending, Rate, Request, Result, TimeTrend, Trend, arrival, batch,
    check, check_ok, env, group, log, random, sleep, time, vu, wait_any,
};
use serde::{Deserialize, Serialize};

nettare::main! {
    options: include_str!("../options.toml"),
    checks: ["greeting is text", "all pages are there"],
    setup: setup,
    init: Visitor::enter,
    scenarios: [tour, glance],
    teardown: teardown,
}

const PAGES: Counter = Counter::new("tour_pages");
const BYTES: Trend = Trend::new("tour_page_size").of_bytes();
const READING: TimeTrend = TimeTrend::new("tour_reading");
const FOUND: Rate = Rate::new("tour_found");
const STEP: Gauge = Gauge::new("tour_step");

/// Made once a run, and given to every virtual user.
#[derive(Serialize, Deserialize)]
struct Site {
    base: String,
    token: String,
}

fn setup() -> Result<Site> {
    #[derive(Serialize)]
    struct Credentials<'a> {
        user: &'a str,
        password: &'a str,
    }
    #[derive(Deserialize)]
    struct Login {
        token: String,
    }
    let base = env("TARGET")?;
    let credentials = Credentials {
        user: "guide",
        password: "secret",
    };
    let login: Login = Request::post(format!("{base}/login"))
        .name("/login")
        .json(&credentials)
        .send()?
        .error_for_status()?
        .json()
        .context("logging in")?;
    log::info!("set up for {base}");
    Ok(Site {
        base,
        token: login.token,
    })
}

/// What a virtual user keeps from iteration to iteration.
struct Visitor {
    site: Site,
    /// Built once and sent often: the host keeps it.
    greeting: Request,
    visits: u32,
}

impl Visitor {
    fn enter(site: Site) -> Result<Visitor> {
        let greeting = Request::get(format!("{}/", site.base))
            .name("/")
            .bearer(&site.token)
            .header("accept", "text/plain")
            .timeout(Duration::from_secs(5))
            .expect_status(200..=299);
        Ok(Visitor {
            site,
            greeting,
            visits: 0,
        })
    }

    fn page(&self, count: u64) -> Request {
        Request::get(format!("{}/products?count={count}", self.site.base)).name("/products")
    }
}

fn tour(visitor: &mut Visitor) -> Result {
    visitor.visits += 1;
    let visit = if visitor.visits == 1 {
        "first"
    } else {
        "later"
    };
    vu::tag("visit", visit);
    greet(visitor)?;
    group("read", || read(visitor))?;
    group("compare", || race(visitor))
}

fn greet(visitor: &Visitor) -> Result {
    STEP.set(1.0);
    let response = visitor.greeting.send()?;
    let greeting = check_ok("greeting is text", || response.text())?;
    FOUND.add(greeting.contains("Nettare"));
    FOUND
        .tagged(&[("where", "host")])
        .add(response.contains("Nettare")?);
    let (number, late) = (arrival().sequence, arrival().started - arrival().due);
    log::debug!(
        "visit {number} began {late:?} late, and was greeted in {:?}",
        response.timing().gross
    );
    Ok(())
}

/// Several requests at once, all of them wanted.
fn read(visitor: &Visitor) -> Result {
    STEP.set(2.0);
    let began = time::now();
    let pages = [1, 2, 3].map(|count| visitor.page(count));
    let answers = batch(&pages);
    check("all pages are there", || {
        answers
            .iter()
            .all(|answer| answer.as_ref().is_ok_and(|page| page.status() == 200))
    });
    for answer in answers {
        PAGES.add(1.0);
        BYTES.add(answer?.length() as f64);
    }
    sleep(Duration::from_millis(random::range(1..5)))?;
    READING.add(time::now() - began);
    Ok(())
}

/// Several requests at once, the first answer wanted.
fn race(visitor: &Visitor) -> Result {
    STEP.set(3.0);
    let mut runners: Vec<Pending> = (1..4)
        .map(|count| visitor.page(count).discard_body().start())
        .collect();
    let first =
        wait_any(&runners, Some(Duration::from_secs(5))).context("nobody arrived in time")?;
    let winner = runners.swap_remove(first).wait()?;
    runners.into_iter().for_each(Pending::cancel);
    PAGES
        .tagged(&[("race", "won")])
        .add(f64::from(winner.timing().hops));
    Ok(())
}

/// Another scenario of the same guest: `--scenario glance`.
fn glance(visitor: &mut Visitor) -> Result {
    greet(visitor)
}

fn teardown(site: Site) -> Result {
    log::info!("the tour of {} is over", site.base);
    Ok(())
}
