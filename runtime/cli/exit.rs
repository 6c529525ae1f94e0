//! How the process ends: every cause it knows, the code it exits with, and which cause wins when several apply.
//!
//! Scripts branch on these numbers, so a code once given a meaning never gets another. `docs/reference/exit-codes.md` is
//! made from [`Cause::ALL`].

/// The run took place, its thresholds passed, and its verdict is not INVALID.
pub(crate) const OK: u8 = 0;
/// A bug in Nettare.
pub(crate) const INTERNAL: u8 = 1;
/// The command line cannot be understood.
pub(crate) const COMMAND_LINE: u8 = 2;
/// A threshold failed, or had no data.
pub(crate) const THRESHOLD: u8 = 99;
/// The scenario's `setup` failed, trapped or ran out of time.
pub(crate) const SETUP: u8 = 100;
/// The scenario's `teardown` failed, trapped or ran out of time.
pub(crate) const TEARDOWN: u8 = 101;
/// The plan or a setting is invalid, or this machine cannot do what it asks.
pub(crate) const PLAN: u8 = 104;
/// A signal stopped the run.
pub(crate) const SIGNAL: u8 = 105;
/// The scenario could not be loaded, or failed in `init` before the first iteration.
pub(crate) const SCENARIO: u8 = 107;
/// The scenario itself ended the run.
pub(crate) const ABORTED: u8 = 108;
/// The verdict is INVALID: the generator could not do what was asked.
pub(crate) const INVALID: u8 = 111;
/// `compare` found a regression against the baseline.
pub(crate) const REGRESSION: u8 = 112;
/// `compare` found no baseline.
pub(crate) const NO_BASELINE: u8 = 113;
/// An output was lost at the end.
pub(crate) const OUTPUT_LOST: u8 = 114;

/// Why the process ends with another code than 0. All that apply stand in the report, by [`Cause::label`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cause {
    /// [`INTERNAL`]
    Internal,
    /// [`COMMAND_LINE`]
    CommandLine,
    /// [`SCENARIO`]
    Scenario,
    /// [`PLAN`]
    Plan,
    /// [`SETUP`]
    Setup,
    /// [`ABORTED`]
    Aborted,
    /// [`SIGNAL`]
    Signal,
    /// [`INVALID`]
    Invalid,
    /// [`REGRESSION`]
    Regression,
    /// [`NO_BASELINE`]
    NoBaseline,
    /// [`THRESHOLD`]
    Threshold,
    /// [`OUTPUT_LOST`]
    OutputLost,
    /// [`TEARDOWN`]
    Teardown,
}

impl Cause {
    /// Every cause, the one that wins first. Nearest to "nothing can be said about the server" stands first; what leaves
    /// the figures whole (a lost copy, a failed clean-up) stands last.
    pub(crate) const ALL: [Cause; 13] = [
        Cause::Internal,
        Cause::CommandLine,
        Cause::Scenario,
        Cause::Plan,
        Cause::Setup,
        Cause::Aborted,
        Cause::Signal,
        Cause::Invalid,
        Cause::Regression,
        Cause::NoBaseline,
        Cause::Threshold,
        Cause::OutputLost,
        Cause::Teardown,
    ];

    /// The code of a process that ends for this cause alone.
    pub(crate) fn code(self) -> u8 {
        match self {
            Cause::Internal => INTERNAL,
            Cause::CommandLine => COMMAND_LINE,
            Cause::Scenario => SCENARIO,
            Cause::Plan => PLAN,
            Cause::Setup => SETUP,
            Cause::Aborted => ABORTED,
            Cause::Signal => SIGNAL,
            Cause::Invalid => INVALID,
            Cause::Regression => REGRESSION,
            Cause::NoBaseline => NO_BASELINE,
            Cause::Threshold => THRESHOLD,
            Cause::OutputLost => OUTPUT_LOST,
            Cause::Teardown => TEARDOWN,
        }
    }

    /// The cause as it stands in `run.exit.causes` of the report.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Cause::Internal => "internal-error",
            Cause::CommandLine => "command-line",
            Cause::Scenario => "scenario-not-loaded",
            Cause::Plan => "invalid-plan",
            Cause::Setup => "setup-failed",
            Cause::Aborted => "aborted-by-scenario",
            Cause::Signal => "stopped-by-signal",
            Cause::Invalid => "invalid-run",
            Cause::Regression => "regression",
            Cause::NoBaseline => "no-baseline",
            Cause::Threshold => "threshold-failed",
            Cause::OutputLost => "output-lost",
            Cause::Teardown => "teardown-failed",
        }
    }

    /// What the code says to whoever reads it, and what to do about it.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Cause::Internal => {
                "An internal error: a bug in Nettare. The message says where to report it and what to add."
            }
            Cause::CommandLine => {
                "The command line cannot be understood: an unknown flag, a value of the wrong form, flags that exclude \
                 each other, or something that a later release brings. Nothing was run."
            }
            Cause::Scenario => {
                "The scenario could not be loaded (not WebAssembly, no `run`, an unknown import, another version of the \
                 contract), or its `init` failed or trapped before the first iteration."
            }
            Cause::Plan => {
                "The plan or a setting is invalid, a flag contradicts the plan, an output cannot be written, or this \
                 machine cannot run the plan. Nothing was run."
            }
            Cause::Setup => "The scenario's `setup` failed, trapped or ran out of time.",
            Cause::Aborted => {
                "The scenario ended the run itself. The results are complete up to then."
            }
            Cause::Signal => {
                "A signal (Ctrl-C, SIGTERM, SIGHUP) stopped the run. The results are complete up to then; one that comes before \
                 anything was sent leaves none. A second signal cuts off what is still under way, a third ends at once."
            }
            Cause::Invalid => {
                "The run is INVALID: the generator could not do what was asked, or nothing answered, so the figures are \
                 not the server's. `--allow-invalid` turns this code off."
            }
            Cause::Regression => "`compare` found a regression against the baseline.",
            Cause::NoBaseline => "`compare` found no baseline to compare with.",
            Cause::Threshold => "A threshold failed, or had no data to judge.",
            Cause::OutputLost => {
                "An output was lost at the end. The run itself is complete in the run directory, if there is one. Reports that \
                 were written before the loss say nothing of it; the one in the run directory does."
            }
            Cause::Teardown => {
                "The scenario's `teardown` failed, trapped or ran out of time. The results are complete."
            }
        }
    }
}

/// The exit code where all of `causes` apply: that of the one that comes first in [`Cause::ALL`].
pub(crate) fn code_of(causes: &[Cause]) -> u8 {
    Cause::ALL
        .into_iter()
        .find(|cause| causes.contains(cause))
        .map_or(OK, Cause::code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_cause_decides() {
        let rows: &[(&str, &[Cause], u8)] = &[
            ("nothing went wrong", &[], 0),
            ("one cause alone gives its code", &[Cause::Threshold], 99),
            (
                "a bug hides everything else",
                &[Cause::OutputLost, Cause::Internal, Cause::Signal],
                1,
            ),
            (
                "a scenario that never ran comes before a broken plan",
                &[Cause::Plan, Cause::Scenario],
                107,
            ),
            (
                "a broken plan comes before a failed setup",
                &[Cause::Setup, Cause::Plan],
                104,
            ),
            (
                "a failed setup comes before the abort it caused",
                &[Cause::Aborted, Cause::Setup],
                100,
            ),
            (
                "the scenario's abort comes before a signal",
                &[Cause::Signal, Cause::Aborted],
                108,
            ),
            (
                "a signal comes before the verdict on a run cut short",
                &[Cause::Invalid, Cause::Signal],
                105,
            ),
            (
                "thresholds of an invalid run say nothing",
                &[Cause::Threshold, Cause::Invalid],
                111,
            ),
            (
                "a failed threshold comes before a lost output",
                &[Cause::OutputLost, Cause::Threshold],
                99,
            ),
            (
                "a lost output comes before a failed teardown",
                &[Cause::Teardown, Cause::OutputLost],
                114,
            ),
            (
                "a failed teardown alone still shows",
                &[Cause::Teardown],
                101,
            ),
        ];
        for (sentence, causes, code) in rows {
            assert_eq!(code_of(causes), *code, "{sentence}");
        }
    }

    #[test]
    fn no_two_causes_share_a_code_or_a_label() {
        let mut codes: Vec<u8> = Cause::ALL.into_iter().map(Cause::code).collect();
        let mut labels: Vec<&str> = Cause::ALL.into_iter().map(Cause::label).collect();
        codes.sort_unstable();
        codes.dedup();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(
            (codes.len(), labels.len()),
            (Cause::ALL.len(), Cause::ALL.len())
        );
    }
}
