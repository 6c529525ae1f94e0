//! What series are told apart by.

use super::symbol::{Symbol, TagSet};
use super::{MetricKind, Unit};
use crate::sample::{ErrorKind, Protocol};

/// What tells one series of exchanges from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeriesKey {
    /// The scenario.
    pub scenario: Symbol,
    /// The group the request was made in.
    pub group: Symbol,
    /// The name of the request: a route's template, never its URL by default.
    pub name: Symbol,
    /// The method.
    pub method: Symbol,
    /// The response's status; 0 when there was none.
    pub status: u16,
    /// The protocol spoken.
    pub protocol: Option<Protocol>,
    /// Why it failed.
    pub error_kind: Option<ErrorKind>,
    /// Whether the response was what the request expected.
    pub expected: bool,
    /// The user's tags.
    pub tags: TagSet,
}

/// A series of exchanges, by its number on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SeriesId(pub(crate) u32);

impl SeriesId {
    /// No series: the call came to nothing before an exchange began.
    pub const NONE: SeriesId = SeriesId(u32::MAX);
}

/// What tells the figures of one check from another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CheckKey {
    /// The scenario.
    pub scenario: Symbol,
    /// The group it was evaluated in.
    pub group: Symbol,
    /// Its name.
    pub check: Symbol,
    /// The user's tags.
    pub tags: TagSet,
}

/// What tells one series of phases from another. Phases are not kept for every series: there are seven of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PhaseKey {
    pub(crate) scenario: Symbol,
    /// Set for what stays out of totals only.
    pub(crate) aside: Symbol,
    pub(crate) name: Symbol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupKey {
    pub(crate) scenario: Symbol,
    pub(crate) group: Symbol,
    pub(crate) tags: TagSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CustomKey {
    pub(crate) metric: Symbol,
    pub(crate) kind: MetricKind,
    pub(crate) unit: Unit,
    pub(crate) tags: TagSet,
}

/// An error as it is counted: kind, and finer number.
pub(crate) type ErrorKey = (ErrorKind, u32);

impl SeriesKey {
    /// The series that takes what is past the limit: it keeps what totals and funnels need.
    pub(crate) fn other(&self) -> SeriesKey {
        SeriesKey {
            scenario: self.scenario,
            group: if self.group.is_aside() {
                self.group
            } else {
                Symbol::NONE
            },
            name: Symbol::OTHER,
            method: Symbol::NONE,
            status: 0,
            protocol: None,
            error_kind: None,
            expected: self.expected,
            tags: TagSet::EMPTY,
        }
    }

    pub(crate) fn phases(&self) -> PhaseKey {
        let aside = if self.group.is_aside() {
            self.group
        } else {
            Symbol::NONE
        };
        PhaseKey {
            scenario: self.scenario,
            aside,
            name: self.name,
        }
    }
}

impl CheckKey {
    pub(crate) fn other(&self) -> CheckKey {
        let group = if self.group.is_aside() {
            self.group
        } else {
            Symbol::NONE
        };
        CheckKey {
            group,
            check: Symbol::OTHER,
            tags: TagSet::EMPTY,
            ..*self
        }
    }
}

impl GroupKey {
    pub(crate) fn other(&self) -> GroupKey {
        let group = if self.group.is_aside() {
            self.group
        } else {
            Symbol::OTHER
        };
        GroupKey {
            group,
            tags: TagSet::EMPTY,
            ..*self
        }
    }
}

impl CustomKey {
    pub(crate) fn other(&self) -> CustomKey {
        CustomKey {
            tags: TagSet::OTHER,
            ..*self
        }
    }
}
