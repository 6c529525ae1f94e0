//! What `bench` and `truth` share: pinned programs, what they used, servers to load, figures and tables.
//!
//! Nothing here is measured by us that the kernel can tell: CPU time is the child's own accounting (getrusage(2)), memory the
//! high-water mark that the kernel keeps (proc_pid_status(5)).

pub(crate) mod child;
pub(crate) mod cpus;
pub(crate) mod figures;
pub(crate) mod machine;
pub(crate) mod report;
pub(crate) mod server;
pub(crate) mod table;
