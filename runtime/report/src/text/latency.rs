//! Distributions: net, gross and tare; their phases; iterations; the scenario's own metrics.

use nettare_core::report::{Figures, Metric, Report, TimestampCounts, Trend};
use nettare_core::stats::{Unit, builtin};

use super::page::{Cell, Page, Tone};
use super::units::{count, percent, rate, value};

/// Over this share of `bound` stamps, phases say more about segments than about the server.
const BOUND_LIMIT: f64 = 0.05;

const NET: [(&str, &str); 3] = [
    ("net", "http_req_duration"),
    ("gross", "http_req_gross"),
    ("tare", "http_req_tare"),
];

const NET_LEGEND: &str = "net: the server and the network; gross: what the scenario waited; tare: what this generator added";

const PHASES: [(&str, &str); 7] = [
    ("blocked", "http_req_blocked"),
    ("looking up", "http_req_looking_up"),
    ("connecting", "http_req_connecting"),
    ("TLS", "http_req_tls_handshaking"),
    ("sending", "http_req_sending"),
    ("waiting", "http_req_waiting"),
    ("receiving", "http_req_receiving"),
];

const ITERATIONS: [(&str, &str); 3] = [
    ("response", "iteration_response"),
    ("duration", "iteration_duration"),
    ("CPU", "scenario_cpu"),
];

const ITERATIONS_LEGEND: &str = "response: from the time it was due; duration: from its start; late: for want of a free VU, or by the generator's own lag";

pub(super) fn latency(page: &mut Page, report: &Report) {
    let rows = rows_of(report, &NET);
    if !rows.is_empty() {
        page.title("Latency of requests");
        page.table(&with_heading(rows));
        page.paragraph(NET_LEGEND, Tone::Faint);
    }
    phases(page, report);
    let mut rows = rows_of(report, &ITERATIONS);
    if let Some(lateness) = &report.lateness {
        rows.push(row("late: no VU", &lateness.no_vu, Unit::Nanoseconds));
        rows.push(row("late: lag", &lateness.lag, Unit::Nanoseconds));
    }
    if !rows.is_empty() {
        page.title("Iterations");
        page.table(&with_heading(rows));
        page.paragraph(ITERATIONS_LEGEND, Tone::Faint);
    }
}

fn phases(page: &mut Page, report: &Report) {
    let stamps = report.run.timestamps;
    let TimestampCounts { exact, bound, user } = stamps;
    let all = exact + bound + user;
    if all == 0 {
        return;
    }
    let share = |part: u64| part as f64 / all as f64;
    page.title("Phases");
    if share(bound) > BOUND_LIMIT {
        let text = format!(
            "withheld: {} of the stamps are bounds, more than {}",
            percent(share(bound)),
            percent(BOUND_LIMIT)
        );
        page.paragraph(&text, Tone::Caution);
    } else {
        page.table(&with_heading(rows_of(report, &PHASES)));
    }
    let [exact, bound, user] = [exact, bound, user].map(|part| percent(share(part)));
    page.paragraph(
        &format!("timestamps: exact {exact}, bound {bound}, user {user}"),
        Tone::Plain,
    );
}

/// Metrics that the scenario defines itself.
pub(super) fn own_metrics(page: &mut Page, report: &Report) {
    let own = |m: &&Metric| {
        m.tags.is_empty() && builtin(&m.name).is_none() && !m.name.starts_with("gen_")
    };
    let own: Vec<&Metric> = report.metrics.iter().filter(own).collect();
    if own.is_empty() {
        return;
    }
    page.title("Metrics of the scenario");
    let trends = own.iter().filter_map(|m| match &m.figures {
        Figures::Trend(trend) => Some(row(&m.name, trend, m.unit)),
        _ => None,
    });
    let trends: Vec<_> = trends.collect();
    if !trends.is_empty() {
        page.table(&with_heading(trends));
    }
    let singles: Vec<_> = own.iter().filter_map(|m| single(m)).collect();
    if !singles.is_empty() {
        page.table(&singles);
    }
}

fn single(metric: &Metric) -> Option<Vec<Cell>> {
    let text = match &metric.figures {
        Figures::Trend(_) => return None,
        Figures::Counter {
            value: sum,
            per_second,
        } => {
            format!(
                "{} ({})",
                value(sum.0, metric.unit),
                pace(per_second.0, metric.unit)
            )
        }
        Figures::Gauge {
            value: last,
            min,
            max,
        } => {
            let [last, min, max] = [last, min, max].map(|v| value(v.0, metric.unit));
            format!("{last} (from {min} to {max})")
        }
        Figures::Rate {
            passes,
            fails,
            rate,
        } => {
            format!(
                "{} ({} of {})",
                percent(rate.0),
                count(*passes),
                count(passes + fails)
            )
        }
    };
    Some(vec![Cell::left(&metric.name), Cell::left(text)])
}

fn pace(per_second: f64, unit: Unit) -> String {
    match unit {
        Unit::Plain => rate(per_second),
        Unit::Bytes | Unit::Nanoseconds => format!("{}/s", value(per_second, unit)),
    }
}

fn rows_of(report: &Report, wanted: &[(&str, &str)]) -> Vec<Vec<Cell>> {
    let rows = wanted
        .iter()
        .filter_map(|(label, name)| Some(row(label, report.trend(name)?, Unit::Nanoseconds)));
    rows.collect()
}

fn with_heading(rows: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
    let figures = ["count", "p50", "p90", "p95", "p99", "p99.9", "max"];
    let cells = figures.map(|figure| Cell::right(figure).tone(Tone::Faint));
    let heading = [Cell::left("")].into_iter().chain(cells).collect();
    [heading].into_iter().chain(rows).collect()
}

fn row(label: &str, trend: &Trend, unit: Unit) -> Vec<Cell> {
    let shown = [
        trend.p50,
        trend.p90,
        trend.p95,
        trend.p99,
        trend.p99_9,
        trend.max,
    ];
    let figures = shown.map(|figure| Cell::right(value(figure.0, unit)));
    [Cell::left(label), Cell::right(count(trend.count))]
        .into_iter()
        .chain(figures)
        .collect()
}
