//! The page that docs/truth.md is.

use std::process::Command;

use super::Bench;
use super::judge::Judged;
use super::peer::{CONNECTIONS, Peer};
use crate::measure::figures::{grouped, short};
use crate::measure::machine::{self, version};
use crate::measure::table::Table;

/// The whole page, as it is written.
pub(super) fn render(bench: &Bench, judged: &[Judged], peers: &[Peer]) -> anyhow::Result<String> {
    let mut versions = vec![version(Command::new(&bench.nettare).arg("--version"))];
    if !peers.is_empty() {
        versions.push(version(Command::new("wrk").arg("-v")));
    }
    let head = Head {
        machine: machine::describe(&versions)?,
        date: machine::date()?,
        commit: machine::commit()?,
        pairs: bench.pairs,
        seconds: bench.seconds,
    };
    Ok(assemble(&head, judged, peers))
}

struct Head {
    machine: String,
    date: String,
    commit: String,
    pairs: u32,
    seconds: u32,
}

fn assemble(head: &Head, judged: &[Judged], peers: &[Peer]) -> String {
    let Head {
        machine,
        date,
        commit,
        pairs,
        seconds,
    } = head;
    let broken = judged.iter().filter(|j| !j.holds()).count();
    let summary = match broken {
        0 => format!("All {} rows hold.", judged.len()),
        _ => format!("{broken} of {} rows do not hold.", judged.len()),
    };
    format!(
        "# The truth test

Whether net stays the server's when the generator is hopelessly overloaded. Written by `cargo xtask truth`: the demo target runs on
one CPU, Nettare on another, and a guest checks every response by burning CPU time. Arrivals come at the same constant rate in
every run of a row: at the baseline their checks ask for 5 % of the generator's CPU, overloaded for once, ten and a hundred times the
CPU there is. The server does the same for a request either way, so net has to stay; gross, which is what a clock in user space sees,
grows with the load. There is a virtual user for each arrival, so that every one starts when it is due; their connections are opened and
warmed up before the load begins. Responses whose guests did not get round to them before the end have a net time and no gross time;
where a thousand guests share the CPU, it may be that no check ends.

The bounds: net p50 within 10 % or 0.2 ms of the baseline, p99 within 10 % or 1 ms, whichever is more, and from ten times on gross
p50 at least fifty times the baseline's. Figures are medians over {pairs} alternating pairs of {seconds} s runs; differences and growth
are taken within each pair. An arrow leads from the baseline to the overloaded run. Times are milliseconds.

**{summary}**

{}
{}{machine} Measured on {date} at {commit}.
",
        rows(judged),
        beside(peers),
    )
}

fn rows(judged: &[Judged]) -> String {
    let header = [
        "case",
        "net p50",
        "net p99",
        "gross p50",
        "growth",
        "check CPU",
        "responses",
        "exact stamps",
        "verdict",
    ];
    let mut table = Table::new(header);
    for row in judged {
        let known = |ms: f64| match ms.is_nan() {
            true => "none ended".to_owned(),
            false => short(ms),
        };
        let arrow = |(before, after): (f64, f64)| format!("{} → {}", known(before), known(after));
        table.row([
            row.case.to_string(),
            arrow(row.medians(|f| f.net_p50)),
            arrow(row.medians(|f| f.net_p99)),
            arrow(row.medians(|f| f.gross_p50)),
            format!("{}×", grouped(row.growth())),
            arrow(row.medians(|f| f.burnt_p50)),
            grouped(row.medians(|f| f.answered).1),
            format!("{:.1} %", 100.0 * row.medians(|f| f.exact).1),
            row.verdict(),
        ]);
    }
    table.render()
}

fn beside(peers: &[Peer]) -> String {
    if peers.is_empty() {
        return String::new();
    }
    let burdened = format!("{CONNECTIONS} connections, burdened");
    let mut table = Table::new(["wrk's p50", "one connection", &burdened]);
    for peer in peers {
        table.row([
            format!("{}, {}", peer.speech, peer.body),
            short(peer.alone_p50),
            short(peer.burdened_p50),
        ]);
    }
    format!(
        "For comparison, wrk with a script that burns as much CPU for each response as the guest does at ten times the load. Its clock
stops when it gets round to reading, so what it prints is its own queue.

{}
",
        table.render()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::judge::tests::figures;
    use crate::truth::pair::Pair;
    use crate::truth::plan::{Body, Speech, cases};

    fn page(overloaded_p99: f64) -> String {
        let head = Head {
            machine: "A machine. Tools.".to_owned(),
            date: "2030-01-01".to_owned(),
            commit: "abc".to_owned(),
            pairs: 5,
            seconds: 10,
        };
        let pair = Pair {
            baseline: figures(0.1, 0.5, 0.2),
            overloaded: figures(0.12, overloaded_p99, 320.0),
        };
        let peer = Peer {
            speech: Speech::Http1,
            body: Body::Small,
            alone_p50: 0.04,
            burdened_p50: 321.0,
        };
        assemble(&head, &[Judged::new(cases()[1], Ok(vec![pair]))], &[peer])
    }

    #[test]
    fn a_row_shows_both_runs_and_the_verdict() {
        let page = page(0.6);
        for part in [
            "**All 1 rows hold.**",
            "HTTP/1.1, 1 KB, 10×",
            "0.50 → 0.60",
            "0.20 → 320",
            "1,600×",
            "holds",
            "A machine. Tools.",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
    }

    #[test]
    fn a_broken_bound_stands_in_the_summary_and_in_its_row() {
        let page = page(2.0);
        assert!(page.contains("**1 of 1 rows do not hold.**"), "{page}");
        assert!(
            page.contains("net p99 moved by 1.50 ms, 1.00 ms are allowed"),
            "{page}"
        );
    }
}
