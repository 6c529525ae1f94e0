//! A generator that runs out of local ports: foretold, refused, and where it is started all the same told apart from the server's
//! failures.
//!
//! Each test has a network of its own with 200 local ports, where a port in TIME_WAIT is not used again for a minute: here the
//! generator closes first, so they are the generator's.

use serde_json::Value;

use crate::support::namespace::Namespace;
use crate::support::nettare::{Finished, Running, World};
use crate::support::target::TargetProcess;

const PORTS: u64 = 200;

/// A target in a network with few ports.
struct Narrow {
    // The target goes before its network.
    target: TargetProcess,
    namespace: Namespace,
}

impl Narrow {
    fn make(world: &World) -> Option<Narrow> {
        let namespace = Namespace::make()?;
        namespace.set("net/ipv4/ip_local_port_range", "32768 32967");
        namespace.set("net/ipv4/tcp_tw_reuse", "0");
        // The range is for outgoing connections, and port 0 would take a listener's port out of it.
        let arguments = ["demo-target", "--listen", "127.0.0.1:8080"];
        let target = TargetProcess::start(&mut world.command_under(&namespace.within(), arguments));
        Some(Narrow { target, namespace })
    }

    fn run(&self, world: &World, arguments: &[&str]) -> Finished {
        let mut command = world.command_under(&self.namespace.within(), arguments);
        Running::start(&mut command).finish()
    }

    fn quick(&self, world: &World, flags: &str) -> Finished {
        let url = format!("{}/", self.target.url());
        let fixed = [
            "quick",
            &url,
            "--connections",
            "per-request",
            "--report",
            "run.json",
        ];
        let flags = flags.split(' ');
        self.run(world, &fixed.into_iter().chain(flags).collect::<Vec<_>>())
    }
}

#[test]
fn a_rate_that_needs_more_ports_than_there_are_is_refused_before_the_first_request() {
    let world = World::new();
    let Some(narrow) = Narrow::make(&world) else {
        return;
    };
    let refused = narrow.quick(&world, "-z 3s -q 100 -c 4").expect_code(104);
    let told = "error: the plan needs 301 local ports for each address it connects to (100/s connections opened, each holding its port \
                for 1m after its end), and 200 are free";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    let hint = "hint: sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"; or start it all the same with --allow-invalid";
    assert!(refused.stderr.contains(hint), "{}", refused.stderr);
    assert!(!world.work().join("run.json").exists(), "nothing was run");
}

#[test]
fn a_rate_that_needs_more_ports_than_there_are_runs_when_it_is_told_to() {
    let world = World::new();
    let Some(narrow) = Narrow::make(&world) else {
        return;
    };
    // The code is what `--allow-invalid` turns off; the verdict is not.
    let forced = narrow
        .quick(&world, "-z 3s -q 100 -c 4 --allow-invalid")
        .expect_code(0);
    assert!(
        forced
            .stderr
            .contains("started all the same, by --allow-invalid"),
        "{}",
        forced.stderr
    );
    let report = world.report("run.json");
    report.assert_balanced();
    assert_eq!(report.value("/verdict/result"), "invalid");
    let (answered, limited) = (
        report.count("/requests/answered"),
        report.failed("generator-limit"),
    );
    assert_eq!(
        (answered, answered + limited),
        (PORTS, report.count("/requests/attempted"))
    );
}

#[test]
fn exhausted_ports_are_the_generators_limit_and_never_the_servers_failure() {
    let world = World::new();
    let Some(narrow) = Narrow::make(&world) else {
        return;
    };
    let finished = narrow.quick(&world, "-n 2000 -c 4").expect_code(111);
    let foretold = "warning: the plan opens connections as fast as they go, each holding a local port for 1m after its end, and 200 are \
                    free: more than 3 a second use them up";
    assert!(finished.stderr.contains(foretold), "{}", finished.stderr);

    let report = world.report("run.json");
    report.assert_balanced();
    let (answered, limited) = (
        report.count("/requests/answered"),
        report.failed("generator-limit"),
    );
    assert_eq!(
        answered, PORTS,
        "one request a port, and the rest found none"
    );
    assert_eq!(
        (limited, report.sum("/requests/failed")),
        (2_000 - PORTS, 2_000 - PORTS)
    );
    assert_eq!(
        report.count("/requests/connected"),
        PORTS,
        "who has no port was never connected"
    );
    let error = &report.value("/errors")[0];
    assert_eq!(
        (&error["kind"], &error["code"]),
        (&Value::from("generator-limit"), &Value::from(99)),
        "EADDRNOTAVAIL"
    );

    assert_eq!(report.value("/verdict/result"), "invalid");
    let reason = &report.value("/verdict/reasons")[0];
    assert_eq!(reason["rule"], "generator-limit");
    let advice = reason["advice"].as_str().expect("a text");
    assert!(
        advice.contains("sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\""),
        "{advice}"
    );

    // What was advised helps: the ports in TIME_WAIT are still held, and there are others.
    narrow
        .namespace
        .set("net/ipv4/ip_local_port_range", "1024 65535");
    narrow.quick(&world, "-n 2000 -c 4").expect_code(0);
    let report = world.report("run.json");
    assert_eq!(
        (
            report.count("/requests/answered"),
            report.sum("/requests/failed")
        ),
        (2_000, 0)
    );
}

#[test]
fn kept_connections_need_no_more_ports_than_there_are_users() {
    let world = World::new();
    let Some(narrow) = Narrow::make(&world) else {
        return;
    };
    let url = format!("{}/", narrow.target.url());
    let finished = narrow
        .run(
            &world,
            &[
                "quick", &url, "-n", "2000", "-c", "4", "--report", "run.json",
            ],
        )
        .expect_code(0);
    // In a namespace without the groups of processes the generator's health is not known in full, and a warning says so.
    let mut warnings = finished
        .stderr
        .lines()
        .filter(|line| line.contains("warning:") && !line.contains("health is not known in full"));
    assert_eq!(warnings.next(), None, "{}", finished.stderr);
    assert_eq!(world.report("run.json").count("/requests/answered"), 2_000);
}

#[test]
fn doctor_sees_the_ports_that_are_held() {
    let world = World::new();
    let Some(narrow) = Narrow::make(&world) else {
        return;
    };
    narrow.quick(&world, "-n 50 -c 1").expect_code(0);
    let text = r#"(module
          (memory (export "memory") 1)
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          (func (export "run") (param i32 i64 i64 i64) (result i32) (i32.const 0)))"#;
    world.write(
        "idle.wasm",
        wat::parse_str(text).expect("the text is WebAssembly"),
    );
    let target = format!("TARGET={}", narrow.target.url());
    let arguments = [
        "doctor",
        "idle.wasm",
        "-e",
        &target,
        "-u",
        "170",
        "-d",
        "1s",
        "--json",
    ];
    let finished = narrow.run(&world, &arguments).expect_code(104);
    let printed: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(
        (&printed["schema"], &printed["result"]),
        (&Value::from("nettare.doctor/1"), &Value::from("error"))
    );
    let ports = &printed["findings"][0];
    assert_eq!(
        (&ports["rule"], &ports["severity"]),
        (&Value::from("ports"), &Value::from("error"))
    );
    let sentence =
        "the plan needs 170 local ports for each address it connects to, and 150 are free";
    assert_eq!(ports["sentence"], sentence, "50 are in TIME_WAIT");
    let refused = narrow
        .run(
            &world,
            &["run", "idle.wasm", "-e", &target, "-u", "170", "-d", "1s"],
        )
        .expect_code(104);
    assert!(
        refused.stderr.contains(&format!("error: {sentence}\n")),
        "the same sentence: {}",
        refused.stderr
    );
}
