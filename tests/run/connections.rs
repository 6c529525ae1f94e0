//! How long connections are kept, as the server counts them.

use nettare_target::{Target, TargetOptions};

use crate::support::nettare::World;

fn quick(world: &World, target: &Target, flags: &[&str]) {
    let url = format!("{}/", target.url());
    let fixed = ["quick", &url, "-n", "40", "-c", "4", "--report", "run.json"];
    world.run(fixed.iter().chain(flags)).expect_code(0);
}

#[test]
fn a_connection_for_each_request_is_what_the_server_sees_over_every_protocol() {
    let rows: [(&str, bool, &[&str], u64); 7] = [
        ("HTTP/1.1, kept", false, &[], 4),
        ("HTTP/1.1", false, &["--connections", "per-request"], 40),
        ("by hey's name", false, &["--disable-keepalive"], 40),
        (
            "an iteration of one request",
            false,
            &["--connections", "per-iteration"],
            40,
        ),
        (
            "HTTP/2 from the first byte",
            false,
            &["--http2", "--connections", "per-request"],
            40,
        ),
        (
            "HTTP/1.1 over TLS",
            true,
            &[
                "--insecure-skip-tls-verify",
                "--http1",
                "--connections",
                "per-request",
            ],
            40,
        ),
        (
            "HTTP/2 over TLS",
            true,
            &["--insecure-skip-tls-verify", "--connections", "per-request"],
            40,
        ),
    ];
    for (what, tls, flags, connections) in rows {
        let world = World::new();
        let options = TargetOptions {
            tls,
            ..TargetOptions::default()
        };
        let target = nettare_target::spawn(&options).expect("a target can be started");
        quick(&world, &target, flags);
        let (report, counts) = (world.report("run.json"), target.counts());
        report.assert_balanced();
        assert_eq!(
            (counts.finished, counts.connections_accepted),
            (40, connections),
            "{what}"
        );
        assert_eq!(report.count("/connections/opened"), connections, "{what}");
        assert_eq!(
            report.count("/connections/reused"),
            40 - connections,
            "{what}"
        );
    }
}
