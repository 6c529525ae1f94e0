//! On what a figure was measured: without it, it says nothing.

use std::fs;
use std::process::Command;

use anyhow::Context as _;

use crate::command::{output, program};

/// The machine as a paragraph: processor, memory, kernel, system, and the versions of the programs that took part.
pub(crate) fn describe(versions: &[String]) -> anyhow::Result<String> {
    let processors =
        fs::read_to_string("/proc/cpuinfo").context("failed to read about the processor")?;
    let memory = fs::read_to_string("/proc/meminfo").context("failed to read about the memory")?;
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let kernel = output(program("uname").arg("-r"))?;
    let cpus = std::thread::available_parallelism()?.get();
    Ok(format!(
        "{} ({cpus} CPUs), {} GiB of memory, Linux {}, {}. {}.",
        field(&processors, "model name", ':').unwrap_or("unknown processor"),
        gibibytes(&memory).unwrap_or(0),
        kernel.trim(),
        field(&release, "PRETTY_NAME", '=')
            .unwrap_or("unknown system")
            .trim_matches('"'),
        versions.join(", "),
    ))
}

/// Today, in UTC.
pub(crate) fn date() -> anyhow::Result<String> {
    Ok(output(program("date").args(["-u", "+%F"]))?
        .trim()
        .to_owned())
}

/// The commit that is checked out, and whether the tree differs from it.
pub(crate) fn commit() -> anyhow::Result<String> {
    let described =
        output(program("git").args(["describe", "--always", "--dirty", "--abbrev=10"]))?;
    Ok(described.trim().to_owned())
}

/// What a program says of its version, on either stream and whatever its exit status: tools differ.
pub(crate) fn version(command: &mut Command) -> String {
    let said = command
        .output()
        .map(|output| [output.stdout, output.stderr].concat());
    let said = said.map_or_else(
        |_| String::new(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    );
    let line = said.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or("unknown version");
    // wrk goes on with its features and its author.
    line.split(" [").next().unwrap_or(line).trim().to_owned()
}

fn field<'a>(text: &'a str, name: &str, separator: char) -> Option<&'a str> {
    let pair = |line: &'a str| line.split_once(separator);
    text.lines()
        .filter_map(pair)
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

fn gibibytes(meminfo: &str) -> Option<u64> {
    let kibibytes: u64 = field(meminfo, "MemTotal", ':')?
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    Some(kibibytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 7\nmodel name\t: Fast: 2 GHz\n";
        assert_eq!(field(text, "model name", ':'), Some("Fast: 2 GHz"));
        assert_eq!(field(text, "name", ':'), None);
        assert_eq!(gibibytes("MemTotal:       24732372 kB\n"), Some(24));
    }

    #[test]
    fn a_version_is_the_first_line_of_whatever_stream() {
        assert_eq!(
            version(Command::new("sh").args(["-c", "echo; echo 'v 1' >&2; exit 1"])),
            "v 1"
        );
        assert_eq!(
            version(&mut Command::new("/nowhere/at-all")),
            "unknown version"
        );
    }
}
