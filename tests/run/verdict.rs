//! What a run says of its own generator: nothing on a quiet machine, and why on one that is not.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::nettare::{Running, World};
use crate::support::report::Report;
use crate::support::target;

/// Reasons that a machine busy with other tests gives, whatever the run does.
const OF_THE_MACHINE: &[&str] = &[
    "io-lag",
    "kswapd",
    "late-starts",
    "memory-available",
    "memory-pressure",
    "receive-queues",
    "softnet-dropped",
    "softnet-squeezed",
    "steal",
    "network-link",
    "ports",
];

/// Runs of which one has to find the machine quiet.
const TRIES: u32 = 20;

fn reasons(report: &Report) -> Vec<String> {
    let reasons = report.value("/verdict/reasons").as_array();
    reasons
        .expect("reasons are a list")
        .iter()
        .map(|reason| {
            reason["rule"]
                .as_str()
                .expect("a rule has a name")
                .to_owned()
        })
        .collect()
}

/// Other tests run beside this one, so that a single run may have met a busy second; that it says so is right. But whatever it
/// names must be the machine's doing, and a run that meets none is valid.
#[test]
fn an_idle_short_run_is_valid() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/", target.url());
    let arguments = ["quick", &url, "-n", "20", "-c", "2", "--report", "run.json"];
    for _ in 0..TRIES {
        world.run(arguments).expect_code(0);
        let report = world.report("run.json");
        let reasons = reasons(&report);
        if reasons.is_empty() {
            assert_eq!(report.value("/verdict/result"), "valid");
            return;
        }
        for reason in &reasons {
            assert!(OF_THE_MACHINE.contains(&reason.as_str()), "{reasons:?}");
        }
    }
    panic!("none of {TRIES} short runs was valid");
}

#[test]
fn the_generators_health_is_in_the_report_and_can_be_judged_by() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/", target.url());
    let arguments = [
        "quick",
        &url,
        "-q",
        "50",
        "-z",
        "2s",
        "-c",
        "4",
        "--threshold",
        "gen_descriptors: max<1000000",
        "--threshold",
        "gen_resident_bytes: max<1B",
        "--report",
        "run.json",
    ];
    world.run(arguments).expect_code(99);
    let report = world.report("run.json");
    let result = |n: usize| {
        report
            .value(&format!("/thresholds/{n}/result"))
            .as_str()
            .map(str::to_owned)
    };
    let mut results = [result(0), result(1)];
    results.sort();
    assert_eq!(
        results.map(|result| result.expect("a threshold has a result")),
        ["fail", "pass"]
    );
    let series = report
        .value("/generator/series")
        .as_object()
        .expect("series by name");
    for name in [
        "gen_cpu",
        "gen_io_lag_p99_ns",
        "gen_resident_bytes",
        "gen_sockets_tcp",
    ] {
        let values = series.get(name).and_then(Value::as_array);
        assert!(
            values.is_some_and(|values| values.len() >= 2),
            "{name} has no value for each second"
        );
    }
    let peak = report.value("/generator/peak/gen_cpu").as_f64();
    assert!(peak.is_some_and(|share| share > 0.0 && share <= 1.0));
}

#[test]
fn load_that_could_not_be_offered_is_a_stall_with_its_cause() {
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/delay/400", target.url());
    let arguments = [
        "quick", &url, "-q", "100", "-z", "2s", "-c", "1", "--report", "run.json",
    ];
    let summary = world.run(arguments).expect_code(0).stdout;
    let report = world.report("run.json");
    assert_eq!(report.value("/stalls/0/cause"), "no-free-vu");
    assert!(report.count("/stalls/0/started") < report.count("/stalls/0/expected"));
    assert!(summary.contains("no virtual user was free"), "{summary}");
}

/// A control group with a CPU quota, which goes when it is dropped.
struct Quota {
    folder: PathBuf,
}

impl Quota {
    /// A quota of a tenth of a CPU; why there is none where the machine does not let us make it.
    fn a_tenth() -> Result<Quota, String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|e| e.to_string())?;
        let (mount, files) = cpu_hierarchy(&mounts)
            .ok_or_else(|| "no CPU controller of control groups is mounted".to_owned())?;
        let folder = mount.join(format!("nettare-test-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let quota = Quota { folder };
        for (file, value) in files {
            let path = quota.folder.join(file);
            fs::write(&path, value).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(quota)
    }

    /// The shell command that enters the group and goes on with what it is given.
    fn entering(&self) -> String {
        let processes = self.folder.join("cgroup.procs");
        format!("echo $$ > {} && exec \"$@\"", processes.display())
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Its processes have ended by now; a group that stays behind is empty and does no harm.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// What is written into which file of a group.
type Settings = &'static [(&'static str, &'static str)];

/// Where the CPU controller is, and what makes a tenth of a CPU there.
fn cpu_hierarchy(mounts: &str) -> Option<(PathBuf, Settings)> {
    let of_kind = |kind: &str, option: &str| {
        mounts.lines().find_map(|line| {
            let (mount, file_system) = line.split_once(" - ")?;
            let is_it = file_system.starts_with(&format!("{kind} "))
                && file_system.split([' ', ',']).any(|word| word == option);
            let path = mount.split(' ').nth(4)?;
            is_it.then(|| Path::new(path).to_owned())
        })
    };
    if let Some(first) = of_kind("cgroup", "cpu") {
        let settings: Settings = &[
            ("cpu.cfs_period_us", "100000"),
            ("cpu.cfs_quota_us", "10000"),
        ];
        return Some((first, settings));
    }
    let settings: Settings = &[("cpu.max", "10000 100000")];
    Some((of_kind("cgroup2", "rw")?, settings))
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a machine that cannot make the test's surroundings must not pass it in silence"
)]
fn a_run_under_a_tight_cpu_quota_says_that_it_was_throttled() {
    let quota = match Quota::a_tenth() {
        Ok(quota) => quota,
        Err(why) => {
            eprintln!("NOT TESTED: a run under a CPU quota, because none can be made here: {why}");
            return;
        }
    };
    let (world, target) = (World::new(), target::spawn());
    let url = format!("{}/", target.url());
    let arguments = [
        "quick",
        &url,
        "-c",
        "16",
        "-z",
        "3s",
        "--allow-invalid",
        "--report",
        "run.json",
    ];
    let shell = ["sh", "-c", &quota.entering(), "sh"];
    let mut throttled = world.command_under(&shell, arguments);
    let finished = Running::start(&mut throttled).finish().expect_code(0);
    let report = world.report("run.json");
    let reasons = reasons(&report);
    assert!(
        reasons.iter().any(|rule| rule == "cgroup-throttling"),
        "{reasons:?}"
    );
    let verdict = finished.stdout.find("cgroup-throttling");
    let plan = finished.stdout.find("\n  plan ");
    assert!(
        verdict.is_some() && verdict < plan,
        "the reason comes first:\n{}",
        finished.stdout
    );
    let quota = report.value("/generator/peak/gen_cpu_quota").as_f64();
    assert_eq!(quota, Some(0.1));
}
