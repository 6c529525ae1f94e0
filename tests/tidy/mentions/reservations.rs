//! The names that have a place, as a table.

use super::Reservation;
use crate::tidy::Rule;

/// One row a rule. To allow a name somewhere new is a decision about the architecture: say why beside the row.
pub(in crate::tidy) const RESERVATIONS: &[Reservation] = &[
    Reservation {
        rule: Rule {
            name: "clocks",
            why: "a time is only worth something when one knows whose it is; the pure cores take it as an argument, so that a \
                  seed replays any failure.",
            remedy: "take the time as an argument, or ask the clock module of this crate.",
        },
        names: &[
            "Instant::now",
            "SystemTime::now",
            "UNIX_EPOCH::elapsed",
            ".elapsed",
            "clock_gettime",
            "quanta",
        ],
        about: &["runtime", "sdk"],
        allowed: &[
            "runtime/engine/src/clock.rs",
            "runtime/net/src/clock.rs",
            "runtime/net/src/wire.rs",
            "runtime/vm/src/meter.rs",
            // The calendar, for a run's name and date; durations come from the engine.
            "runtime/cli/clock.rs",
            "runtime/target",
            "runtime/xtask",
            "runtime/*/examples",
        ],
    },
    Reservation {
        rule: Rule {
            name: "unsafe",
            why: "what the compiler cannot check must fit in one head, so it stands in few files.",
            remedy: "find a safe interface (`rustix`, `socket2`, `bytes`), or put it into one of the files named in this row.",
        },
        names: &["unsafe"],
        about: &["runtime", "sdk", "examples", "tests"],
        // The socket layer reads control messages, for which no safe interface gives all that is needed.
        allowed: &["runtime/net/src/wire.rs"],
    },
    Reservation {
        rule: Rule {
            name: "printing",
            why: "the standard streams are the user's, and the command line alone knows whether a person or a pipe reads them.",
            remedy: "return the text, or send it as an event; `runtime/cli` prints.",
        },
        names: &[
            "print!",
            "println!",
            "eprint!",
            "eprintln!",
            "dbg!",
            "io::stdout",
            "io::stderr",
            "io::stdin",
        ],
        about: &["runtime"],
        allowed: &["runtime/cli", "runtime/xtask", "runtime/*/examples"],
    },
    Reservation {
        rule: Rule {
            name: "exit",
            why: "an exit in the middle loses results, and the exit code is a promise that one place keeps.",
            remedy: "return an error or an outcome; `runtime/cli/main.rs` maps it to its code.",
        },
        names: &["process::exit", "process::abort"],
        about: &["runtime"],
        allowed: &["runtime/cli", "runtime/xtask"],
    },
    Reservation {
        rule: Rule {
            name: "environment",
            why: "a variable that some library reads changes runs behind the user's back; the command line reads those that are \
                  documented and no others.",
            remedy: "read it in `runtime/cli` and pass it as a value.",
        },
        names: &["std::env"],
        about: &["runtime"],
        allowed: &["runtime/cli", "runtime/xtask", "runtime/*/examples"],
    },
    Reservation {
        rule: Rule {
            name: "purity",
            why: "the pure crates are simulated with a seed and a virtual clock; a file, a socket, a thread or a wait would end \
                  that.",
            remedy: "take what is needed as an argument; `engine` and `cli` do the fetching.",
        },
        names: &[
            "std::fs",
            "std::net",
            "std::process",
            "std::thread",
            "std::sync::Mutex",
            "std::sync::RwLock",
            "tokio",
        ],
        about: &["runtime/core/src", "runtime/report/src"],
        allowed: &[],
    },
    Reservation {
        rule: Rule {
            name: "environment changes",
            why: "changing the environment of a process with threads is undefined behaviour waiting for its day.",
            remedy: "pass the value, or set it on the child's `Command`.",
        },
        names: &["set_var", "remove_var", "set_current_dir"],
        about: &["runtime", "sdk", "examples", "tests"],
        allowed: &[],
    },
    Reservation {
        rule: Rule {
            name: "skipped tests",
            why: "a test that is not run holds nothing.",
            remedy: "mend it or delete it; a test too slow for every change is an `xtask` command.",
        },
        names: &["#[ignore]"],
        about: &["runtime", "sdk", "examples", "tests"],
        allowed: &[],
    },
];
