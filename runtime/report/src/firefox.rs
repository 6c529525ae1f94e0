//! A guest's profile in the format that the Firefox profiler (<https://profiler.firefox.com>) reads: its "processed profile format".
//!
//! Functions are labels rather than addresses: what a profiler would look up in symbol tables is known here already.

use std::time::{Duration, UNIX_EPOCH};

use fxprof_processed_profile::{
    CategoryColor, CategoryPairHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile as Firefox,
    SamplingInterval, StackHandle, ThreadHandle, Timestamp, WeightType,
};
use nettare_core::profile::{FrameKind, Function, Profile};

/// Encodes a profile of the guest called `name` as JSON.
///
/// # Errors
///
/// When it has no form in JSON, which would be a bug.
pub fn encode(profile: &Profile, name: &str) -> Result<Vec<u8>, serde_json::Error> {
    let started = UNIX_EPOCH + Duration::from_nanos(profile.started_unix_ns);
    let interval = SamplingInterval::from_nanos(profile.interval_ns);
    let mut firefox = Firefox::new("nettare", started.into(), interval);
    let begin = Timestamp::from_nanos_since_reference(0);
    let end = Timestamp::from_nanos_since_reference(profile.duration_ns);
    // The profiler calls a process's first thread by the process's name.
    let whose = format!("virtual user {} of {name}", profile.vu);
    let process = firefox.add_process(&whose, 1, begin);
    firefox.set_process_end_time(process, end);
    let thread = firefox.add_thread(process, profile.vu, begin, true);
    firefox.set_thread_end_time(thread, end);
    firefox.set_thread_samples_weight_type(thread, WeightType::Samples);
    let stacks = stacks(&mut firefox, thread, profile);
    for sample in &profile.samples {
        let stack = usize::try_from(sample.stack).ok();
        firefox.add_sample(
            thread,
            Timestamp::from_nanos_since_reference(sample.at_ns),
            stack.and_then(|index| stacks.get(index).copied().flatten()),
            CpuDelta::from_nanos(sample.cpu_ns),
            i32::try_from(sample.weight).unwrap_or(i32::MAX),
        );
    }
    serde_json::to_vec(&firefox)
}

/// Every stack of the profile, as Firefox's.
fn stacks(
    firefox: &mut Firefox,
    thread: ThreadHandle,
    profile: &Profile,
) -> Vec<Option<StackHandle>> {
    let guest = firefox.add_category("Guest", CategoryColor::Orange).into();
    let host = firefox.add_category("Host", CategoryColor::Blue).into();
    let mut stacks = Vec::with_capacity(profile.stacks.len());
    for index in 0..profile.stacks.len() {
        let functions = profile.stack(u32::try_from(index).unwrap_or(u32::MAX));
        let frames: Vec<FrameInfo> = functions
            .into_iter()
            .map(|function| match function.kind {
                FrameKind::Host => frame(firefox, function, host),
                FrameKind::Named | FrameKind::Unnamed => frame(firefox, function, guest),
            })
            .collect();
        stacks.push(firefox.intern_stack_frames(thread, frames.into_iter()));
    }
    stacks
}

fn frame(firefox: &mut Firefox, function: &Function, category: CategoryPairHandle) -> FrameInfo {
    FrameInfo {
        frame: Frame::Label(firefox.intern_string(&function.name)),
        category_pair: category,
        flags: FrameFlags::empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::flame::tests::profile;

    fn decoded(profile: &Profile) -> Value {
        serde_json::from_slice(&encode(profile, "shop.wasm").unwrap()).unwrap()
    }

    #[test]
    fn every_sample_is_there_with_its_stack_and_its_cpu_time() {
        let profile = profile(&[("run;parse", 2), ("run", 1), ("run;parse", 1)]);
        let json = decoded(&profile);
        let thread = &json["threads"][0];
        assert_eq!(thread["name"], "virtual user 1 of shop.wasm");
        assert_eq!(thread["samples"]["length"], 3);
        assert_eq!(thread["samples"]["weight"], serde_json::json!([2, 1, 1]));
        assert_eq!(
            thread["samples"]["threadCPUDelta"],
            serde_json::json!([2000, 1000, 1000])
        );
        let stacks = thread["samples"]["stack"].as_array().unwrap();
        assert_eq!(stacks[0], stacks[2]);
        assert_ne!(stacks[0], stacks[1]);
        let text = json.to_string();
        assert!(
            text.contains("\"parse\"") && text.contains("\"run\""),
            "{text}"
        );
    }

    #[test]
    fn a_profile_without_samples_is_a_file_all_the_same() {
        let json = decoded(&Profile::default());
        assert_eq!(json["threads"][0]["samples"]["length"], 0);
    }
}
