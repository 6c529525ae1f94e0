//! The checkers of the manifests, on manifests that keep and that break their rules.

use super::*;

/// A tree of one manifest.
fn tree(path: &str, package: &str, sections: &str) -> Tree {
    Tree::of(&[(
        path,
        &format!("[package]\nname = \"{package}\"\n{sections}\n[lints]\nworkspace = true\n"),
    )])
}

fn whats(breaches: Vec<Breach>) -> Vec<String> {
    breaches.into_iter().map(|breach| breach.what).collect()
}

#[test]
fn an_edge_that_the_architecture_does_not_have_is_found() {
    for (sentence, package, sections, expected) in [
        (
            "net and vm do not know each other",
            "nettare-vm",
            "[dependencies]\nnettare-net.workspace = true",
            true,
        ),
        (
            "vm may know core",
            "nettare-vm",
            "[dependencies]\nnettare-core.workspace = true",
            false,
        ),
        (
            "core knows nobody",
            "nettare-core",
            "[dependencies]\nnettare-report.workspace = true",
            true,
        ),
        (
            "tests may have a target",
            "nettare-engine",
            "[dev-dependencies]\nnettare-target.workspace = true",
            false,
        ),
        (
            "shipped code may not",
            "nettare-engine",
            "[dependencies]\nnettare-target.workspace = true",
            true,
        ),
        (
            "a new crate knows nobody until it is listed",
            "nettare-new",
            "[dependencies]\nnettare-core.workspace = true",
            true,
        ),
        (
            "another local name hides nothing",
            "nettare-report",
            "[dependencies]\nx = { workspace = true, package = \"nettare-vm\" }",
            true,
        ),
        (
            "a section for one platform counts",
            "nettare-core",
            "[target.'cfg(unix)'.build-dependencies]\nnettare-vm.workspace = true",
            true,
        ),
    ] {
        let found = check_ours(&tree("runtime/x/Cargo.toml", package, sections));
        assert_eq!(!found.is_empty(), expected, "{sentence}: {found:?}");
    }
}

#[test]
fn a_reserved_dependency_is_found_outside_its_crate() {
    let found = check_reserved(&tree(
        "runtime/engine/Cargo.toml",
        "nettare-engine",
        "[dependencies]\nwasmtime.workspace = true",
    ));
    assert_eq!(whats(found), ["`nettare-engine` names `wasmtime`"]);
    for (package, section) in [
        ("nettare-vm", "dependencies"),
        ("nettare", "dev-dependencies"),
    ] {
        let kept = check_reserved(&tree(
            "Cargo.toml",
            package,
            &format!("[{section}]\nwasmtime.workspace = true"),
        ));
        assert_eq!(kept, [], "{package}");
    }
    let in_other_tests = tree(
        "runtime/report/Cargo.toml",
        "nettare-report",
        "[dev-dependencies]\nhyper.workspace = true",
    );
    assert_eq!(
        whats(check_reserved(&in_other_tests)),
        ["`nettare-report` names `hyper`"]
    );
}

#[test]
fn a_pure_crate_has_nothing_that_is_not_on_its_list() {
    let sections = "[dependencies]\nserde.workspace = true\nregex.workspace = true\n[dev-dependencies]\nproptest.workspace = true";
    let found = check_closed(&tree("runtime/core/Cargo.toml", "nettare-core", sections));
    assert_eq!(whats(found), ["`nettare-core` names `regex`"]);
}

#[test]
fn a_version_or_lints_of_a_crate_of_its_own_are_found() {
    let own_version = tree(
        "runtime/core/Cargo.toml",
        "nettare-core",
        "[dependencies]\nserde = \"1\"",
    );
    assert_eq!(
        whats(check_inherited(&own_version)),
        ["`nettare-core` names `serde`"]
    );
    let own_lints = Tree::of(&[(
        "runtime/core/Cargo.toml",
        "[package]\nname = \"nettare-core\"",
    )]);
    assert_eq!(
        whats(check_inherited(&own_lints)),
        ["no `[lints] workspace = true`"]
    );
    let more_features = tree(
        "runtime/xtask/Cargo.toml",
        "xtask",
        "[dependencies]\nserde = { workspace = true, features = [\"rc\"] }",
    );
    assert_eq!(check_inherited(&more_features), []);
    let sdk = Tree::of(&[(
        "sdk/rust/Cargo.toml",
        "[package]\nname = \"nettare-guest\"\n[dependencies]\nserde = \"1\"",
    )]);
    assert_eq!(check_inherited(&sdk), []);
}
