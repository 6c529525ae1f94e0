//! Finds compilers that make WebAssembly.
//!
//! Rust's comes from rustup where it has the target. Debian has it too, but its standard library for WebAssembly is source
//! only: it is built with the guests, by options that the stable cargo takes when it is told that it is a nightly one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, bail};

use crate::command;

const RUST_TARGET: &str = "wasm32-unknown-unknown";
const DEBIAN_RUST: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-19"];
const DEBIAN_CLANG: [&str; 2] = ["clang-19", "lld-19"];

/// A Rust compiler that makes WebAssembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RustToolchain {
    /// The one on the path, with the target installed.
    Rustup,
    /// Debian's packages, in `/usr/bin`.
    Debian,
}

impl RustToolchain {
    /// Its cargo, told where its compiler and linker are. `build --target wasm32-unknown-unknown` is for the caller to add.
    pub(crate) fn cargo(self) -> Command {
        match self {
            RustToolchain::Rustup => without_the_outer_cargo(Command::new("cargo")),
            RustToolchain::Debian => {
                let mut cargo = without_the_outer_cargo(Command::new("/usr/bin/cargo"));
                cargo
                    .env("RUSTC", "/usr/bin/rustc")
                    .env("RUSTC_BOOTSTRAP", "1");
                cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld-19");
                cargo.env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort");
                cargo
            }
        }
    }
}

/// `cargo xtask` runs under a cargo that tells its children which toolchain they belong to. This one belongs to another.
fn without_the_outer_cargo(mut cargo: Command) -> Command {
    for variable in [
        "CARGO",
        "RUSTC",
        "RUSTDOC",
        "RUSTFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_TARGET",
    ] {
        cargo.env_remove(variable);
    }
    cargo
}

/// Finds a Rust compiler for guests; on Debian, as root, installs it if there is none. Where it may not, the error is what to type.
pub(crate) fn find_toolchain() -> anyhow::Result<RustToolchain> {
    if rustup_has_target() {
        return Ok(RustToolchain::Rustup);
    }
    if !debian_has_rust() {
        let advice = format!(
            "rustup target add {RUST_TARGET}\nor, on Debian: apt-get install {}",
            DEBIAN_RUST.join(" ")
        );
        install("a Rust compiler for WebAssembly", &DEBIAN_RUST, &advice)?;
    }
    Ok(RustToolchain::Debian)
}

/// Finds a C compiler and a linker for guests; on Debian, as root, installs them if there are none.
pub(super) fn find_clang() -> anyhow::Result<(PathBuf, PathBuf)> {
    let find = || {
        let clang = ["clang-19", "clang", "clang-16", "clang-14"]
            .into_iter()
            .find_map(on_path)?;
        let linker = ["wasm-ld-19", "wasm-ld", "wasm-ld-16", "wasm-ld-14"]
            .into_iter()
            .find_map(on_path)?;
        Some((clang, linker))
    };
    if let Some(found) = find() {
        return Ok(found);
    }
    let advice = format!(
        "your system's clang and lld; on Debian: apt-get install {}",
        DEBIAN_CLANG.join(" ")
    );
    install("clang and lld", &DEBIAN_CLANG, &advice)?;
    find().context("clang or lld is not on the path, though apt-get installed both")
}

fn rustup_has_target() -> bool {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", RUST_TARGET]);
    rustc.env_remove("RUSTC_WRAPPER");
    let Ok(output) = rustc.output() else {
        return false;
    };
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    // The folder's name is printed for any target that the compiler knows; only an installed one has libraries in it.
    output.status.success()
        && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

fn debian_has_rust() -> bool {
    let programs = ["/usr/bin/rustc", "/usr/bin/cargo", "/usr/bin/wasm-ld-19"].map(Path::new);
    let source = Path::new("/usr/lib/rustlib/src/rust/library/std");
    programs.iter().all(|program| program.is_file()) && source.is_dir()
}

fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// Installs Debian packages if that needs no question: on Debian, as root.
fn install(what: &str, packages: &[&str], advice: &str) -> anyhow::Result<()> {
    let is_debian = Path::new("/etc/debian_version").exists() && on_path("apt-get").is_some();
    if !is_debian || !rustix::process::geteuid().is_root() {
        bail!("{what} is missing. Install it with:\n{advice}");
    }
    let mut apt = Command::new("apt-get");
    apt.args(["install", "-y", "--no-install-recommends"])
        .args(packages);
    command::run(&mut apt)
        .with_context(|| format!("{what} is missing. Install it with:\n{advice}\n"))
}
