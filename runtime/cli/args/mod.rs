//! What can be typed, as data. Nothing is done here and nothing is decided: what the values mean is said in
//! [`crate::layers`], and the same definitions make the help, the completions, the man pages and the reference.

mod complaint;
mod load;
mod network;
mod output;
mod parse;
mod quick;
mod values;

use clap::{Args, Parser, Subcommand, ValueEnum};
use nettare_core::plan::Rate;

use crate::ui::Wishes;

pub(crate) use load::{LoadArgs, ScenarioArgs};
pub(crate) use network::{GeneratorArgs, NetworkArgs, TlsArgs};
pub(crate) use output::{JudgeArgs, OutputArgs};
pub(crate) use parse::{Parsed, definition, parse};
pub(crate) use quick::{QuickArgs, QuickLoadArgs, RequestArgs};
pub(crate) use values::{KeyValue, ProfileFile, ProfileForm, ReportFile, Span};

const EXAMPLES: &str = "\
Examples:
  nettare demo                                        See what a report says
  nettare quick http://127.0.0.1:8080/ -c 50 -z 10s   Load one URL
  nettare run checkout.wasm -u 20 -d 1m               Run a scenario
  nettare run plan.toml --report run.json             Run a plan, keep its report

Every value has its unit: 500ms, 30s, 5m, 200/s, 64MiB. Exit codes are listed by
`nettare generate reference exit-codes`.";

/// Nettare loads a server and tells its latency apart from the load generator's own.
#[derive(Debug, Parser)]
#[command(name = "nettare", version, after_help = EXAMPLES, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// What is said of the output; commands without such flags say nothing.
    pub(crate) fn wishes(&self) -> Wishes {
        let output = match &self.command {
            Command::Run(args) => &args.output,
            Command::Quick(args) => &args.output,
            Command::Demo(args) => &args.output,
            Command::Inspect(args) => &args.run.output,
            Command::Doctor(args) => return Wishes::of_colour(args.no_color),
            Command::Report(args) => return Wishes::of_colour(args.no_color),
            Command::DemoTarget(_) | Command::Generate(_) => return Wishes::default(),
        };
        Wishes {
            quiet: output.quiet,
            no_color: output.no_color,
            verbosity: output.verbose,
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // Boxed, since a run has many flags and the other commands few.
    Run(Box<RunArgs>),
    Quick(Box<QuickArgs>),
    Demo(DemoArgs),
    DemoTarget(DemoTargetArgs),
    Inspect(InspectArgs),
    Doctor(Box<DoctorArgs>),
    Report(ReportArgs),
    Generate(GenerateArgs),
}

const RUN_EXAMPLES: &str = "\
Which executor the load flags mean:
  (none)                       1 virtual user, 1 iteration
  -u 20 -d 1m                  constant-vus: 20 virtual users, over and over
  -u 20 -i 1000                shared-iterations: 1000 in all
  --rate 200/s -d 1m           constant-arrival-rate: 12000 starts, however long each takes

Examples:
  nettare run checkout.wasm -u 20 -d 1m -e TARGET=https://shop.example
  nettare run plan.toml --rate 200/s --report run.json
  nettare run plan.toml --threshold 'http_req_duration: p(95)<200'

Every flag has an environment variable: NETTARE_MAX_VUS is --max-vus. Precedence, the
weakest first: defaults, the scenario's own options, the plan file, environment, flags.";

/// Run a scenario or a plan, and report.
#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// A plan (`.toml`) or a scenario (a WebAssembly component or module).
    #[arg(value_name = "PLAN.toml|SCENARIO.wasm")]
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Sample where one virtual user's guest spends its CPU time: .svg is a flame graph, .json is for the Firefox profiler.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) profile_guest: Option<ProfileFile>,
}

/// What a command line can say of a plan.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
}

const INSPECT_EXAMPLES: &str = "\
Examples:
  nettare inspect plan.toml
  nettare inspect checkout.wasm -u 20 -d 1m";

/// Print the merged plan, where each value came from, and what the scenario is; run nothing.
///
/// Takes the flags of `run`, so that a run can be looked at before it is made.
#[derive(Args, Debug)]
#[command(after_help = INSPECT_EXAMPLES)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) run: Box<RunArgs>,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  nettare doctor                                  Look at this machine
  nettare doctor plan.toml                        Hold it against a plan
  nettare doctor checkout.wasm --rate 500/s -d 5m --connections per-request
  nettare doctor plan.toml --json                 The same for a script

Code 104 says that this machine cannot run the plan; `run` would refuse it with the
same sentence. Warnings leave the code at 0.";

/// Say whether this machine can generate the load of a plan, and the command that mends what it lacks.
///
/// Takes the flags of `run`. Nothing is sent; a few instances of the scenario are made, to measure their memory.
#[derive(Args, Debug)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// A plan (`.toml`) or a scenario; without one the machine is looked at for itself.
    #[arg(value_name = "PLAN.toml|SCENARIO.wasm")]
    pub(crate) file: Option<String>,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// Print the findings and all figures as JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print without colours; so does the variable NO_COLOR.
    #[arg(long, help_heading = "Output")]
    pub(crate) no_color: bool,
}

const DEMO_EXAMPLES: &str = "\
Examples:
  nettare demo
  nettare demo -d 30s --report demo.json";

/// Run the demo scenario against a demo target on this machine, and explain the report.
///
/// The target listens on the loopback interface only; nothing else is contacted.
#[derive(Args, Debug)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct DemoArgs {
    /// How long each of the two runs is [default: 5s].
    #[arg(short, long, value_name = "DURATION", value_parser = values::positive_span, help_heading = "Load")]
    pub(crate) duration: Option<Span>,
    /// Arrivals in each run [default: half as many again as this machine can check].
    #[arg(long, value_name = "RATE", value_parser = values::rate, help_heading = "Load")]
    pub(crate) rate: Option<Rate>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const DEMO_TARGET_EXAMPLES: &str = "\
Examples:
  nettare demo-target
  nettare demo-target --listen 127.0.0.1:8080
  nettare demo-target --tls --ca-out ca.pem";

/// Serve the demo target alone, until a signal stops it.
#[derive(Args, Debug)]
#[command(after_help = DEMO_TARGET_EXAMPLES)]
pub(crate) struct DemoTargetArgs {
    /// Address and port to listen on; port 0 takes a free one, which is printed.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = values::address)]
    pub(crate) listen: std::net::SocketAddr,
    /// Speak TLS, with a certificate made at the start for localhost.
    #[arg(long)]
    pub(crate) tls: bool,
    /// Write the certificate of the authority behind --tls to a file, PEM: what --cacert takes.
    #[arg(long, value_name = "FILE", requires = "tls")]
    pub(crate) ca_out: Option<std::path::PathBuf>,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  nettare report run.json
  nettare report ~/.local/state/nettare/runs/last/report.json";

/// Print the summary of a saved run.
#[derive(Args, Debug)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// A report written by `--report FILE.json`, or kept in the run directory.
    #[arg(value_name = "RUN.json")]
    pub(crate) file: std::path::PathBuf,
    /// Print without colours; so does the variable NO_COLOR.
    #[arg(long, help_heading = "Output")]
    pub(crate) no_color: bool,
}

/// Print what is made from the command line's own definition.
#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    pub(crate) what: Generate,
}

/// What to print.
#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// Print completions for a shell; see its manual for where they go.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print a man page: of `nettare`, or of one of its commands.
    Man {
        /// The command; `nettare` itself when left out.
        command: Option<String>,
    },
    /// Print a page of the reference, in Markdown.
    Reference {
        /// The page.
        page: ReferencePage,
    },
}

/// The pages of the reference that are made from the program.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ReferencePage {
    /// Commands and flags.
    Commands,
    /// Exit codes.
    ExitCodes,
    /// Metrics.
    Metrics,
    /// Rules of the verdict, and gauges of the generator's health.
    Verdict,
}
