//! What is made of a run that has ended: judgement, causes, report, and everything that holds or prints it.

use nettare_core::health::{self, Health};
use nettare_core::plan::{Executor, Plan, Scenario};
use nettare_core::report::{self, Exit, Report, RunFacts, ScenarioFile};
use nettare_core::stats::Totals;
use nettare_core::threshold::{self, ThresholdResult};
use nettare_core::verdict::{self, IntervalCounts, Judgement, RunCounts, Verdict};
use nettare_engine::{EndCause, RunResult};
use nettare_report::Format;

use super::Ended;
use crate::exit::{self, Cause};
use crate::failure::Failure;
use crate::outputs::Output;
use crate::profile::EndedProfile;
use crate::run_directory::RunDirectory;
use crate::ui::{self, Ui};

/// What is known of a run besides its result.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) id: String,
    pub(super) started: String,
    pub(super) plan: Plan,
    pub(super) scenario: Option<ScenarioFile>,
    pub(super) warnings: Vec<String>,
    pub(super) allow_invalid: bool,
}

/// Files to be written.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) reports: Vec<Output>,
    pub(super) profile: Option<EndedProfile>,
}

/// Judges, writes and prints.
pub(super) fn finish(
    ui: &Ui,
    known: Known,
    result: &RunResult,
    files: Files,
    directory: Option<&RunDirectory>,
) -> Result<Ended, Failure> {
    let thresholds = threshold::evaluate(&known.plan.thresholds, &result.totals);
    let health = Health::of(&result.intervals);
    let verdict = verdict::judge(&counts(&known.plan, result), &health);
    let mut causes = causes(&result.causes, &thresholds, &verdict, known.allow_invalid);
    let mut report = assemble(known, result, &thresholds, &verdict, &causes);

    let mut written = write_outputs(files.reports, &report)?;
    written.add(write_profile(files.profile)?);
    written.note_losses(&mut causes, &mut report);
    written.add(keep_report(directory, &report)?);
    let summary = ui.summary(&report, &written.files);
    written.lost.extend(
        ui::print(&summary)
            .err()
            .map(|error| format!("the summary could not be printed: {error}")),
    );
    if written.note_losses(&mut causes, &mut report) {
        // The exit code has changed: the copy that stays says so too. If it cannot be written, that has been said.
        let _ = keep_report(directory, &report)?;
    }
    for sentence in written
        .lost
        .iter()
        .cloned()
        .chain(result.causes.iter().filter_map(problem))
    {
        ui.problem(&sentence);
    }
    if result.causes.contains(&EndCause::Signal) {
        ui.note("a signal stopped the run; its results are complete up to then");
    }
    Ok(Ended {
        code: report.run.exit.code,
        report,
    })
}

/// What became of the files that hold a report.
#[derive(Debug, Default)]
struct Written {
    files: Vec<String>,
    /// One sentence each.
    lost: Vec<String>,
}

impl Written {
    fn add(&mut self, other: Written) {
        self.files.extend(other.files);
        self.lost.extend(other.lost);
    }

    /// Has the report say that something was lost; answers whether it did not say so before.
    fn note_losses(&self, causes: &mut Vec<Cause>, report: &mut Report) -> bool {
        let is_news = !self.lost.is_empty() && !causes.contains(&Cause::OutputLost);
        if is_news {
            causes.push(Cause::OutputLost);
            report.run.exit = exit_of(causes);
        }
        is_news
    }
}

/// Everything that speaks against code 0, as far as the run itself goes.
fn causes(
    ends: &[EndCause],
    thresholds: &[ThresholdResult],
    verdict: &Verdict,
    allow_invalid: bool,
) -> Vec<Cause> {
    let mut causes: Vec<Cause> = ends.iter().filter_map(cause_of).collect();
    if verdict.result == Judgement::Invalid && !allow_invalid {
        causes.push(Cause::Invalid);
    }
    if thresholds.iter().any(ThresholdResult::is_failure) {
        causes.push(Cause::Threshold);
    }
    causes
}

fn cause_of(end: &EndCause) -> Option<Cause> {
    match end {
        EndCause::Signal => Some(Cause::Signal),
        EndCause::Aborted(_) => Some(Cause::Aborted),
        EndCause::SetupFailed(_) => Some(Cause::Setup),
        EndCause::TeardownFailed(_) => Some(Cause::Teardown),
        EndCause::InitFailed(_) => Some(Cause::Scenario),
        EndCause::Broken(_) => Some(Cause::Internal),
        // The verdict says it: the run is INVALID for want of an answer.
        EndCause::Unanswered => None,
    }
}

/// What is to be said of an end that the summary's figures do not explain.
fn problem(end: &EndCause) -> Option<String> {
    Some(match end {
        EndCause::Signal => return None,
        EndCause::Aborted(why) => format!("the scenario ended the run: {why}"),
        EndCause::SetupFailed(why) => format!("`setup` failed: {why}"),
        EndCause::TeardownFailed(why) => format!("`teardown` failed: {why}"),
        EndCause::InitFailed(why) => format!("`init` failed before the first iteration: {why}"),
        EndCause::Broken(why) => {
            format!("the run broke off: {why}; this is a bug in nettare, please report it")
        }
        EndCause::Unanswered => "the run was given up: nothing at all was answered".to_owned(),
    })
}

fn exit_of(causes: &[Cause]) -> Exit {
    let ordered = Cause::ALL
        .into_iter()
        .filter(|cause| causes.contains(cause));
    Exit {
        code: exit::code_of(causes),
        causes: ordered.map(|cause| cause.label().to_owned()).collect(),
    }
}

fn counts(plan: &Plan, result: &RunResult) -> RunCounts {
    let (_, lag) = result.totals.lateness();
    let is_paced =
        |scenario: &Scenario| matches!(scenario.executor, Executor::ConstantArrivalRate { .. });
    RunCounts {
        iterations: result.iterations,
        funnel: result.funnel,
        totals: result.totals.counts(),
        intervals: IntervalCounts::of(&result.intervals),
        stray_iterations: result.stray_iterations,
        lost_workers: result.lost_workers as u64,
        lag_p99_ns: lag.quantile(0.99),
        is_paced: plan.scenarios.iter().any(is_paced),
        checks_cpu_ns: checks_cpu_ns(&result.totals),
        generator_cpu_ns: generator_cpu_ns(result),
        ..RunCounts::default()
    }
}

/// CPU time of all checks; none when not one of them was metered.
fn checks_cpu_ns(totals: &Totals) -> Option<u64> {
    let checks = totals.checks_by_name();
    let metered = checks.iter().any(|check| !check.cpu.is_empty());
    let sum: u128 = checks.iter().map(|check| check.cpu.sum()).sum();
    metered.then(|| u64::try_from(sum).unwrap_or(u64::MAX))
}

fn generator_cpu_ns(result: &RunResult) -> Option<u64> {
    let used = result.process?;
    Some(used.user_cpu_ns.saturating_add(used.system_cpu_ns))
}

fn assemble(
    known: Known,
    result: &RunResult,
    thresholds: &[ThresholdResult],
    verdict: &Verdict,
    causes: &[Cause],
) -> Report {
    let failures = result
        .iteration_failures
        .iter()
        .map(|(why, count)| match count {
            1 => format!("1 iteration failed: {why}"),
            _ => format!("{count} iterations failed: {why}"),
        });
    let facts = RunFacts {
        id: known.id,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: known.started,
        duration_ns: result.duration_ns,
        seed: known.plan.run.seed,
        warnings: known.warnings.into_iter().chain(failures).collect(),
        plan: known.plan.without_secrets(),
        scenario: known.scenario,
        exit: exit_of(causes),
        iterations: result.iterations,
        funnel: result.funnel,
        generator_cpu_ns: generator_cpu_ns(result),
        cpus: result.cpus,
        generator: health::generator(&result.intervals, result.cpus),
    };
    report::assemble(
        &facts,
        &result.totals,
        &result.intervals,
        thresholds,
        verdict,
    )
}

/// Writes every file that was asked for.
fn write_outputs(outputs: Vec<Output>, report: &Report) -> Result<Written, Failure> {
    let mut written = Written::default();
    for output in outputs {
        let content = encode(output.format(), report)?;
        let path = output.path().display().to_string();
        match output.write(&content) {
            Ok(()) => written.files.push(path),
            Err(error) => written
                .lost
                .push(format!("the report `{path}` could not be written: {error}")),
        }
    }
    Ok(written)
}

/// Writes the guest's profile, if it was taken.
fn write_profile(profile: Option<EndedProfile>) -> Result<Written, Failure> {
    let mut written = Written::default();
    let Some(profile) = profile else {
        return Ok(written);
    };
    let path = profile.path().display().to_string();
    match profile.write()? {
        Ok(()) => written.files.push(path),
        Err(error) => written.lost.push(format!(
            "the profile `{path}` could not be written: {error}"
        )),
    }
    Ok(written)
}

/// Writes the copy that stays in the run directory.
fn keep_report(directory: Option<&RunDirectory>, report: &Report) -> Result<Written, Failure> {
    let mut written = Written::default();
    let Some(directory) = directory else {
        return Ok(written);
    };
    let path = directory.report_path();
    match directory.write_report(&encode(Format::Json, report)?) {
        Ok(()) => written.files.push(path.display().to_string()),
        Err(error) => written.lost.push(format!(
            "the report `{}` could not be written: {error}",
            path.display()
        )),
    }
    Ok(written)
}

fn encode(format: Format, report: &Report) -> Result<Vec<u8>, Failure> {
    Ok(nettare_report::encode(format, report).map_err(anyhow::Error::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(result: Judgement) -> Verdict {
        Verdict {
            result,
            reasons: Vec::new(),
            not_looked_at: Vec::new(),
        }
    }

    #[test]
    fn every_end_has_its_code() {
        use Judgement::{Invalid, Unjudged};
        let why = || "because".to_owned();
        let rows = [
            ("ended by its plan", vec![], Unjudged, false, 0),
            ("Ctrl-C", vec![EndCause::Signal], Unjudged, false, 105),
            (
                "Ctrl-C before anything was answered",
                vec![EndCause::Signal],
                Invalid,
                false,
                105,
            ),
            (
                "the scenario had enough",
                vec![EndCause::Aborted(why())],
                Unjudged,
                false,
                108,
            ),
            (
                "set-up failed",
                vec![EndCause::SetupFailed(why())],
                Unjudged,
                false,
                100,
            ),
            (
                "tear-down failed",
                vec![EndCause::TeardownFailed(why())],
                Unjudged,
                false,
                101,
            ),
            (
                "init failed",
                vec![EndCause::InitFailed(why())],
                Unjudged,
                false,
                107,
            ),
            ("a bug", vec![EndCause::Broken(why())], Invalid, false, 1),
            (
                "nothing answered",
                vec![EndCause::Unanswered],
                Invalid,
                false,
                111,
            ),
            (
                "nothing answered, and that was allowed",
                vec![EndCause::Unanswered],
                Invalid,
                true,
                0,
            ),
        ];
        for (sentence, ends, judgement, allow_invalid, code) in rows {
            let causes = causes(&ends, &[], &verdict(judgement), allow_invalid);
            assert_eq!(exit_of(&causes).code, code, "{sentence}");
        }
    }

    #[test]
    fn the_report_names_every_cause_the_decisive_one_first() {
        let ends = [EndCause::TeardownFailed(String::new()), EndCause::Signal];
        let exit = exit_of(&causes(&ends, &[], &verdict(Judgement::Invalid), false));
        assert_eq!(
            exit.causes,
            ["stopped-by-signal", "invalid-run", "teardown-failed"]
        );
    }
}
