//! The control group's CPU quota, and how often it stopped this process: cgroups(7), versions 1 and 2.
//!
//! A quota may stand at any level above the process, and each level counts its own throttling, so all of them are read, from the
//! process's own group up to the mount point.

use std::fs;
use std::path::{Path, PathBuf};

use nettare_core::health::gauge;

use super::Pass;
use super::source::Source;
use super::text::number_after;

/// Groups deeper than this are not looked at; nobody nests them so.
const MAX_LEVELS: usize = 16;

/// Which version a hierarchy is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy for each controller.
    V1,
    /// One hierarchy for all.
    V2,
}

/// The hierarchy that holds the CPU quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its version.
    pub version: Version,
    /// Where it is mounted.
    pub mount: PathBuf,
    /// The process's own group.
    pub group: PathBuf,
}

/// What a quota allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// CPU time in each period.
    pub quota_us: u64,
    /// The period.
    pub period_us: u64,
}

/// What `cpu.stat` tells of throttling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods that ended throttled.
    pub periods: u64,
    /// For how long, summed over CPUs.
    pub ns: u64,
}

impl Quota {
    /// The same in CPUs.
    pub fn cpus(self) -> f64 {
        self.quota_us as f64 / self.period_us.max(1) as f64
    }
}

/// The group of the CPU controller, from `/proc/self/cgroup` and `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
pub fn place(cgroup: &str, mountinfo: &str) -> Option<Place> {
    // With both versions mounted the controller is in one of them: in the first if it is there at all.
    [Version::V1, Version::V2].into_iter().find_map(|version| {
        let path = group_path(cgroup, version)?;
        let (root, mount) = mount_of(mountinfo, version)?;
        let below = path.strip_prefix(root.trim_end_matches('/')).unwrap_or("");
        let below = below.trim_start_matches('/');
        // In a namespace of its own, a process moved from outside has a path with `..`.
        let is_inside = !below.split('/').any(|part| part == "..");
        let mount = PathBuf::from(mount);
        let group = if is_inside {
            mount.join(below)
        } else {
            mount.clone()
        };
        Some(Place {
            version,
            mount,
            group,
        })
    })
}

/// `1:cpu,cpuacct:/path`, or `0::/path` in version 2.
fn group_path(cgroup: &str, version: Version) -> Option<&str> {
    cgroup.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_it = match version {
            Version::V1 => controllers.split(',').any(|name| name == "cpu"),
            Version::V2 => number == "0" && controllers.is_empty(),
        };
        is_it.then_some(path)
    })
}

/// `36 35 98:0 /root /mount/point options ... - type source options`: root and mount point.
fn mount_of(mountinfo: &str, version: Version) -> Option<(&str, &str)> {
    mountinfo.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut file_system = file_system.split(' ');
        let (kind, options) = (file_system.next()?, file_system.nth(1)?);
        let is_it = match version {
            Version::V1 => kind == "cgroup" && options.split(',').any(|name| name == "cpu"),
            Version::V2 => kind == "cgroup2",
        };
        let mut mount = mount.split(' ').skip(3);
        is_it.then_some((mount.next()?, mount.next()?))
    })
}

/// `cpu.max` of version 2: `max 100000` or `50000 100000`; none without a quota.
pub fn parse_cpu_max(text: &str) -> Option<Quota> {
    let mut words = text.split_ascii_whitespace();
    let quota_us = words.next()?.parse().ok()?;
    let period_us = words.next()?.parse().ok().filter(|us| *us > 0)?;
    Some(Quota {
        quota_us,
        period_us,
    })
}

/// `cpu.cfs_quota_us` and `cpu.cfs_period_us` of version 1; none without a quota, which is -1.
pub fn parse_cfs(quota: &str, period: &str) -> Option<Quota> {
    let quota_us = quota.trim().parse().ok()?;
    let period_us = period.trim().parse().ok().filter(|us| *us > 0)?;
    Some(Quota {
        quota_us,
        period_us,
    })
}

/// `cpu.stat` of either version; none where it does not tell of throttling, as at the root of version 2.
pub fn parse_cpu_stat(text: &str) -> Option<Throttling> {
    let microseconds = || number_after(text, "throttled_usec")?.checked_mul(1_000);
    Some(Throttling {
        periods: number_after(text, "nr_throttled")?,
        ns: number_after(text, "throttled_time").or_else(microseconds)?,
    })
}

/// The group's directory and those above it, up to the mount point.
fn levels(place: &Place) -> Vec<&Path> {
    place
        .group
        .ancestors()
        .take_while(|path| path.starts_with(&place.mount))
        .take(MAX_LEVELS)
        .collect()
}

fn quota_of(version: Version, directory: &Path) -> Option<Quota> {
    let read = |name| fs::read_to_string(directory.join(name)).ok();
    match version {
        Version::V1 => parse_cfs(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?),
        Version::V2 => parse_cpu_max(&read("cpu.max")?),
    }
}

/// The place of this process's CPU controller.
pub fn own_place() -> Option<Place> {
    let cgroup = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mountinfo = fs::read_to_string("/proc/self/mountinfo").ok()?;
    place(&cgroup, &mountinfo)
}

/// The tightest quota above this process, if there is one.
pub fn own_quota() -> Option<Quota> {
    let place = own_place()?;
    levels(&place)
        .into_iter()
        .filter_map(|directory| quota_of(place.version, directory))
        .min_by(|a, b| a.cpus().total_cmp(&b.cpus()))
}

/// One group and its count.
struct Level {
    stat: Source,
    /// The length of a period; none without a quota, and then nothing is throttled.
    quota: Option<Quota>,
    before: Throttling,
}

/// Watches the quota.
pub(super) struct Watch {
    /// None where it cannot be told which group this is.
    levels: Option<Vec<Level>>,
}

impl Watch {
    pub(super) fn open() -> Watch {
        let level = |version, directory: &Path| Level {
            stat: Source::open(directory.join("cpu.stat")),
            quota: quota_of(version, directory),
            before: Throttling::default(),
        };
        Watch {
            levels: own_place().map(|place| {
                levels(&place)
                    .into_iter()
                    .map(|directory| level(place.version, directory))
                    .collect()
            }),
        }
    }

    /// CPUs that the tightest quota allows.
    pub(super) fn quota(&self) -> Option<f64> {
        let quotas = self.levels.iter().flatten().filter_map(|level| level.quota);
        quotas.map(Quota::cpus).min_by(f64::total_cmp)
    }

    pub(super) fn sample(&mut self, pass: &mut Pass<'_>) {
        let quota = self.quota();
        let Some(levels) = &mut self.levels else {
            return pass.miss("/proc/self/cgroup");
        };
        let (mut share, mut throttled_ns): (f64, u64) = (0.0, 0);
        for level in levels {
            let now = level.stat.read().and_then(parse_cpu_stat);
            match (now, level.quota) {
                (Some(now), Some(quota)) => {
                    let periods = now.periods.saturating_sub(level.before.periods);
                    share = share.max(share_of_time(periods, quota, pass.seconds));
                    throttled_ns = throttled_ns.max(now.ns.saturating_sub(level.before.ns));
                    level.before = now;
                }
                (None, Some(_)) => pass.miss("cpu.stat of the control group"),
                (_, None) => {}
            }
        }
        pass.level(gauge::THROTTLED, share);
        pass.per_second(gauge::THROTTLED_NS, throttled_ns as f64);
        if let Some(cpus) = quota {
            pass.level(gauge::QUOTA, cpus);
        }
    }
}

/// Throttled periods as a share of the time: a group that was idle has few periods, and one of two throttled is not half.
fn share_of_time(periods: u64, quota: Quota, seconds: Option<f64>) -> f64 {
    let throttled = periods as f64 * quota.period_us as f64 / 1e6;
    seconds.map_or(0.0, |seconds| (throttled / seconds).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V1_MOUNTS: &str = "25 20 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
         26 25 0:23 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n\
         27 25 0:24 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu\n\
         28 25 0:25 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_first_version_is_found_by_its_controller() {
        let found =
            place("2:cpuacct:/a\n1:cpu:/jobs/one\n0::/b\n", V1_MOUNTS).expect("it is there");
        assert_eq!(found.version, Version::V1);
        assert_eq!(found.group, Path::new("/sys/fs/cgroup/cpu/jobs/one"));
        assert_eq!(
            levels(&found),
            [
                "/sys/fs/cgroup/cpu/jobs/one",
                "/sys/fs/cgroup/cpu/jobs",
                "/sys/fs/cgroup/cpu"
            ]
            .map(Path::new)
        );
    }

    #[test]
    fn the_second_version_is_found_in_a_container_too() {
        let mounts = "30 29 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw,nsdelegate\n";
        let whole = place("0::/docker/abc/inner\n", mounts).expect("it is there");
        assert_eq!(whole.group, Path::new("/sys/fs/cgroup/inner"));
        let outside = place("0::/../other\n", mounts).expect("it is there");
        assert_eq!(outside.group, outside.mount);
        assert_eq!(
            place("0::/x\n", "1 2 0:3 / /proc rw - proc proc rw\n"),
            None
        );
    }

    #[test]
    fn quotas_are_read_and_their_absence_too() {
        let half = Some(Quota {
            quota_us: 50_000,
            period_us: 100_000,
        });
        assert_eq!(parse_cpu_max("50000 100000\n"), half);
        assert_eq!(parse_cpu_max("max 100000\n"), None);
        assert_eq!(parse_cfs("50000\n", "100000\n"), half);
        assert_eq!(parse_cfs("-1\n", "100000\n"), None);
        assert_eq!(parse_cfs("50000\n", "0\n"), None);
        assert_eq!(half.map(Quota::cpus), Some(0.5));
    }

    #[test]
    fn throttling_is_read_in_either_version() {
        let second = "usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 250\n";
        let first = "nr_periods 10\nnr_throttled 4\nthrottled_time 250000\nnr_bursts 0\n";
        let throttled = Some(Throttling {
            periods: 4,
            ns: 250_000,
        });
        assert_eq!(parse_cpu_stat(second), throttled);
        assert_eq!(parse_cpu_stat(first), throttled);
        assert_eq!(
            parse_cpu_stat("usage_usec 9\n"),
            None,
            "the root of version 2"
        );
    }

    #[test]
    fn a_throttled_period_is_a_share_of_the_time() {
        let quota = Quota {
            quota_us: 50_000,
            period_us: 100_000,
        };
        assert_eq!(share_of_time(5, quota, Some(1.0)), 0.5);
        assert_eq!(share_of_time(90, quota, Some(1.0)), 1.0);
        assert_eq!(share_of_time(5, quota, None), 0.0);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(cgroup in "([0-9:,/a-z.]{0,20}\n){0,4}", mounts in "([0-9:/ a-z-]{0,40}( - cgroup2? x [a-z,]{0,5})?\n){0,4}", other in "\\PC{0,60}") {
            if let Some(place) = place(&cgroup, &mounts) {
                levels(&place);
            }
            place(&other, &other);
            parse_cpu_max(&other);
            parse_cfs(&other, &other);
            parse_cpu_stat(&other);
        }
    }
}
