//! Samples of one virtual user's stack. Shares within one run, generously bounded: other processes share this machine.

use nettare_core::profile::{FrameKind, Profile};
use nettare_vm::{GuestOptions, Profiler};

use crate::support::{ARRIVAL, Stage, block_on, module, poll, reply};

/// Two callers of the same work, one of which does a hundred times as much.
const CALLERS: &str =
    "(func $heavy (call $burn (i32.const 200000))) (func $light (call $burn (i32.const 2000)))";

/// A body that is searched through and through, since what is searched for is not in it.
static BODY: [u8; 1 << 20] = [b'a'; 1 << 20];

/// A stage whose virtual users are sampled.
fn sampled(declarations: &str, run: &str) -> (Stage, Profiler) {
    let mut stage = Stage::of(&module(declarations, run), &GuestOptions::default());
    let profiler = Profiler::new();
    stage.guest = stage.guest.clone().sampled_by(&profiler);
    (stage, profiler)
}

/// The shares of the samples that have that function in their stack, and that have it innermost.
fn shares(profile: &Profile, name: &str) -> (f64, f64) {
    let (mut within, mut innermost) = (0, 0);
    for folded in profile.folded() {
        let names: Vec<&str> = folded.stack.iter().map(|f| f.name.as_str()).collect();
        within += folded.weight * u64::from(names.contains(&name));
        innermost += folded.weight * u64::from(names.last() == Some(&name));
    }
    let share = |part: u64| part as f64 / profile.weight() as f64;
    (share(within), share(innermost))
}

#[test]
fn the_hot_function_is_innermost_and_under_its_caller() {
    let (stage, profiler) = sampled(CALLERS, "(call $heavy) (call $light) (call $ok)");
    let mut vu = stage.vu(1);
    for _ in 0..300 {
        assert_eq!(block_on(vu.iterate(ARRIVAL)).why, None);
    }
    let profile = profiler.finish().unwrap();
    assert!(profile.samples.len() > 20, "{profile:?}");
    let (_, burn) = shares(&profile, "burn");
    let ((heavy, _), (light, _)) = (shares(&profile, "heavy"), shares(&profile, "light"));
    assert!(
        burn > 0.8 && heavy > 0.8 && light < 0.2,
        "{burn} {heavy} {light}"
    );
    let sampled_ns: u64 = profile.samples.iter().map(|sample| sample.cpu_ns).sum();
    assert!(
        sampled_ns > 0 && sampled_ns <= profile.cpu_ns,
        "{profile:?}"
    );
    assert!(profile.samples.is_sorted_by_key(|sample| sample.at_ns));
}

#[test]
fn the_host_is_on_top_of_the_guest_that_asked_it() {
    let declarations = r#"(func $ask (param $response i32) (local $n i32)
        (loop $again
          (call $contains (local.get $response) (str "ab") (i32.const 640))
          (local.set $n (i32.add (local.get $n) (i32.const 1)))
          (br_if $again (i32.lt_u (local.get $n) (i32.const 500)))))"#;
    let run = r#"(call $ask (call $get (str "http://x.test/"))) (call $ok)"#;
    let (stage, profiler) = sampled(declarations, run);
    let stage = stage.answers(|_| Some(reply(200, &BODY)));
    assert_eq!(block_on(stage.vu(1).iterate(ARRIVAL)).why, None);
    let profile = profiler.finish().unwrap();
    let ((ask, _), (_, host)) = (shares(&profile, "ask"), shares(&profile, "[host call]"));
    assert!(
        ask > 0.8 && host > 0.8,
        "{ask} {host} of {:?}",
        profile.folded()
    );
}

#[test]
fn the_first_that_begins_is_sampled_and_no_other() {
    let (stage, profiler) = sampled(CALLERS, "(call $heavy) (call $ok)");
    let (mut first, mut second) = (stage.vu(1), stage.vu(2));
    for _ in 0..50 {
        block_on(second.iterate(ARRIVAL));
    }
    block_on(first.iterate(ARRIVAL));
    let profile = profiler.finish().unwrap();
    assert_eq!(profile.vu, 2, "1 was made before, and began after");
    assert!(!profile.samples.is_empty());
    assert_eq!(profiler.finish(), None, "it is given once");
}

#[test]
fn waiting_is_not_sampled() {
    let run = r#"(drop (call $get (str "http://x.test/"))) (call $ok)"#;
    let (stage, profiler) = sampled("", run);
    let stage = stage.answers(|_| None);
    let busy = Stage::of(
        &module(CALLERS, "(call $heavy) (call $ok)"),
        &GuestOptions::default(),
    );
    let (mut vu, mut other) = (stage.vu(1), busy.vu(1));
    let mut iteration = Box::pin(vu.iterate(ARRIVAL));
    assert!(poll(iteration.as_mut()).is_pending());
    for _ in 0..100 {
        block_on(other.iterate(ARRIVAL));
    }
    let slot = stage.world().pending.remove(0);
    slot.fill(reply(200, b"hello"));
    assert_eq!(block_on(iteration).why, None);
    let profile = profiler.finish().unwrap();
    // One may have been due in the few microseconds before and after.
    assert!(profile.weight() <= 2, "{:?}", profile.folded());
    assert!(profile.cpu_ns * 2 < profile.duration_ns, "{profile:?}");
}

#[test]
fn a_trap_does_not_end_the_sampling() {
    let run = "(call $heavy) (if (i64.eqz (call $iteration)) (then unreachable)) (call $ok)";
    let (stage, profiler) = sampled(CALLERS, run);
    let mut vu = stage.vu(1);
    assert!(block_on(vu.iterate(ARRIVAL)).needs_new_instance);
    block_on(vu.renew()).unwrap();
    for _ in 0..100 {
        assert_eq!(block_on(vu.iterate(ARRIVAL)).why, None);
    }
    assert!(profiler.finish().unwrap().samples.len() > 5);
}

#[test]
fn names_are_as_people_wrote_them_and_functions_without_one_say_so() {
    let spin = r#"$"_ZN4shop4spin17h0123456789abcdefE""#;
    let declarations = format!("(func {spin} (call $burn (i32.const 200000)))");
    let (stage, profiler) = sampled(&declarations, &format!("(call {spin}) (call $ok)"));
    let mut vu = stage.vu(1);
    for _ in 0..100 {
        block_on(vu.iterate(ARRIVAL));
    }
    let profile = profiler.finish().unwrap();
    let kind = |wanted: FrameKind| {
        let functions = profile.functions.iter().filter(move |f| f.kind == wanted);
        functions.map(|f| f.name.as_str()).collect::<Vec<_>>()
    };
    assert!(
        kind(FrameKind::Named).contains(&"shop::spin"),
        "{:?}",
        profile.functions
    );
    // `run` is exported by name, and has none of its own.
    let unnamed = kind(FrameKind::Unnamed);
    assert!(
        unnamed.len() == 1 && unnamed[0].starts_with("function "),
        "{unnamed:?}"
    );
    assert!(!profile.is_nameless());
}
