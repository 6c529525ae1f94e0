//! Colours by their meaning. Nothing is said by colour alone: every coloured word says the same without.

use std::fmt::Display;

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    on: bool,
}

impl Palette {
    /// Colours if `on`.
    pub(crate) fn new(on: bool) -> Palette {
        Palette { on }
    }

    /// Whether there are any.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    /// What went wrong.
    pub(crate) fn bad(self, text: impl Display) -> String {
        self.paint("1;31", text)
    }

    /// What deserves attention.
    pub(crate) fn caution(self, text: impl Display) -> String {
        self.paint("1;33", text)
    }

    /// What stands out.
    pub(crate) fn bold(self, text: impl Display) -> String {
        self.paint("1", text)
    }

    /// Select Graphic Rendition, ECMA-48 section 8.3.117.
    fn paint(self, parameters: &str, text: impl Display) -> String {
        if self.on {
            format!("\x1b[{parameters}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}
