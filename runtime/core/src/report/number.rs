//! Numbers that are written as integers when they are.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of a metric. Times are whole nanoseconds and are written so; a custom metric may have fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Number(pub f64);

/// Integers up to here have no neighbour in `f64` that is mistaken for them.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            n if n.fract() == 0.0 && n.abs() <= EXACT => serializer.serialize_i64(n as i64),
            n => serializer.serialize_f64(n),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        f64::deserialize(deserializer).map(Number)
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Number {
        Number(number)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Number {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "number" })
    }
}
