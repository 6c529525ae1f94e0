//! Which CPUs this process may use, where its threads run, and which of two threads on a CPU goes first.

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

/// How nice a guest thread is to the I/O thread that shares its CPU.
///
/// A fair scheduler makes the I/O thread wait for a slice of the guest's each time that it has had its own share, a multiple of the slice:
/// by the kernel's table of weights three times at 5, nine times at 10. A higher value would starve the guests beside any other busy process.
const GUEST_NICENESS: i32 = 10;

/// How nice an I/O thread is where it may choose (as root, with CAP_SYS_NICE, or within RLIMIT_NICE): together with the guest
/// thread's niceness it then has 87 times a slice before it waits for one.
const IO_NICENESS: i32 = -10;

/// The last in line among the ordinary threads of a CPU.
const NICEST: i32 = 19;

/// The CPUs that this process may run on, by number. At least one.
pub fn allowed_cpus() -> Vec<usize> {
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

/// Has the calling thread go first on its CPU, where that is allowed. Elsewhere the guest thread's niceness has to do.
pub(crate) fn prefer_io() {
    let _ = setpriority_process(None, IO_NICENESS);
}

/// Has the calling thread run when nobody else wants its CPU (sched(7), "SCHED_IDLE"); where that is not to be had, nearly so.
pub(crate) fn yield_to_all() {
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let thread = thread_native_id();
    if set_thread_priority_and_policy(thread, ThreadPriority::Min, idle).is_err() {
        let _ = setpriority_process(None, NICEST);
    }
}

/// Has the calling thread give way to the I/O thread. On Linux priorities are per thread, whatever POSIX says (setpriority(2),
/// "C library/kernel differences"), and a new thread has its maker's; to be nicer is always allowed.
pub(crate) fn give_way() {
    let _ = setpriority_process(None, GUEST_NICENESS);
}
