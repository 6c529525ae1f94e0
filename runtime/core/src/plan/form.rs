//! How a plan is printed: in the syntax of plan files, so that what `inspect` and a report show can be saved and run.
//!
//! Only the request of `nettare quick` has no place in a plan file; a plan with one is read back as a plan, not as a file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Executor, Isolation, QuickRequest, Scenario, Work};

/// A scenario without its name, which is the name of its table.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ScenarioForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(flatten)]
    executor: Executor,
    #[serde(rename = "graceful-stop", with = "crate::units::duration")]
    graceful_stop_ns: u64,
    #[serde(default)]
    isolation: Isolation,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<QuickRequest>,
}

impl ScenarioForm {
    fn of(scenario: &Scenario) -> ScenarioForm {
        let (file, name, request) = match &scenario.work {
            Work::Guest { file, scenario } => (Some(file.clone()), scenario.clone(), None),
            Work::Request(request) => (None, None, Some(request.clone())),
        };
        ScenarioForm {
            file,
            name,
            executor: scenario.executor.clone(),
            graceful_stop_ns: scenario.graceful_stop_ns,
            isolation: scenario.isolation,
            env: scenario.env.clone(),
            tags: scenario.tags.clone(),
            request,
        }
    }

    fn scenario(self, name: String) -> Result<Scenario, String> {
        let work = match (self.file, self.request) {
            (Some(file), None) => Work::Guest {
                file,
                scenario: self.name,
            },
            (None, Some(request)) => Work::Request(request),
            _ => {
                return Err(format!(
                    "scenario `{name}` has neither or both of `file` and `request`"
                ));
            }
        };
        Ok(Scenario {
            name,
            work,
            executor: self.executor,
            graceful_stop_ns: self.graceful_stop_ns,
            isolation: self.isolation,
            env: self.env,
            tags: self.tags,
        })
    }
}

/// Scenarios as a table of tables, in their order.
pub(super) mod scenarios {
    use std::fmt;

    use serde::de::{Deserializer, Error, MapAccess, Visitor};
    use serde::ser::Serializer;

    use super::{Scenario, ScenarioForm};

    pub(in super::super) fn serialize<S: Serializer>(
        scenarios: &[Scenario],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            scenarios
                .iter()
                .map(|scenario| (&scenario.name, ScenarioForm::of(scenario))),
        )
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Scenario>, D::Error> {
        struct Tables;

        impl<'de> Visitor<'de> for Tables {
            type Value = Vec<Scenario>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a table of scenarios")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Scenario>, A::Error> {
                let mut scenarios = Vec::new();
                while let Some((name, form)) = map.next_entry::<String, ScenarioForm>()? {
                    scenarios.push(form.scenario(name).map_err(A::Error::custom)?);
                }
                Ok(scenarios)
            }
        }

        deserializer.deserialize_map(Tables)
    }
}

/// Thresholds as a table of lists, by metric.
pub(super) mod thresholds {
    use std::collections::BTreeMap;

    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    use super::super::entry::Entry;
    use crate::threshold::Threshold;

    pub(in super::super) fn serialize<S: Serializer>(
        thresholds: &[Threshold],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut by_metric: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for threshold in thresholds {
            by_metric
                .entry(threshold.selector())
                .or_default()
                .push(Entry::of(threshold));
        }
        serializer.collect_map(by_metric)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Threshold>, D::Error> {
        let by_metric = BTreeMap::<String, Vec<Entry>>::deserialize(deserializer)?;
        let pairs = by_metric
            .iter()
            .flat_map(|(metric, entries)| entries.iter().map(move |entry| (metric, entry)));
        pairs
            .map(|(metric, entry)| entry.threshold(metric).map_err(D::Error::custom))
            .collect()
    }
}

/// A body as text where it is text, else as a list of its bytes.
pub(super) mod body {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::Serializer;

    pub(in super::super) fn serialize<S: Serializer>(
        body: &[u8],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match str::from_utf8(body) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_seq(body),
        }
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Body {
            Text(String),
            Bytes(Vec<u8>),
        }
        Ok(match Body::deserialize(deserializer)? {
            Body::Text(text) => text.into_bytes(),
            Body::Bytes(bytes) => bytes,
        })
    }
}
