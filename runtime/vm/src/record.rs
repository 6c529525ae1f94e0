//! What a virtual user has to tell the statistics: an ordered stream that the engine drains.

use std::sync::Arc;

use nettare_core::sample::{Failure, SkipReason};
use nettare_core::stats::{CheckSample, SeriesId};

/// One thing that happened in a virtual user. Numbers are the [`crate::Registry`]'s.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// From here on the virtual user's own tags are these; they go on every later check, metric and group. Empty again at the
    /// end of the iteration. Requests carry them already.
    Tags(Arc<[(String, String)]>),
    /// A check was evaluated.
    Check {
        /// Which.
        check: u32,
        /// The innermost group at that time; 0 when there was none.
        group: u32,
        /// What came of it. Its CPU time is the guest's, and that of the synchronous host calls made in its scope.
        sample: CheckSample,
    },
    /// A deferred check that will not be evaluated.
    CheckSkipped {
        /// Which.
        check: u32,
        /// The innermost group at that time; 0 when there was none.
        group: u32,
        /// Why.
        reason: SkipReason,
    },
    /// The check before this one failed, and the guest says why.
    CheckWhy {
        /// Which.
        check: u32,
        /// The guest's words.
        why: String,
    },
    /// A sample of a metric of the guest's own.
    Custom {
        /// The series.
        series: u32,
        /// The value, never NaN.
        value: f64,
    },
    /// A group ended.
    Group {
        /// Which.
        group: u32,
        /// From its begin to its end.
        duration_ns: u64,
    },
    /// A call returned to the guest, or was ready before the guest asked.
    Call {
        /// The series the host named in its reply.
        series: SeriesId,
        /// When the guest asked, on the monotonic clock, if it did so in an iteration and has been waiting ever since; none for
        /// other hooks, and for a call it left pending, which it may wait for in a later iteration.
        called_ns: Option<u64>,
        /// From the guest's asking to its running again.
        gross_ns: u64,
        /// What of this was neither the wire's nor a policy's.
        tare_ns: u64,
    },
    /// A call was refused before it reached the host: the guest's request was nonsense.
    Refused(Failure),
    /// The guest did what a function could not report to it. Summed over a call of a hook.
    Misuse {
        /// What, in a word or three; a closed set, the tag `what` of `guest_misuse`.
        what: &'static str,
        /// How often.
        count: u64,
    },
    /// A limit was hit, by its name. Summed over a call of a hook.
    Limit {
        /// The limit's name, as in the plan or the reference.
        name: &'static str,
        /// How often.
        count: u64,
    },
}
