//! The file that `run` and `inspect` are given: a plan or a scenario.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use nettare_core::plan::{Limits, Meter};
use nettare_core::report::ScenarioFile;
use nettare_core::units;
use nettare_engine::vm::{Guest, GuestOptions, LoadError};
use sha2::{Digest, Sha256};

use crate::exit::Cause;
use crate::failure::{Failure, OrFail};

/// What the file turned out to be.
#[derive(Debug)]
pub(crate) enum Input {
    /// A plan, as text.
    Plan { path: PathBuf, text: String },
    /// A scenario, as it lies on the disk.
    Scenario(ScenarioBytes),
}

/// A scenario that has been read and not yet compiled.
#[derive(Debug)]
pub(crate) struct ScenarioBytes {
    /// The path as it was given.
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// A guest and where it came from.
#[derive(Debug)]
pub(crate) struct LoadedGuest {
    pub(crate) guest: Guest,
    pub(crate) file: ScenarioFile,
}

/// A plan may have so many bytes; a person writes some thousand.
const MAX_PLAN_BYTES: u64 = 16 << 20;

/// A scenario may have so many bytes; those with an interpreter inside have some ten million.
const MAX_SCENARIO_BYTES: u64 = 1 << 30;

/// Reads a file that has at most so many bytes. One without an end, such as a device, must not fill the memory.
pub(crate) fn read_at_most(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut limited = File::open(path)?.take(most_bytes + 1);
    limited.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        let most = units::format_size(most_bytes);
        return Err(io::Error::other(format!(
            "it has more than {most}, the most that is read"
        )));
    }
    Ok(bytes)
}

/// Every WebAssembly binary begins so: WebAssembly Core Specification, section 5.5.16.
const WASM_MAGIC: &[u8] = b"\0asm";

/// Reads a plan or a scenario. A name that ends in `.toml` says plan; the content decides where it begins like WebAssembly.
pub(crate) fn read(path: &Path) -> Result<Input, Failure> {
    let says_plan = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    if !says_plan {
        return Ok(Input::Scenario(read_scenario(path)?));
    }
    let bytes = read_at_most(path, MAX_PLAN_BYTES).or_fail_with(Cause::Plan, || {
        format!("the plan `{}` cannot be read", path.display())
    })?;
    if bytes.starts_with(WASM_MAGIC) {
        return Ok(Input::Scenario(ScenarioBytes {
            path: path.to_owned(),
            bytes,
        }));
    }
    let text = String::from_utf8(bytes).or_fail_with(Cause::Plan, || {
        format!("the plan `{}` is not UTF-8 text", path.display())
    })?;
    Ok(Input::Plan {
        path: path.to_owned(),
        text,
    })
}

/// Reads a scenario. Paths in a plan are relative to the plan's folder, so that a plan runs from wherever it is called.
pub(crate) fn read_scenario(path: &Path) -> Result<ScenarioBytes, Failure> {
    let bytes = read_at_most(path, MAX_SCENARIO_BYTES).or_fail_with(Cause::Scenario, || {
        format!("the scenario `{}` cannot be read", path.display())
    })?;
    Ok(ScenarioBytes {
        path: path.to_owned(),
        bytes,
    })
}

impl ScenarioBytes {
    /// Compiles it, with room for `max_vus` virtual users.
    pub(crate) fn load(
        &self,
        limits: &Limits,
        meter: Meter,
        max_vus: u32,
    ) -> Result<LoadedGuest, Failure> {
        let options = GuestOptions {
            max_vus,
            judges: u32::try_from(nettare_engine::judge_count()).unwrap_or(u32::MAX),
            guest_memory_bytes: limits.guest_memory_bytes,
            guest_cpu_ns: limits.guest_cpu_ns,
            meter,
            cache_dir: cache_folder(|name| {
                std::env::var_os(name).and_then(|value| value.into_string().ok())
            }),
            ..GuestOptions::default()
        };
        let guest = Guest::load(&self.bytes, &options).map_err(|error| {
            let failure = Failure::new(cause_of(&error), error);
            Failure {
                error: failure
                    .error
                    .context(format!("`{}` cannot be loaded", self.path.display())),
                ..failure
            }
        })?;
        let file = ScenarioFile {
            file: self.path.display().to_string(),
            sha256: sha256(&self.bytes),
        };
        Ok(LoadedGuest { guest, file })
    }
}

/// A guest that does not fit this machine is the plan's fault, which asks for so many of it.
fn cause_of(error: &LoadError) -> Cause {
    match error {
        LoadError::Pool(_) => Cause::Plan,
        _ => Cause::Scenario,
    }
}

/// Where compiled guests are kept, by the XDG Base Directory Specification; none where the environment names no home.
fn cache_folder(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name: &str| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("nettare/guests"))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_content_decide_what_a_file_is() {
        let rows: [(&str, &[u8], &str, &str); 4] = [
            ("a.toml", b"[run]\n", "plan", "a plan"),
            ("a.TOML", b"", "plan", "in whatever case"),
            (
                "a.toml",
                b"\0asm\x01\0\0\0",
                "scenario",
                "WebAssembly under a wrong name is still WebAssembly",
            ),
            (
                "a.wasm",
                b"[run]\n",
                "scenario",
                "which the loader will refuse, saying why",
            ),
        ];
        let folder = tempfile::tempdir().unwrap();
        for (name, content, expected, sentence) in rows {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            let found = match read(&path).unwrap() {
                Input::Plan { .. } => "plan",
                Input::Scenario(_) => "scenario",
            };
            assert_eq!(found, expected, "{name}: {sentence}");
        }
    }

    #[test]
    fn a_file_without_an_end_is_not_read_for_ever() {
        let endless = Path::new("/dev/zero");
        let error = read_at_most(endless, 1 << 10).unwrap_err();
        assert!(error.to_string().contains("1KiB"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("just");
        std::fs::write(&path, [0; 1 << 10]).unwrap();
        assert_eq!(read_at_most(&path, 1 << 10).unwrap().len(), 1 << 10);
    }

    #[test]
    fn an_absent_file_is_a_fault_of_the_plan_or_the_scenario() {
        let cause = |name: &str| read(Path::new(name)).unwrap_err().cause;
        assert_eq!(
            (cause("absent.toml"), cause("absent.wasm")),
            (Cause::Plan, Cause::Scenario)
        );
    }

    #[test]
    fn digests_are_in_hexadecimal() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
