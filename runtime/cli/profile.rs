//! The file asked for by `--profile-guest`: opened before the run, written after it.

use std::io;
use std::path::Path;

use nettare_core::profile::Profile;
use nettare_core::report::ScenarioFile;
use nettare_engine::vm::{Guest, Profiler};
use nettare_report::{firefox, flame};

use crate::args::{ProfileFile, ProfileForm};
use crate::failure::Failure;
use crate::outputs::OpenFile;

/// A profile that is to be taken.
#[derive(Debug)]
pub(crate) struct ProfileOutput {
    form: ProfileForm,
    file: OpenFile,
    profiler: Profiler,
}

/// A profile that was taken.
#[derive(Debug)]
pub(crate) struct EndedProfile {
    form: ProfileForm,
    file: OpenFile,
    /// The guest's file, without its folder.
    name: String,
    profile: Profile,
    /// What whoever reads it must know, one sentence each.
    pub(crate) warnings: Vec<String>,
}

impl ProfileOutput {
    /// Opens the file, or says why it cannot be written.
    pub(crate) fn open(wanted: &ProfileFile) -> Result<ProfileOutput, Failure> {
        Ok(ProfileOutput {
            form: wanted.form,
            file: OpenFile::open(&wanted.path, "profile", "--profile-guest")?,
            profiler: Profiler::new(),
        })
    }

    /// The guest, to be sampled.
    pub(crate) fn sample(&self, guest: Guest) -> Guest {
        guest.sampled_by(&self.profiler)
    }

    /// What was sampled of the run, which is over.
    pub(crate) fn end(self, scenario: Option<&ScenarioFile>) -> EndedProfile {
        let profile = self.profiler.finish();
        EndedProfile {
            form: self.form,
            file: self.file,
            name: scenario.map_or_else(String::new, file_name),
            warnings: warnings(profile.as_ref()),
            profile: profile.unwrap_or_default(),
        }
    }
}

impl EndedProfile {
    /// Where it is to be.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Writes it; a profile that cannot be encoded is a bug, a file that cannot be written is not.
    pub(crate) fn write(self) -> Result<io::Result<()>, Failure> {
        let content = match self.form {
            ProfileForm::FlameGraph => flame::encode(&self.profile, &self.name),
            ProfileForm::Firefox => {
                firefox::encode(&self.profile, &self.name).map_err(anyhow::Error::from)?
            }
        };
        Ok(self.file.write(&content))
    }
}

fn file_name(scenario: &ScenarioFile) -> String {
    let name = Path::new(&scenario.file).file_name();
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// What must be said of a profile.
fn warnings(profile: Option<&Profile>) -> Vec<String> {
    let Some(profile) = profile else {
        return vec!["the guest's profile is empty: no iteration began".to_owned()];
    };
    let mut warnings = Vec::new();
    if profile.samples.is_empty() {
        warnings.push(format!(
            "the guest's profile has no samples: virtual user {} used {} µs of CPU, and one sample takes about {} µs; let the run \
             last longer (-d), or give that virtual user all the work (-u 1)",
            profile.vu,
            profile.cpu_ns / 1000,
            profile.interval_ns / 1000,
        ));
    }
    if profile.is_nameless() {
        warnings.push(
            "the guest was stripped of its functions' names, so its profile shows them by their index: build it with the names \
             (in Cargo.toml: strip = \"debuginfo\")"
                .to_owned(),
        );
    }
    if profile.left_out > 0 {
        warnings.push(format!(
            "{} samples of the guest's profile were left out: it holds no more than {} of {} different stacks",
            profile.left_out,
            nettare_core::profile::SAMPLES_MOST,
            nettare_core::profile::STACKS_MOST,
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use nettare_core::profile::{FrameKind, Function, Recording};

    use super::*;

    fn warned(kind: FrameKind) -> Vec<String> {
        let mut recording = Recording::new(1, 0, 1_000_000);
        let function = Function {
            name: "function 7".to_owned(),
            kind,
        };
        recording.add(1, 1, vec![function]);
        warnings(Some(&recording.into_profile()))
    }

    #[test]
    fn only_what_must_be_said_is_said() {
        assert!(warned(FrameKind::Named).is_empty());
        assert!(warned(FrameKind::Unnamed)[0].contains("by their index"));
        assert!(warnings(None)[0].contains("no iteration began"));
        let light = Recording::new(1, 0, 1_000_000).into_profile();
        assert!(warnings(Some(&light))[0].contains("let the run last longer"));
    }
}
