//! A report in plain words, with its own figures: what somebody needs who has never seen one.

use std::fmt::Write as _;

use nettare_core::report::Report;
use nettare_core::verdict::Judgement;
use nettare_report::text::time;

/// The explanation. Paragraphs about what the report does not have are left out.
pub(super) fn explain(report: &Report) -> String {
    let mut text = String::from("\nWhat this says\n");
    let paragraphs = [
        load(report),
        net(report),
        stamps(report),
        checks(report),
        verdict(report),
        next(),
    ];
    for paragraph in paragraphs.into_iter().flatten() {
        let _ = write!(text, "\n{}\n", wrapped(&paragraph));
    }
    text
}

fn load(report: &Report) -> Option<String> {
    let it = &report.iterations;
    let seconds = report.run.duration_ns as f64 / 1e9;
    Some(format!(
        "Load. In {seconds:.1} s the virtual users began {} iterations and sent {} requests, of which {} were answered. A \
         virtual user begins its next iteration when the one before has ended: a closed loop. With --rate iterations begin \
         by the clock instead, however slow the server is.",
        it.started, report.requests.attempted, report.requests.answered
    ))
}

fn net(report: &Report) -> Option<String> {
    let (net, gross) = (
        report.trend("http_req_duration")?,
        report.trend("http_req_gross")?,
    );
    let tare = report.trend("http_req_tare")?;
    Some(format!(
        "Net, tare, gross. A lorry on a scale shows its gross weight; the empty lorry is the tare; the load is the net. Here \
         half of the requests took at most {} net: from their first byte written to the response's last byte arriving at \
         this machine's kernel, which is the server's and the network's time. The scenario waited {} for them, gross; {} of \
         that is tare, what this load generator added itself. Other tools print gross and call it the server's. (Medians \
         of three distributions do not add up exactly.)",
        time(net.p50.0 as u64),
        time(gross.p50.0 as u64),
        time(tare.p50.0 as u64)
    ))
}

fn stamps(report: &Report) -> Option<String> {
    let stamps = report.run.timestamps;
    let all = stamps.exact + stamps.bound + stamps.user;
    let percent = |part: u64| part as f64 * 100.0 / all as f64;
    (all > 0).then(|| {
        format!(
            "Timestamps. {:.1} % of the arrivals were stamped exactly by the kernel; for {:.1} % the kernel's stamp is a bound, \
             later than the truth; for {:.1} % there was only the program's own clock.",
            percent(stamps.exact),
            percent(stamps.bound),
            percent(stamps.user)
        )
    })
}

fn checks(report: &Report) -> Option<String> {
    let dearest = report
        .checks
        .iter()
        .filter_map(|check| Some((check, check.cpu.as_ref()?)));
    let (check, cpu) = dearest.max_by(|(_, a), (_, b)| {
        (a.mean.0 * a.count as f64).total_cmp(&(b.mean.0 * b.count as f64))
    })?;
    Some(format!(
        "Checks. The scenario looks at what comes back, and that costs the generator CPU, metered check by check. The one \
         that took most is `{}`: {} a time. It begins when the response is there, so net latency does not contain it.",
        check.name,
        time(cpu.p50.0 as u64)
    ))
}

fn verdict(report: &Report) -> Option<String> {
    let said = match report.verdict.result {
        Judgement::Unjudged => {
            "found nothing against this run, but the generator could not be watched: it is unjudged"
        }
        Judgement::Valid => "found this run valid",
        Judgement::Suspect => "found this run suspect: its figures stand, with the reasons given",
        Judgement::Invalid => {
            "found this run INVALID: its figures are not the server's, for the reasons given"
        }
    };
    Some(format!(
        "Verdict. Every run is also judged: could the generator do what was asked? The verdict {said}."
    ))
}

fn next() -> Option<String> {
    Some(
        "Next. Load a URL of yours with `nettare quick http://127.0.0.1:8080/ -c 10 -z 10s`. Keep a report with `--report \
         run.json`. See all flags with `nettare run --help`."
            .to_owned(),
    )
}

/// Lines of at most 80 characters, indented by two.
fn wrapped(paragraph: &str) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if width == 0 || width + 1 + length > 80 {
            lines.push_str(if width == 0 { "  " } else { "\n  " });
            width = 2;
        } else {
            lines.push(' ');
            width += 1;
        }
        lines.push_str(word);
        width += length;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_fit_eighty_columns() {
        let text = wrapped(&"word ".repeat(100));
        assert!(
            text.lines()
                .all(|line| line.len() <= 80 && line.starts_with("  word")),
            "{text}"
        );
        assert_eq!(text.split_whitespace().count(), 100);
    }
}
