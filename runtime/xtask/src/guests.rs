//! `cargo xtask guests`: builds every folder of `examples`, by the language found in it.
//!
//! Guests land in `guests/NAME.wasm` of the target folder, as core modules: the runtime makes components of them when it loads
//! them. A folder of no known language stops everything: a guest that is not built is not tested.

mod toolchain;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, ensure};

use crate::command;

/// Build the example guests.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Also check in the demo scenario, which the `nettare` binary carries
    #[arg(long)]
    update_demo: bool,
}

/// The guest that `nettare demo` runs, and where it is checked in.
const DEMO: (&str, &str) = ("catalog", "runtime/cli/assets/demo.wasm");

/// What the checked-in guest may weigh.
const DEMO_LIMIT_BYTES: u64 = 200 * 1024;

/// A guest that was built.
pub(crate) struct Guest {
    /// The folder's name.
    pub(crate) name: String,
    /// The core module.
    pub(crate) module: PathBuf,
}

/// Builds all guests, and says how large they are.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let guests = build_all()?;
    for Guest { name, module } in &guests {
        eprintln!(
            "{name}: {} bytes, {}",
            fs::metadata(module)?.len(),
            module.display()
        );
    }
    if arguments.update_demo {
        update_demo(&guests)
    } else {
        Ok(())
    }
}

/// Builds all guests, in the order of their names. Installs a missing compiler where it may, and says what to install where not.
pub(crate) fn build_all() -> anyhow::Result<Vec<Guest>> {
    let output = command::target_folder("guests");
    fs::create_dir_all(&output).with_context(|| format!("failed to make {}", output.display()))?;
    let folders = guest_folders(&command::root().join("examples"))?;
    if folders
        .iter()
        .any(|(_, language)| *language == Language::Rust)
    {
        build_rust_workspace()?;
    }
    folders
        .iter()
        .map(|(folder, language)| build(folder, *language, &output))
        .collect()
}

/// Copies the demo guest to where the binary embeds it from.
fn update_demo(guests: &[Guest]) -> anyhow::Result<()> {
    let (name, place) = DEMO;
    let demo = guests
        .iter()
        .find(|guest| guest.name == name)
        .with_context(|| format!("there is no guest `{name}`"))?;
    let size = fs::metadata(&demo.module)?.len();
    ensure!(
        size <= DEMO_LIMIT_BYTES,
        "{name} has {size} bytes; the binary carries at most {DEMO_LIMIT_BYTES}"
    );
    let place = command::root().join(place);
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(&demo.module, &place)
        .with_context(|| format!("failed to write {}", place.display()))?;
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Rust,
    C,
    Wat,
}

fn guest_folders(examples: &Path) -> anyhow::Result<Vec<(PathBuf, Language)>> {
    let mut folders = Vec::new();
    for entry in
        fs::read_dir(examples).with_context(|| format!("failed to read {}", examples.display()))?
    {
        let folder = entry?.path();
        if folder.is_dir() && !folder.ends_with("target") {
            let language = language_of(&folder)?;
            folders.push((folder, language));
        }
    }
    folders.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(folders)
}

fn language_of(folder: &Path) -> anyhow::Result<Language> {
    if folder.join("Cargo.toml").is_file() {
        return Ok(Language::Rust);
    }
    let extensions = fs::read_dir(folder)?
        .filter_map(|entry| entry.ok()?.path().extension().map(ToOwned::to_owned));
    let language = extensions.filter_map(|extension| match extension.to_str() {
        Some("c") => Some(Language::C),
        Some("wat") => Some(Language::Wat),
        _ => None,
    });
    match language.collect::<Vec<_>>()[..] {
        [language] => Ok(language),
        ref found => panic!(
            "{}: expected a Cargo.toml, or one .c or .wat file, and found {found:?}",
            folder.display()
        ),
    }
}

fn build(folder: &Path, language: Language, output: &Path) -> anyhow::Result<Guest> {
    let name = folder
        .file_name()
        .and_then(|name| name.to_str())
        .context("a guest's folder has a name in UTF-8")?
        .to_owned();
    let module = output.join(&name).with_extension("wasm");
    match language {
        Language::Rust => {
            let built = rust_target_folder()
                .join("wasm32-unknown-unknown/release")
                .join(name.replace('-', "_"));
            fs::copy(built.with_extension("wasm"), &module)
                .with_context(|| format!("failed to copy {name}"))?;
        }
        Language::C => build_c(&only_file(folder, "c")?, &module)?,
        Language::Wat => {
            let source = only_file(folder, "wat")?;
            fs::write(&module, wat::parse_file(&source)?)
                .with_context(|| format!("failed to write {}", module.display()))?;
        }
    }
    Ok(Guest { name, module })
}

/// One build for all, so that they share what they depend on.
fn build_rust_workspace() -> anyhow::Result<()> {
    let mut cargo = toolchain::find_toolchain()?.cargo();
    cargo.args([
        "build",
        "--release",
        "--locked",
        "--target",
        "wasm32-unknown-unknown",
    ]);
    cargo
        .current_dir(command::root().join("examples"))
        .env("CARGO_TARGET_DIR", rust_target_folder());
    cargo.env("CARGO_ENCODED_RUSTFLAGS", path_remapping()?.join("\x1f"));
    command::run(&mut cargo)
}

/// Panic messages name source files. Shortened, a guest is the same wherever it was built, and tells nothing of the machine.
fn path_remapping() -> anyhow::Result<Vec<String>> {
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let cargo_home = match env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(env::var_os("HOME").context("neither CARGO_HOME nor HOME is set")?)
            .join(".cargo"),
    };
    let mut flags = vec![remap(command::root(), ".")];
    // One folder a registry; the flags that come later win, so the longer paths stand behind the shorter.
    let registries = cargo_home.join("registry/src");
    flags.push(remap(&registries, "registry"));
    for registry in fs::read_dir(&registries).into_iter().flatten() {
        flags.push(remap(&registry?.path(), "registry"));
    }
    Ok(flags)
}

fn build_c(source: &Path, module: &Path) -> anyhow::Result<()> {
    let (clang, linker) = toolchain::find_clang()?;
    let object = module.with_extension("o");
    let mut compile = Command::new(clang);
    compile.args([
        "--target=wasm32",
        "-std=c11",
        "-O2",
        "-ffreestanding",
        "-nostdlib",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-c",
    ]);
    command::run(compile.arg(source).arg("-o").arg(&object))?;
    command::run(
        Command::new(linker)
            .args(["--no-entry", "--strip-all"])
            .arg(&object)
            .arg("-o")
            .arg(module),
    )?;
    fs::remove_file(&object).with_context(|| format!("failed to remove {}", object.display()))
}

fn only_file(folder: &Path, extension: &str) -> anyhow::Result<PathBuf> {
    let files = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files = files.filter(|file| file.extension().is_some_and(|found| found == extension));
    files
        .next()
        .with_context(|| format!("{} has no .{extension} file", folder.display()))
}

/// Apart from the native build, whose lock the cargo that runs this program may hold.
fn rust_target_folder() -> PathBuf {
    command::target_folder("guest-build")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_of_a_known_language() {
        let examples = command::root().join("examples");
        let folders = guest_folders(&examples).unwrap();
        let language = |name: &str| {
            folders
                .iter()
                .find(|(folder, _)| folder.ends_with(name))
                .map(|(_, language)| *language)
        };
        assert_eq!(language("hello"), Some(Language::Rust));
        assert_eq!(language("hello-c"), Some(Language::C));
        assert_eq!(language("hello-wat"), Some(Language::Wat));
    }

    #[test]
    #[should_panic(expected = "expected a Cargo.toml, or one .c or .wat file")]
    fn a_folder_of_no_known_language_stops_the_build() {
        let _ = language_of(&command::root().join("runtime/xtask/src/guests"));
    }
}
