//! The example guests, built for the tests that run them.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

/// The core module of an example, by the name of its folder.
///
/// All of them are built first, once a process, by the command that a developer would type: a guest that was built before the
/// last change to its source would let the test pass for the wrong reason. When nothing changed, that takes a second.
pub(crate) fn guest(name: &str) -> Vec<u8> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(build).join(name).with_extension("wasm");
    fs::read(&path).unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
}

/// Gives the folder that they are in.
fn build() -> PathBuf {
    let root = super::root();
    let mut xtask = Command::new(env!("CARGO"));
    let status = xtask.args(["xtask", "guests"]).current_dir(&root).status();
    assert!(
        status.expect("cargo starts").success(),
        "`cargo xtask guests` failed"
    );
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |folder| root.join(folder));
    target.join("guests")
}
