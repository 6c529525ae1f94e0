//! What the kinds of unit share: the error, and reading one from a serialised plan.

use std::fmt;

use serde::de::{Deserializer, Error, Visitor};

/// Text that is not what it should be. One sentence: what was written, what is wrong with it, what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {kind}: {why}; write it like {example}", kind = .kind.name(), example = .kind.example())]
pub struct UnitError {
    text: String,
    kind: Kind,
    why: &'static str,
}

/// What was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Duration,
    Rate,
    Size,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Duration => "a duration",
            Kind::Rate => "a rate",
            Kind::Size => "a size",
        }
    }

    fn example(self) -> &'static str {
        match self {
            Kind::Duration => "`30s`, `1m30s` or `500ms`",
            Kind::Rate => "`200/s`, `50/m` or `0.5/s`",
            Kind::Size => "`64MiB`, `2GB` or `800`",
        }
    }

    pub(super) fn error(self, text: &str, why: &'static str) -> UnitError {
        UnitError {
            text: text.to_owned(),
            kind: self,
            why,
        }
    }
}

/// Reads a value that stands as text, or, where `number` is given, as a bare number.
pub(super) struct Reader<T> {
    pub(super) kind: Kind,
    pub(super) parse: fn(&str) -> Result<T, UnitError>,
    pub(super) number: Option<fn(u64) -> T>,
}

impl<T> Reader<T> {
    /// For formats that tell numbers from text, as TOML and JSON do.
    pub(super) fn read<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<T> Visitor<'_> for Reader<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} in quotes, like {}",
            self.kind.name(),
            self.kind.example()
        )
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        match self.number {
            Some(convert) => Ok(convert(number)),
            None => Err(E::invalid_type(
                serde::de::Unexpected::Unsigned(number),
                &self,
            )),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(
                serde::de::Unexpected::Signed(number),
                &self,
            )),
        }
    }
}
