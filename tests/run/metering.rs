//! Whose CPU time it was: a guest with known burdens, and what the report makes of them.
//!
//! Burdens are counted in rounds of work, so that they are in the ratio asked for whatever the machine does; what is tested is the
//! ratio of what the report charges. Every kind of disturbance that makes other meters wrong is there: virtual users in turns, waiting
//! in the midst of a check, and other processes on every CPU.

use std::process::{Child, Command, Stdio};

use crate::support::guests;
use crate::support::nettare::World;
use crate::support::target;

/// Of the check "burn", of the check "burn again", and of the scenario itself, in microseconds.
const BURDENS_US: [u32; 3] = [600, 1_200, 1_800];

/// How far a part may be from its share. On a quiet machine it is within 3 %; beside other tests the CPUs of one core slow each other
/// down by turns.
const TOLERANCE: f64 = 0.1;

/// Processes that want every CPU, ended with this value.
struct Hogs(Vec<Child>);

impl Hogs {
    fn start(count: usize) -> Hogs {
        let hog = |_| {
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .stdin(Stdio::null())
                .spawn()
                .expect("a shell can be started")
        };
        Hogs((0..count).map(hog).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            hog.kill().expect("a child can be killed");
            hog.wait().expect("a child can be waited for");
        }
    }
}

/// What of a distribution is looked at.
#[derive(Clone, Copy)]
enum Figure {
    /// The median: what the machine did to some of the evaluations does not matter.
    Median,
    /// The sum: what others took must be out of every single one.
    Sum,
}

impl Figure {
    fn of(self, trend: &serde_json::Value) -> f64 {
        let figure = |name: &str| trend[name].as_f64().expect("a figure");
        match self {
            Figure::Median => figure("p50"),
            Figure::Sum => figure("mean") * figure("count"),
        }
    }
}

/// Runs the burdens, and gives the CPU time that the report charges to each.
fn charged(vus: u32, iterations: u32, of: Figure) -> [f64; 3] {
    let (world, target) = (World::new(), target::spawn());
    let burn = world.write("burn.wasm", guests::guest("burn"));
    let [burn_us, again_us, own_us] = BURDENS_US;
    let mut arguments = vec![
        "run".to_owned(),
        burn.display().to_string(),
        "--vus".to_owned(),
        vus.to_string(),
        "--iterations".to_owned(),
        iterations.to_string(),
        "--report".to_owned(),
        "run.json".to_owned(),
    ];
    for pair in [
        format!("TARGET={}/bytes/100", target.url()),
        format!("BURN_US={burn_us}"),
        format!("AGAIN_US={again_us}"),
        format!("OWN_US={own_us}"),
    ] {
        arguments.extend(["-e".to_owned(), pair]);
    }
    world.run(&arguments).expect_code(0);
    let report = world.report("run.json");
    [
        of.of(&report.check("burn")["cpu"]),
        of.of(&report.check("burn again")["cpu"]),
        of.of(report.total("scenario_cpu")),
    ]
}

fn assert_shares(charged: [f64; 3], sentence: &str) {
    let (all, burdens) = (charged.iter().sum::<f64>(), BURDENS_US.map(f64::from));
    let asked: f64 = burdens.iter().sum();
    for (part, burden) in charged.iter().zip(burdens) {
        let (share, expected) = (part / all, burden / asked);
        assert!(
            (share / expected - 1.0).abs() <= TOLERANCE,
            "{sentence}: {share:.3} of all is charged where {expected:.3} was burnt ({charged:?})"
        );
    }
}

#[test]
fn work_is_charged_to_whoever_did_it() {
    assert_shares(charged(1, 100, Figure::Median), "one virtual user");
    assert_shares(
        charged(64, 256, Figure::Median),
        "64 virtual users in turns",
    );
}

#[test]
fn work_is_charged_to_whoever_did_it_while_others_take_the_cpu() {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let _hogs = Hogs::start(2 * cpus);
    assert_shares(charged(16, 96, Figure::Sum), "two hogs on each CPU");
}

#[test]
fn instructions_are_the_same_in_two_processes() {
    let count = |seed: &str| {
        let (world, target) = (World::new(), target::spawn());
        let checkout = world.write("checkout.wasm", guests::guest("checkout"));
        world
            .run([
                "run",
                &checkout.display().to_string(),
                "-e",
                &format!("TARGET={}", target.url()),
                "--vus",
                "1",
                "--iterations",
                "3",
                "--meter",
                "instructions",
                "--isolation",
                "iteration",
                "--seed",
                seed,
                "--threshold",
                "check_instructions: max>1000",
                "--report",
                "run.json",
            ])
            .expect_code(0);
        let report = world.report("run.json");
        let mut all: Vec<_> = report
            .value("/checks")
            .as_array()
            .expect("a list of checks")
            .iter()
            .map(|check| (check["name"].clone(), check["instructions"].clone()))
            .collect();
        all.push((
            "scenario".into(),
            report.total("scenario_instructions").clone(),
        ));
        all
    };
    let (one, two) = (count("7"), count("7"));
    assert!(one.len() > 3, "{one:?}");
    assert!(
        one.iter().all(|(_, trend)| trend["max"].as_u64() > Some(0)),
        "{one:?}"
    );
    assert_eq!(one, two);
}

#[test]
fn a_deferred_check_is_metered_like_any_other() {
    let (world, target) = (World::new(), target::spawn());
    let burn = world.write("burn.wasm", guests::guest("burn"));
    world
        .run([
            "run",
            &burn.display().to_string(),
            "--vus",
            "4",
            "--iterations",
            "40",
            "-e",
            &format!("TARGET={}/bytes/100", target.url()),
            "-e",
            "BURN_US=2000",
            "-e",
            "DEFER=1",
            "--report",
            "run.json",
        ])
        .expect_code(0);
    let report = world.report("run.json");
    let check = report.check("burn later");
    assert_eq!(check["mode"], "deferred");
    assert_eq!(
        (check["passes"].as_u64(), check["fails"].as_u64()),
        (Some(40), Some(0))
    );
    let (check_ns, own_ns) = (
        Figure::Sum.of(&check["cpu"]),
        Figure::Sum.of(report.total("scenario_cpu")),
    );
    assert!(
        check_ns > 20.0 * own_ns,
        "{check_ns} ns in the check, {own_ns} ns in the scenario"
    );
    let parts = report.value("/capacity/cpu_per_iteration_ns");
    let part = parts["checks"]["burn later"]
        .as_f64()
        .expect("its part of an iteration");
    assert!((part * 40.0 / check_ns - 1.0).abs() < 0.01, "{parts}");
}
