//! Which CPUs this process may use, and where its threads run.

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// How nice a guest thread is to the I/O thread that shares its CPU.
pub(crate) const GUEST_NICENESS: i32 = 5;

/// The CPUs that this process may run on, by number. At least one.
pub(crate) fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else {
        return vec![0];
    };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// Pins the calling thread; where that is not allowed it stays where the system puts it, which costs speed, not truth.
pub(crate) fn pin(cpu: Option<usize>) {
    let Some(cpu) = cpu else { return };
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

/// Makes the calling thread nicer. On Linux priorities are per thread, whatever POSIX says (setpriority(2), "C library/kernel
/// differences"). Lowering one's priority is always allowed.
pub(crate) fn lower_priority(niceness: i32) {
    let _ = setpriority_process(None, niceness);
}
