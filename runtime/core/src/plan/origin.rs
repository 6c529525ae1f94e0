//! Where each value of a plan came from.

use std::collections::BTreeMap;
use std::fmt;

/// A source of values, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody said anything.
    #[default]
    Default,
    /// The scenario's own options.
    Scenario,
    /// The plan file.
    PlanFile,
    /// A variable that begins with `NETTARE_`.
    Environment,
    /// A flag.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Origin::Default => "default",
            Origin::Scenario => "scenario",
            Origin::PlanFile => "plan file",
            Origin::Environment => "environment",
            Origin::Flag => "flag",
        })
    }
}

/// The source of every value that somebody gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(BTreeMap<String, Written>);

/// Where a value was written, and under which key when that is not its own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Written {
    origin: Origin,
    key: String,
}

impl Origins {
    /// The source of a value, by its key in the plan: `vus`, `timeout`, `guest-memory`, `env.TARGET`,
    /// `thresholds.http_req_duration`. What nobody gave is a default.
    pub fn of(&self, key: &str) -> Origin {
        self.0
            .get(key)
            .map_or(Origin::Default, |written| written.origin)
    }

    /// Every value that somebody gave, by its key, with its source.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Origin)> {
        self.0
            .iter()
            .map(|(key, written)| (key.as_str(), written.origin))
    }

    pub(super) fn note(&mut self, key: &str, origin: Origin) {
        self.0.insert(
            key.to_owned(),
            Written {
                origin,
                key: key.to_owned(),
            },
        );
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Says that the value of `key` is the one written as `written_as`.
    pub(super) fn rename(&mut self, written_as: &str, key: &str) {
        if let Some(written) = self.0.remove(written_as) {
            self.0.insert(key.to_owned(), written);
        }
    }

    /// Where the value of `key` was written, as a person would look for it: `--vus`, `NETTARE_VUS`, `vus` of the plan file.
    pub(super) fn place(&self, key: &str) -> String {
        let written = self.0.get(key);
        let key = written.map_or(key, |written| &written.key);
        match written.map_or(Origin::Default, |written| written.origin) {
            Origin::Default => format!("`{key}`"),
            Origin::Scenario => format!("`{key}` of the scenario's own options"),
            Origin::PlanFile => format!("`{key}` of the plan file"),
            Origin::Environment => {
                format!("`NETTARE_{}`", flag(key).to_uppercase().replace('-', "_"))
            }
            Origin::Flag => format!("`--{}`", flag(key)),
        }
    }
}

/// The flag that sets a key: most have its name, those that are given once for each entry have the singular.
fn flag(key: &str) -> &str {
    match key.split('.').next().unwrap_or(key) {
        "allow-hosts" => "allow-host",
        "body" => "body-limit",
        "tags" => "tag",
        "thresholds" => "threshold",
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_as_people_look_for_them() {
        let mut origins = Origins::default();
        for (key, origin) in [
            ("max-vus", Origin::Flag),
            ("duration", Origin::Environment),
            ("rate", Origin::PlanFile),
            ("timeout", Origin::Scenario),
            ("tags.team", Origin::Flag),
        ] {
            origins.note(key, origin);
        }
        assert_eq!(origins.place("max-vus"), "`--max-vus`");
        assert_eq!(origins.place("duration"), "`NETTARE_DURATION`");
        assert_eq!(origins.place("rate"), "`rate` of the plan file");
        assert_eq!(
            origins.place("timeout"),
            "`timeout` of the scenario's own options"
        );
        assert_eq!(origins.place("tags.team"), "`--tag`");
        assert_eq!(origins.place("vus"), "`vus`");
    }

    #[test]
    fn a_value_under_another_key_is_looked_for_where_it_was_written() {
        let mut origins = Origins::default();
        origins.note("duration", Origin::Flag);
        origins.rename("duration", "max-duration");
        assert_eq!(
            (origins.of("duration"), origins.of("max-duration")),
            (Origin::Default, Origin::Flag)
        );
        assert_eq!(origins.place("max-duration"), "`--duration`");
    }
}
