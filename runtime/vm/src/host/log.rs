//! Interface `log`: lines for the run's log.

use wasmtime::component::Linker;

use crate::contract::interface;
use crate::host::Context;
use crate::host::values::WitLevel;
use crate::state::State;

pub(super) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut log = linker.instance(&interface("log"))?;
    log.func_wrap(
        "write",
        |mut store: Context<'_>, (level, message): (WitLevel, String)| {
            write(store.data_mut(), level, message);
            Ok(())
        },
    )
}

fn write(state: &mut State, level: WitLevel, mut message: String) {
    if state.log_lines >= state.limits.log_lines {
        state.limit_hit("log-lines");
        return;
    }
    state.log_lines += 1;
    if cut(&mut message, state.limits.log_line_bytes) {
        state.limit_hit("log-line-bytes");
    }
    state.doors.log(level.into(), message);
}

/// Cuts a text to so many bytes, between two characters; whether it was longer.
pub(crate) fn cut(text: &mut String, bytes: u32) -> bool {
    let limit = usize::try_from(bytes).unwrap_or(usize::MAX);
    let is_longer = text.len() > limit;
    if is_longer {
        text.truncate(text.floor_char_boundary(limit));
    }
    is_longer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        for (text, bytes, expected, was_longer) in [
            ("abc", 3, "abc", false),
            ("abc", 2, "ab", true),
            ("aé", 2, "a", true),
            ("é", 0, "", true),
        ] {
            let mut cut_text = text.to_owned();
            assert_eq!(cut(&mut cut_text, bytes), was_longer, "{text}");
            assert_eq!(cut_text, expected);
        }
    }
}
