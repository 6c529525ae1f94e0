//! Why a guest could not be loaded, and how a guest fails while it runs.

use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};

use crate::limits::{GUEST_STACK_BYTES, Stop};

/// Why a guest could not be loaded. Each message is one sentence with the cause and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Not WebAssembly at all, or damaged.
    #[error("this is not WebAssembly: {0}")]
    NotWasm(String),
    /// The export that every scenario must have is not there.
    #[error("the guest does not export `{name}`: {remedy}")]
    MissingExport {
        /// The export.
        name: String,
        /// What to do.
        remedy: &'static str,
    },
    /// An import that this host does not have.
    #[error("the guest imports `{name}`, which this host does not have: {remedy}")]
    UnknownImport {
        /// The import.
        name: String,
        /// What to do.
        remedy: String,
    },
    /// The guest was built against another version of the contract.
    #[error(
        "the guest speaks `{guest}`, this host speaks `{host}`: build the guest with an SDK of that version"
    )]
    Version {
        /// The package with the guest's version.
        guest: String,
        /// The package with the host's version.
        host: String,
    },
    /// A core module could not be made a component.
    #[error("the module cannot be made a component: {0}")]
    Encode(String),
    /// The compiler refused it.
    #[error("the guest cannot be compiled: {0}")]
    Compile(String),
    /// A hook is there, but not with the contract's type.
    #[error("the guest's `{name}` is not of the contract's type: {why}")]
    WrongExport {
        /// The hook.
        name: String,
        /// What differs.
        why: String,
    },
    /// The guest starts with more memory than it may have.
    #[error(
        "the guest starts with {needed} bytes of memory, `guest-memory` allows {limit}: raise it in the plan's `limits`"
    )]
    Memory {
        /// What it starts with.
        needed: u64,
        /// What it may have.
        limit: u64,
    },
    /// This machine cannot hold as many instances as the plan asks for.
    #[error("no room for the plan's virtual users: {0}")]
    Pool(String),
    /// `describe` failed.
    #[error("the guest failed in `describe`: {0}")]
    Describe(GuestFailure),
}

/// How a guest fails while it runs. Data for the report; nothing here stops the process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuestFailure {
    /// It trapped: a bug in the guest.
    #[error("{message}{backtrace}")]
    Trap {
        /// What went wrong.
        message: String,
        /// The guest's innermost functions, one a line, each line begun by a newline; empty when there are none.
        backtrace: String,
    },
    /// It returned an error of its own.
    #[error("{0}")]
    Returned(String),
    /// It used more CPU in one call than it may.
    #[error("the guest used more CPU in one call than the {} ms of `guest-cpu`", .budget_ns / 1_000_000)]
    CpuBudget {
        /// The budget.
        budget_ns: u64,
    },
    /// It wanted more memory than it may have.
    #[error("the guest wanted {wanted} bytes of memory, `guest-memory` allows {limit}")]
    Memory {
        /// What it wanted in all.
        wanted: u64,
        /// What it may have.
        limit: u64,
    },
    /// It passed another limit.
    #[error("{message}{backtrace}")]
    Limit {
        /// The limit's name.
        name: &'static str,
        /// What it did, and the remedy.
        message: String,
        /// As in a trap.
        backtrace: String,
    },
    /// The run's end cut it short.
    #[error("the run's end interrupted the guest")]
    Interrupted,
    /// There was no instance to be had.
    #[error("no instance could be made: {0}")]
    Instantiate(String),
}

impl GuestFailure {
    /// Whether the instance is lost, so that a new one must be made before the next call.
    pub fn kills_instance(&self) -> bool {
        !matches!(self, GuestFailure::Returned(_))
    }

    /// The name of the limit that was passed.
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            GuestFailure::CpuBudget { .. } => Some("guest-cpu"),
            GuestFailure::Memory { .. } => Some("guest-memory"),
            GuestFailure::Limit { name, .. } => Some(name),
            _ => None,
        }
    }

    /// What an error that came out of a call into the guest means.
    pub(crate) fn of(error: &wasmtime::Error, budget_ns: u64) -> GuestFailure {
        let backtrace = backtrace(error);
        if let Some(stop) = error.downcast_ref::<Stop>() {
            return match stop {
                Stop::CpuBudget => GuestFailure::CpuBudget { budget_ns },
                &Stop::Memory { wanted, limit } => GuestFailure::Memory { wanted, limit },
                Stop::Interrupted => GuestFailure::Interrupted,
                Stop::Limit { name, .. } => GuestFailure::Limit {
                    name,
                    message: stop.to_string(),
                    backtrace,
                },
            };
        }
        let message = error.root_cause().to_string();
        if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
            return GuestFailure::Instantiate(message);
        }
        if error.downcast_ref::<Trap>() == Some(&Trap::StackOverflow) {
            let message = format!(
                "the guest's calls are nested too deep (limit `guest-stack`, {GUEST_STACK_BYTES} bytes)"
            );
            return GuestFailure::Limit {
                name: "guest-stack",
                message,
                backtrace,
            };
        }
        if message.contains(TOO_MUCH_AT_ONCE) {
            let message =
                "the guest handed over too much in one call of the host (limit `hostcall-bytes`)"
                    .to_owned();
            return GuestFailure::Limit {
                name: "hostcall-bytes",
                message,
                backtrace,
            };
        }
        GuestFailure::Trap { message, backtrace }
    }

    /// The host panicked while it answered the guest: a bug of ours, kept from taking the process with it.
    pub(crate) fn of_panic(panic: &(dyn std::any::Any + Send)) -> GuestFailure {
        let what = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        let message = format!(
            "the host panicked while it answered the guest, which is a bug in Nettare: {what}"
        );
        GuestFailure::Trap {
            message,
            backtrace: String::new(),
        }
    }
}

/// Functions of a trap's backtrace that are told.
const BACKTRACE_FRAMES: usize = 8;

/// What wasmtime's error says when the bytes of one host call pass their limit; it has no public type. A test holds it.
const TOO_MUCH_AT_ONCE: &str = "too much data";

/// The guest's functions in a trap, the innermost first, their names as people wrote them.
fn backtrace(error: &wasmtime::Error) -> String {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else {
        return String::new();
    };
    let mut lines = String::new();
    for frame in backtrace.frames().iter().take(BACKTRACE_FRAMES) {
        let name = match frame.func_name() {
            Some(name) => format!("{:#}", rustc_demangle::demangle(name)),
            None => format!("function {}", frame.func_index()),
        };
        lines.push_str("\n    in ");
        lines.push_str(&name);
    }
    lines
}
