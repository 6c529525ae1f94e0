//! The generator's own log: what its parts tell through `tracing`, on standard error.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// Prints what the generator has to say of itself: warnings always, with `-v` what it decided, with `-vv` all. The libraries
/// below it are heard only when something is wrong: some of them log every frame.
///
/// Never coloured: the crate can be built without that, as it is here, and then says so on the terminal of whoever asks for it.
pub(crate) fn install(verbosity: u8, quiet: bool) {
    let own = match verbosity {
        _ if quiet => LevelFilter::ERROR,
        0 => LevelFilter::WARN,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let lines = fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .with_filter(
            Targets::new()
                .with_default(LevelFilter::ERROR)
                .with_target("nettare", own),
        );
    // Refused where there is a subscriber already, which then does it.
    let _ = tracing_subscriber::registry().with(lines).try_init();
}
