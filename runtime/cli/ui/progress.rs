//! Progress of a run: two live lines on a terminal, else a plain line every five seconds, so that a log file of a pipeline
//! shows that the run lives and what it does.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nettare_core::event::{Interval, RunEvent};
use nettare_core::plan::{Executor, Plan};
use nettare_core::units::Nanoseconds;

use super::Ui;

/// Between two plain lines, in intervals of one second.
const PLAIN_EVERY: u64 = 5;

/// The display.
#[derive(Debug)]
pub(crate) struct Progress {
    ui: Ui,
    goal: Goal,
    /// On a terminal only.
    bar: Option<ProgressBar>,
    /// Of the whole run so far.
    sums: Sums,
}

/// What the run is measured by.
#[derive(Clone, Copy, Debug)]
enum Goal {
    /// A time, in nanoseconds.
    Duration(u64),
    /// A number of iterations.
    Iterations(u64),
}

/// What had happened when the last interval closed.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    intervals: u64,
    iterations: u64,
    failed: u64,
    dropped: u64,
}

impl Progress {
    /// A display for a run of `plan`; none with `--quiet`.
    pub(crate) fn new(ui: Ui, plan: &Plan) -> Progress {
        let goal = plan
            .scenarios
            .first()
            .map_or(Goal::Duration(0), |scenario| goal(&scenario.executor));
        let bar = (ui.live && !ui.quiet).then(|| bar(goal, ui));
        Progress {
            ui,
            goal,
            bar,
            sums: Sums::default(),
        }
    }

    /// Shows what an event says.
    pub(crate) fn observe(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Preparing { vus: 1 } => self.say("preparing 1 virtual user"),
            RunEvent::Preparing { vus } => self.say(&format!("preparing {vus} virtual users")),
            RunEvent::Interval(interval) => self.interval(interval),
            RunEvent::Draining => self.say("nothing starts any more; iterations under way may end"),
            _ => {}
        }
    }

    /// Lets something else be printed, above the live lines.
    pub(crate) fn aside(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Takes the live lines away.
    pub(crate) fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn say(&self, sentence: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(sentence.to_owned()),
            None => self.ui.note(sentence),
        }
    }

    fn interval(&mut self, interval: &Interval) {
        self.sums.add(interval);
        let (position, of) = self.position(interval.t_ns);
        let line = figures(interval, &self.sums);
        match &self.bar {
            Some(bar) => {
                bar.set_position(position);
                bar.set_prefix(of);
                bar.set_message(line);
            }
            None if self.sums.intervals.is_multiple_of(PLAIN_EVERY) => {
                self.ui.note(&format!("{of}  {line}"))
            }
            None => {}
        }
    }

    /// How far the run is: in the goal's unit, and in words.
    fn position(&self, t_ns: u64) -> (u64, String) {
        let elapsed = clock(t_ns);
        match self.goal {
            Goal::Duration(total_ns) => (
                t_ns.min(total_ns),
                format!("{elapsed} of {}", clock(total_ns)),
            ),
            Goal::Iterations(total) => (
                self.sums.iterations,
                format!("{elapsed}  {} of {total} iterations", self.sums.iterations),
            ),
        }
    }
}

impl Sums {
    fn add(&mut self, interval: &Interval) {
        self.intervals += 1;
        self.iterations += interval.iterations.ended();
        self.failed += interval.unexpected;
        self.dropped += interval.iterations.dropped.iter().sum::<u64>();
    }
}

fn goal(executor: &Executor) -> Goal {
    match *executor {
        Executor::ConstantVus { duration_ns, .. }
        | Executor::ConstantArrivalRate { duration_ns, .. } => Goal::Duration(duration_ns),
        Executor::SharedIterations { iterations, .. } => Goal::Iterations(iterations),
        Executor::PerVuIterations {
            vus, iterations, ..
        } => Goal::Iterations(iterations.saturating_mul(u64::from(vus))),
    }
}

fn bar(goal: Goal, ui: Ui) -> ProgressBar {
    let (Goal::Duration(length) | Goal::Iterations(length)) = goal;
    let template = if ui.err.is_on() {
        "{bar:30.cyan/dim} {prefix}\n{msg}"
    } else {
        "{bar:30} {prefix}\n{msg}"
    };
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr())
        .with_style(style.progress_chars("━━─"))
}

/// The figures of the last second, and what has gone wrong so far.
fn figures(interval: &Interval, sums: &Sums) -> String {
    let vus = interval.gauges.get("vus").copied().unwrap_or_default();
    let seconds = interval.length_ns as f64 / 1e9;
    let per_second = if seconds > 0.0 {
        interval.answered as f64 / seconds
    } else {
        0.0
    };
    let p95 = interval.duration.unpack().quantile(0.95);
    let net = p95.map_or_else(
        || "no answer".to_owned(),
        |ns| format!("net p95 {}", Nanoseconds(ns)),
    );
    format!(
        "{vus} VUs  {per_second:.0} req/s  {net}  failed {}  dropped {}",
        sums.failed, sums.dropped
    )
}

/// `12s`, `1m05s`, `2h00m05s`: whole seconds, since nothing finer is seen from one line to the next.
fn clock(ns: u64) -> String {
    let seconds = (ns + 500_000_000) / 1_000_000_000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, s) => format!("{h}h{m:02}m{s:02}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elapsed_time_is_read_at_a_glance() {
        let rows = [
            (0, "0s"),
            (999_999_999, "1s"),
            (65_000_000_000, "1m05s"),
            (7_205_000_000_000, "2h00m05s"),
        ];
        for (ns, expected) in rows {
            assert_eq!(clock(ns), expected);
        }
    }

    #[test]
    fn the_line_shows_the_last_second_and_the_failures_of_all() {
        let mut sums = Sums::default();
        let mut interval = Interval {
            length_ns: 500_000_000,
            answered: 100,
            unexpected: 2,
            ..Interval::default()
        };
        interval.gauges.insert("vus".to_owned(), 7.0);
        sums.add(&interval);
        sums.add(&interval);
        assert_eq!(
            figures(&interval, &sums),
            "7 VUs  200 req/s  no answer  failed 4  dropped 0"
        );
    }
}
