//! Faults that users of other load testers met, and that must not be ours.
//!
//! Each test is named after its row in the collection of such reports, with the place where it was reported. The reports are of
//! one version of one tool; what is tested is the whole kind of fault. Times are compared within one run only.

mod counting;
mod lifecycle;
mod time;
