//! A threshold as it stands in a plan: `"p(95)<200"`, or a table when there is more to say.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use super::strict;
use crate::threshold::{Threshold, ThresholdError};
use crate::units::duration;

/// One condition of a metric, not yet understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry(Fields);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename = "a threshold", rename_all = "kebab-case")]
struct Fields {
    check: String,
    #[serde(default, skip_serializing_if = "is_false")]
    abort_on_fail: bool,
    #[serde(
        default,
        rename = "delay-abort-eval",
        with = "duration",
        skip_serializing_if = "is_zero"
    )]
    delay_abort_eval_ns: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    allow_no_data: bool,
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Fields {
    fn plain(check: &str) -> Fields {
        Fields {
            check: check.to_owned(),
            abort_on_fail: false,
            delay_abort_eval_ns: 0,
            allow_no_data: false,
        }
    }
}

impl Entry {
    /// The condition's part of a threshold.
    pub(super) fn of(threshold: &Threshold) -> Entry {
        Entry(Fields {
            check: threshold.expression.clone(),
            abort_on_fail: threshold.abort_on_fail,
            delay_abort_eval_ns: threshold.delay_abort_eval_ns,
            allow_no_data: threshold.allow_no_data,
        })
    }

    /// The threshold that this condition and a metric, with its tags, are together.
    pub(super) fn threshold(&self, selector: &str) -> Result<Threshold, ThresholdError> {
        let Entry(fields) = self;
        let mut threshold = Threshold::parse(selector, &fields.check)?;
        threshold.abort_on_fail = fields.abort_on_fail;
        threshold.delay_abort_eval_ns = fields.delay_abort_eval_ns;
        threshold.allow_no_data = fields.allow_no_data;
        Ok(threshold)
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Entry(fields) = self;
        if *fields == Fields::plain(&fields.check) {
            serializer.serialize_str(&fields.check)
        } else {
            fields.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entry, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Entry;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(
                    "a condition like \"p(95)<200\", or a table with the condition as `check`",
                )
            }

            fn visit_str<E: Error>(self, check: &str) -> Result<Entry, E> {
                Ok(Entry(Fields::plain(check)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
                strict::table(MapAccessDeserializer::new(map)).map(Entry)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// Reads the conditions of all metrics, for `#[serde(deserialize_with)]`. They are understood here, where the format knows the line
/// that an error is in.
pub(super) fn conditions<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Threshold>, D::Error> {
    struct ByMetric;

    impl<'de> Visitor<'de> for ByMetric {
        type Value = Vec<Threshold>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a table of metrics with their conditions")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Threshold>, A::Error> {
            let mut thresholds = Vec::new();
            while let Some(metric) = map.next_key::<String>()? {
                thresholds.extend(map.next_value_seed(OfMetric(&metric))?);
            }
            Ok(thresholds)
        }
    }

    deserializer.deserialize_map(ByMetric)
}

/// The list of one metric's conditions.
struct OfMetric<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for OfMetric<'_> {
    type Value = Vec<Threshold>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Vec<Threshold>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for OfMetric<'_> {
    type Value = Vec<Threshold>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "a list of conditions of `{}`, like [\"p(95)<200\"]",
            self.0
        )
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Threshold>, A::Error> {
        let mut thresholds = Vec::new();
        while let Some(threshold) = list.next_element_seed(OneOf(self.0))? {
            thresholds.push(threshold);
        }
        if thresholds.is_empty() {
            let metric = self.0;
            return Err(A::Error::custom(format!(
                "`{metric}` has no condition; give one, like \"p(95)<200\", or leave it out"
            )));
        }
        Ok(thresholds)
    }
}

/// One condition of a metric.
struct OneOf<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for OneOf<'_> {
    type Value = Threshold;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Threshold, D::Error> {
        let OneOf(metric) = self;
        Entry::deserialize(deserializer)?
            .threshold(metric)
            .map_err(|error| {
                D::Error::custom(format!(
                    "the condition of `{metric}` cannot be understood: {error}"
                ))
            })
    }
}
