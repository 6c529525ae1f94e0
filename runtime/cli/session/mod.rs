//! One run, from its plan to its exit code: what `run`, `quick` and `demo` have in common.
//!
//! ```text
//! prepare: signals ─► outputs opened ─► network ─► run directory
//! run:     engine::run ─ events ─► watcher ─► progress, journal, log
//! finish:  thresholds, verdict ─► causes ─► report ─► summary, files, run directory ─► exit code
//! ```
//!
//! Whatever can be wrong with the surroundings is found while preparing, before any load; whatever goes wrong later is
//! counted among the causes and loses no results.

mod finish;
mod watcher;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nettare_core::plan::Plan;
use nettare_core::report::Report;
use nettare_engine::net::{AllowList, Identity, NetConfig, SetupError, Shared, TlsOptions};
use nettare_engine::vm::Guest;
use nettare_engine::{Job, RunResult, Stopper};

use crate::args::{OutputArgs, ProfileFile, TlsArgs};
use crate::clock::Moment;
use crate::exit::Cause;
use crate::failure::{Failure, OrFail};
use crate::input::{self, LoadedGuest};
use crate::outputs::{self, Output};
use crate::profile::ProfileOutput;
use crate::run_directory::{self, RunDirectory};
use crate::signals::{Phase, Signals};
use crate::ui::{Progress, Ui};
use watcher::Watcher;

/// A file of certificates or a key may have so many bytes; the system's own bundles have a quarter of a million.
const MAX_PEM_BYTES: u64 = 16 << 20;

/// What is to be run, and what is to become of the results.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) plan: Plan,
    pub(crate) guest: Option<LoadedGuest>,
    pub(crate) tls: TlsOptions,
    pub(crate) allow_invalid: bool,
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) report: Report,
    pub(crate) code: u8,
}

/// A run being prepared. Made first of all, so that a signal while a scenario compiles is understood too.
pub(crate) struct Session<'a> {
    ui: &'a Ui,
    moment: Moment,
    signals: Signals,
    stopper: Stopper,
    outputs: Vec<Output>,
    profile: Option<ProfileOutput>,
    /// Whether the run is kept in a directory of its own.
    is_kept: bool,
}

impl<'a> Session<'a> {
    /// Takes the signals over and opens the report files.
    pub(crate) fn prepare(ui: &'a Ui, wanted: &OutputArgs) -> Result<Session<'a>, Failure> {
        let stopper = Stopper::default();
        let handle = stopper.clone();
        let signals = Signals::install(move || handle.stop()).or_fail_with(
            Cause::Plan,
            || "the signals of this process cannot be taken over",
        )?;
        Ok(Session {
            ui,
            moment: Moment::now(),
            signals,
            stopper,
            outputs: outputs::open_all(&wanted.report)?,
            profile: None,
            is_kept: !wanted.no_save,
        })
    }

    /// Opens the file for the guest's profile, if one is wanted.
    pub(crate) fn profiling(self, file: Option<&ProfileFile>) -> Result<Session<'a>, Failure> {
        if let Some(file) = file
            && self.outputs.iter().any(|report| report.path() == file.path)
        {
            let message = format!(
                "`{}` is to hold a report and a profile",
                file.path.display()
            );
            return Err(Failure::new(Cause::Plan, message)
                .hint("name two files with --report and --profile-guest"));
        }
        let profile = file.map(ProfileOutput::open).transpose()?;
        Ok(Session { profile, ..self })
    }

    /// The moment the session began.
    pub(crate) fn moment(&self) -> Moment {
        self.moment
    }

    /// Runs without telling anybody: for what has to be known before the run that is told of.
    pub(crate) fn rehearse(&self, plan: Plan, guest: Guest) -> Result<RunResult, Failure> {
        let network = network(&plan, TlsOptions::default())?;
        let job = Job {
            plan,
            guest: Some(guest),
            network,
        };
        self.signals.enter(Phase::Running);
        let result = nettare_engine::run(&job, &self.stopper, &mut |_| {});
        self.signals.enter(Phase::Preparing);
        result.or_fail(Cause::Plan)
    }

    /// Runs and prints the summary; what is to be written is left for a later run.
    pub(crate) fn execute_first(&mut self, request: Request) -> Result<Ended, Failure> {
        self.run(request, Vec::new())
    }

    /// Runs, prints the summary, and writes what is to be written.
    pub(crate) fn execute(mut self, request: Request) -> Result<Ended, Failure> {
        let outputs = std::mem::take(&mut self.outputs);
        self.run(request, outputs)
    }

    fn run(&mut self, request: Request, outputs: Vec<Output>) -> Result<Ended, Failure> {
        let network = network(&request.plan, request.tls)?;
        let started = Moment::now();
        let id = started.run_id();
        let directory = self.run_directory(&id);
        let (guest, scenario) = request
            .guest
            .map(|loaded| (loaded.guest, loaded.file))
            .unzip();
        let job = Job {
            plan: request.plan,
            guest: guest.map(|guest| self.sampled(guest)),
            network,
        };
        let progress = Progress::new(*self.ui, &job.plan);
        let mut watcher = Watcher::new(*self.ui, progress, directory, job.plan.limits.log_lines);
        watcher.begin(&id, started, &job.plan);

        self.signals.enter(Phase::Running);
        let result = nettare_engine::run(&job, &self.stopper, &mut |event| watcher.observe(event));
        self.signals.enter(Phase::Reporting);
        let seen = watcher.end();
        let result = result.or_fail(Cause::Plan)?;
        let profile = self
            .profile
            .take()
            .map(|profile| profile.end(scenario.as_ref()));

        let mut warnings = seen.warnings;
        for sentence in profile.iter().flat_map(|profile| &profile.warnings) {
            self.ui.warn(sentence);
            warnings.push(sentence.clone());
        }
        let known = finish::Known {
            id,
            started: started.rfc3339(),
            plan: job.plan,
            scenario,
            warnings,
            allow_invalid: request.allow_invalid,
        };
        finish::finish(
            self.ui,
            known,
            &result,
            finish::Files {
                reports: outputs,
                profile,
            },
            seen.directory.as_ref(),
        )
    }

    /// The guest, to be sampled if a profile is wanted.
    fn sampled(&self, guest: Guest) -> Guest {
        match &self.profile {
            Some(profile) => profile.sample(guest),
            None => guest,
        }
    }

    /// The directory that keeps this run; a warning where there can be none.
    fn run_directory(&self, id: &str) -> Option<RunDirectory> {
        if !self.is_kept {
            return None;
        }
        let variable =
            |name: &str| std::env::var_os(name).and_then(|value| value.into_string().ok());
        let Some(runs) = run_directory::runs_folder(variable) else {
            self.ui
                .warn("the run is not kept: neither XDG_STATE_HOME nor HOME names a directory");
            return None;
        };
        match RunDirectory::create(&runs, id) {
            Ok(directory) => {
                if let removed @ 1.. = run_directory::remove_old(&runs) {
                    let kept = run_directory::KEPT;
                    self.ui.note(&format!(
                        "runs older than the newest {kept} were removed from `{}`: {removed}",
                        runs.display()
                    ));
                }
                Some(directory)
            }
            Err(error) => {
                self.ui.warn(&format!(
                    "the run is not kept: `{}` cannot be written: {error}",
                    runs.display()
                ));
                None
            }
        }
    }
}

/// The network as the plan wants it.
fn network(plan: &Plan, tls: TlsOptions) -> Result<Arc<Shared>, Failure> {
    let run = &plan.run;
    let allow = AllowList::new(&run.allow_hosts).or_fail(Cause::Plan)?;
    let config = NetConfig {
        timestamps: run.timestamps,
        http: run.http,
        tls,
        user_agent: run.user_agent.clone(),
        allow,
        timeout_ns: run.timeout_ns,
        max_redirects: run.max_redirects,
        connections: run.connections,
        body_limit_bytes: plan.limits.body_bytes,
        bodies_budget_bytes: plan.limits.bodies_bytes,
    };
    Shared::new(config).or_fail(Cause::Plan)
}

/// Reads the files that the TLS flags name, and finds out whether they can be used.
pub(crate) fn tls_options(args: &TlsArgs) -> Result<TlsOptions, Failure> {
    let read = |path: &PathBuf, flag: &str| {
        input::read_at_most(path, MAX_PEM_BYTES).or_fail_with(Cause::Plan, || {
            format!("`{}`, given by {flag}, cannot be read", path.display())
        })
    };
    let mut options = TlsOptions {
        insecure: args.insecure_skip_tls_verify,
        ..TlsOptions::default()
    };
    for path in &args.cacert {
        let pem = read(path, "--cacert")?;
        let alone = TlsOptions {
            ca_pem: vec![pem.clone()],
            ..TlsOptions::default()
        };
        alone
            .check()
            .map_err(|error| unusable(&error, args, path))?;
        options.ca_pem.push(pem);
    }
    if let (Some(cert), Some(key)) = (&args.cert, &args.key) {
        options.identity = Some(Identity {
            cert_pem: read(cert, "--cert")?,
            key_pem: read(key, "--key")?,
        });
        options
            .check()
            .map_err(|error| unusable(&error, args, cert))?;
    }
    Ok(options)
}

/// Names the file that cannot be used. `path` is the one it is about, unless the error says that it is the key.
fn unusable(error: &SetupError, args: &TlsArgs, path: &Path) -> Failure {
    let SetupError::Tls { what, reason } = error else {
        return Failure::new(Cause::Plan, error);
    };
    let path = match &args.key {
        Some(key) if *what == "--key" => key,
        _ => path,
    };
    Failure::new(
        Cause::Plan,
        format!(
            "`{}`, given by {what}, cannot be used: {reason}",
            path.display()
        ),
    )
}
