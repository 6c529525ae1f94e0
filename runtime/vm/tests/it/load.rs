//! What is taken as a guest, and what is refused, in which words.

use nettare_vm::{Guest, GuestOptions};
use proptest::prelude::*;

use crate::support::{Stage, block_on, module, wasm};

fn refused(text: &str) -> String {
    refused_bytes(&wasm(text))
}

fn refused_bytes(bytes: &[u8]) -> String {
    Guest::load(bytes, &GuestOptions::default())
        .unwrap_err()
        .to_string()
}

const RUN: &str = r#"(memory (export "memory") 1)
    (func (export "run") (param i32 i64 i64 i64) (result i32) (i32.const 0))"#;

#[test]
fn another_minor_version_is_refused_by_both_names() {
    let imports = r#"(module (import "nettare:load/time@0.2.0" "now" (func (result i64)))"#;
    insta::assert_snapshot!(refused(&format!("{imports} {RUN})")), @"the guest speaks `nettare:load@0.2.0`, this host speaks `nettare:load@0.1.0`: build the guest with an SDK of that version");
    let exports = RUN.replace("\"run\"", "\"nettare:load/lifecycle@0.3.0#run\"");
    insta::assert_snapshot!(refused(&format!("(module {exports})")), @"the guest speaks `nettare:load@0.3.0`, this host speaks `nettare:load@0.1.0`: build the guest with an SDK of that version");
}

#[test]
fn a_newer_patch_is_taken_as_long_as_its_functions_are_there() {
    let now = r#"(module (import "nettare:load/time@0.1.9" "now" (func (result i64)))"#;
    let _ = now;
    let later = r#"(module (import "nettare:load/time@0.1.9" "later" (func (result i64)))"#;
    insta::assert_snapshot!(refused(&format!("{later} {RUN})")), @"the guest imports `nettare:load/time@0.1.9#later`, which this host does not have: the guest was built for nettare:load@0.1.9, this host speaks nettare:load@0.1.0; use an SDK of that version");
}

#[test]
fn unknown_imports_are_named_with_the_remedy() {
    let import = |module: &str| format!(r#"(module (import "{module}" "f" (func)) {RUN})"#);
    insta::assert_snapshot!(refused(&import("nettare:load/teleport@0.1.0")), @"the guest imports `nettare:load/teleport@0.1.0#f`, which this host does not have: the guest was built for nettare:load@0.1.0, this host speaks nettare:load@0.1.0; use an SDK of that version");
    insta::assert_snapshot!(refused(&import("wasi_snapshot_preview1")), @"the guest imports `wasi_snapshot_preview1#f`, which this host does not have: WASI preview 1 is not granted by this version; build the guest for `wasm32-unknown-unknown`");
    insta::assert_snapshot!(refused(&import("env")), @"the guest imports `env#f`, which this host does not have: a function was left to be linked; for AssemblyScript build with `--use abort=`, for C without libraries that need a system");
    insta::assert_snapshot!(refused(&import("other:package/x@1.0.0")), @"the guest imports `other:package/x@1.0.0#f`, which this host does not have: a guest may import interfaces of `nettare:load` only");
}

#[test]
fn a_component_with_wasi_is_refused() {
    let text = r#"(component (import "wasi:cli/environment@0.2.0" (instance (export "get-environment" (func)))))"#;
    insta::assert_snapshot!(refused(text), @"the guest imports `wasi:cli/environment@0.2.0`, which this host does not have: WASI is not granted by this version; build the guest for `wasm32-unknown-unknown`, not for `wasm32-wasip2`");
}

#[test]
fn a_guest_without_run_is_refused() {
    insta::assert_snapshot!(refused(r#"(module (func (export "main")))"#), @"the guest does not export `nettare:load/lifecycle@0.1.0#run`: a scenario needs at least this one; a core module may export it as `run`");
    insta::assert_snapshot!(refused("(component)"), @"the guest does not export `nettare:load/lifecycle@0.1.0#run`: a scenario needs at least this one; a core module may export it as `run`");
}

#[test]
fn a_hook_of_another_type_is_refused_by_name() {
    let error =
        refused(r#"(module (memory (export "memory") 1) (func (export "run") (param i32)))"#);
    assert!(
        error.contains("nettare:load/lifecycle@0.1.0#run") && error.contains("mismatch"),
        "{error}"
    );
}

#[test]
fn a_missing_allocator_is_named() {
    let text = r#"(module (import "nettare:load/vu@0.1.0" "env" (func (param i32 i32 i32))) (memory (export "memory") 1)
        (func (export "run") (param i32 i64 i64 i64) (result i32) (i32.const 0)))"#;
    let error = refused(text);
    assert!(error.contains("realloc"), "{error}");
}

#[test]
fn what_is_not_webassembly_says_so() {
    insta::assert_snapshot!(refused_bytes(b""));
    insta::assert_snapshot!(refused_bytes(b"#!/bin/sh"));
    insta::assert_snapshot!(refused_bytes(b"(module)"));
}

#[test]
fn a_guest_that_traps_in_describe_says_where() {
    let text = module(
        r#"(func $boom (export "describe") (result i32) unreachable)"#,
        "(call $ok)",
    );
    insta::assert_snapshot!(refused(&text));
}

#[test]
fn a_guest_that_starts_with_too_much_memory_is_refused() {
    let text = r#"(module (memory (export "memory") 2000)
        (func (export "run") (param i32 i64 i64 i64) (result i32) (i32.const 0)))"#;
    insta::assert_snapshot!(refused(text));
}

#[test]
fn full_names_are_taken_as_well_as_short_ones() {
    let text = module("", "(call $note (f64.const 1)) (call $ok)")
        .replace("\"run\"", "\"nettare:load/lifecycle@0.1.0#run\"");
    assert_eq!(Stage::of(&text, &GuestOptions::default()).notes(), [1.0]);
}

#[test]
fn compiled_guests_are_kept_in_the_cache() {
    let directory = tempfile::tempdir().unwrap();
    let options = GuestOptions {
        cache_dir: Some(directory.path().join("guests")),
        ..GuestOptions::default()
    };
    let bytes = wasm(&module("", "(call $ok)"));
    let first = Guest::load(&bytes, &options).unwrap();
    let kept = std::fs::read_dir(directory.path().join("guests"))
        .unwrap()
        .count();
    assert!(kept > 0);
    let second = Guest::load(&bytes, &options).unwrap();
    assert_eq!(first.describe(), second.describe());
}

#[test]
fn loading_the_same_guest_twice_gives_two_of_their_own() {
    let stage = Stage::new("(call $ok)");
    let other = Stage::new("(call $ok)");
    drop(stage.guest.clone());
    drop(stage);
    block_on(other.vu(1).iterate(crate::support::ARRIVAL));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_refused_and_never_panic(bytes: Vec<u8>, as_module: bool) {
        let mut all = if as_module { b"\0asm\x01\0\0\0".to_vec() } else { b"\0asm\x0d\0\x01\0".to_vec() };
        prop_assert!(Guest::load(&bytes, &GuestOptions::default()).is_err());
        all.extend(&bytes);
        prop_assert!(Guest::load(&all, &GuestOptions::default()).is_err());
    }

    #[test]
    fn a_guest_cut_short_or_with_a_byte_changed_never_panics(cut in 0_usize..10_000, at in 0_usize..10_000, byte: u8) {
        let mut bytes = wasm(&module("", "(call $ok)"));
        let length = bytes.len();
        // Cut where its last section begins, which holds names alone, it is whole.
        let short = &bytes[..cut % length];
        let refused = Guest::load(short, &GuestOptions::default()).is_err();
        prop_assert!(refused || wasmparser::validate(short).is_ok());
        bytes[at % length] = byte;
        let options = GuestOptions { guest_cpu_ns: 5_000_000, ..GuestOptions::default() };
        let _ = Guest::load(&bytes, &options);
    }
}
