//! The story in plain words, with the figures of the two runs: what somebody needs who has never seen such a report.

use std::fmt::Write as _;

use nettare_core::report::{Report, Trend};
use nettare_core::verdict::Judgement;
use nettare_report::text::{count, percent, time};

/// The explanation. Paragraphs about what the reports do not have are left out.
pub(super) fn explain(inline: &Report, deferred: &Report) -> String {
    let mut text = String::from("\nWhat this says\n");
    let paragraphs = [
        net(inline),
        checks(inline),
        verdict(inline),
        later(inline, deferred),
        capacity(inline),
        next(),
    ];
    for paragraph in paragraphs.into_iter().flatten() {
        let _ = write!(text, "\n{}\n", wrapped(&paragraph));
    }
    text
}

fn median(trend: &Trend) -> String {
    time(trend.p50.0 as u64)
}

fn net(inline: &Report) -> Option<String> {
    let (net, gross) = (
        inline.trend("http_req_duration")?,
        inline.trend("http_req_gross")?,
    );
    Some(format!(
        "Net, tare, gross. A lorry on a scale shows its gross weight; the empty lorry is the tare; the load is the net. In the first \
         run the scenario waited {} for half of its responses, gross. Other tools print that and call it the server's latency. \
         Net it was {}: from a request's first byte written to the response's last byte arriving at this machine's kernel. The rest is \
         tare, what this load generator added itself, because it was busy.",
        median(gross),
        median(net)
    ))
}

fn checks(inline: &Report) -> Option<String> {
    let check = inline.checks.first()?;
    let (cpu, share) = (check.cpu.as_ref()?, check.cpu_share?);
    Some(format!(
        "Checks. What it was busy with: `{}` reads 800 KB of JSON, {} of CPU a time, and took {} of all CPU that this generator used. \
         Every check is metered by its name.",
        check.name,
        median(cpu),
        percent(share.0)
    ))
}

fn verdict(inline: &Report) -> Option<String> {
    let word = match inline.verdict.result {
        Judgement::Unjudged => return None,
        Judgement::Valid => "VALID",
        Judgement::Suspect => "SUSPECT: its figures stand, with the reasons given",
        Judgement::Invalid => "INVALID: its figures are not to be believed, for the reasons given",
    };
    Some(format!(
        "Verdict. Every run is judged: could the generator do what was asked? The first run is {word}."
    ))
}

fn later(inline: &Report, deferred: &Report) -> Option<String> {
    let (before, after) = (
        inline.trend("http_req_gross")?,
        deferred.trend("http_req_gross")?,
    );
    let check = deferred.checks.first()?;
    let wait = check.queue_wait.as_ref()?;
    Some(format!(
        "Deferred. In the second run the same check of the same responses is handed to threads that run when nobody else wants a CPU. \
         Responses wait for their check, {} at the median; nobody waits for the check: gross is {} where it was {}. {} of {} checks \
         were evaluated.",
        median(wait),
        median(after),
        median(before),
        count(check.passes + check.fails),
        count(check.passes + check.fails + check.skipped.values().sum::<u64>())
    ))
}

fn capacity(inline: &Report) -> Option<String> {
    let capacity = inline.capacity.as_ref()?;
    let rates = &capacity.sustainable_per_second;
    Some(format!(
        "Capacity. By these figures this machine sustains {:.0} iterations a second with the checks, and {:.0} without them.",
        rates.as_is.0, rates.without_checks.0
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
