//! Questions about a body, compiled once and kept by the host.

use std::fmt::{self, Debug};

use crate::error::{Error, Result};
use crate::host::http as host;

/// A regular expression, in the syntax of the crate `regex`. Compile it once, in `init` for instance.
pub struct Pattern(host::Pattern);

/// A path into JSON, as RFC 9535 defines it: `$.products[?@.stock > 0].id`. Compile it once, in `init` for instance.
pub struct JsonPath(host::JsonPath);

impl Pattern {
    /// Compiles it.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid), with the place of the mistake.
    pub fn new(regex: &str) -> Result<Pattern> {
        host::Pattern::compile(regex)
            .map(Pattern)
            .map_err(Error::from_host)
    }

    pub(super) fn as_host(&self) -> &host::Pattern {
        &self.0
    }
}

impl JsonPath {
    /// Compiles it.
    ///
    /// # Errors
    ///
    /// [`Invalid`](crate::ErrorKind::Invalid), with the place of the mistake.
    pub fn new(path: &str) -> Result<JsonPath> {
        host::JsonPath::compile(path)
            .map(JsonPath)
            .map_err(Error::from_host)
    }

    pub(super) fn as_host(&self) -> &host::JsonPath {
        &self.0
    }
}

impl Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern").finish_non_exhaustive()
    }
}

impl Debug for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonPath").finish_non_exhaustive()
    }
}
