//! What the control groups of this process leave it: CPU time and memory, in both versions of them.
//!
//! A limit holds for a group and all below it, so each group from the process's own up to the top of what is mounted is asked, and
//! the tightest counts. See cgroups(7), and `Documentation/admin-guide/cgroup-v2.rst` and `cgroup-v1` of the Linux kernel.

use std::path::{Component, Path, PathBuf};

/// Version 1 prints this, rounded down to pages, where there is no limit.
const NO_LIMIT: u64 = 1 << 60;

/// Reads a file; none where it cannot.
type Read = dyn Fn(&Path) -> Option<String>;

/// The control groups of a process.
pub(super) struct Groups {
    /// `/proc/self/cgroup`.
    groups: String,
    /// `/proc/self/mountinfo`.
    mounts: String,
    read: Box<Read>,
}

/// A group's folder, and which version of files lies in it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Folder {
    First(PathBuf),
    Second(PathBuf),
}

impl Groups {
    pub(super) fn of_this_process() -> Groups {
        Groups::new(|path| std::fs::read_to_string(path).ok())
    }

    fn new(read: impl Fn(&Path) -> Option<String> + 'static) -> Groups {
        let text = |path: &str| read(Path::new(path)).unwrap_or_default();
        Groups {
            groups: text("/proc/self/cgroup"),
            mounts: text("/proc/self/mountinfo"),
            read: Box::new(read),
        }
    }

    /// CPUs' worth of time by the tightest quota; none where there is no quota.
    pub(super) fn cpus(&self) -> Option<f64> {
        let quotas = self.folders("cpu").into_iter().filter_map(|folder| {
            let (quota, period): (f64, f64) = match &folder {
                Folder::Second(path) => {
                    let text = self.text(path, "cpu.max")?;
                    let (quota, period) = text.trim().split_once(' ')?;
                    (quota.parse().ok()?, period.trim().parse().ok()?)
                }
                Folder::First(path) => (
                    self.number(path, "cpu.cfs_quota_us")?,
                    self.number(path, "cpu.cfs_period_us")?,
                ),
            };
            (quota > 0.0 && period > 0.0).then_some(quota / period)
        });
        quotas.min_by(f64::total_cmp)
    }

    /// Bytes that may still be taken before a limit is reached; none where there is no limit.
    ///
    /// Pages of files that nobody used lately are counted by the group and given back when memory is needed.
    pub(super) fn memory_bytes(&self) -> Option<u64> {
        let left = self.folders("memory").into_iter().filter_map(|folder| {
            let (path, names) = match &folder {
                Folder::Second(path) => (path, ["memory.max", "memory.current", "inactive_file"]),
                Folder::First(path) => (
                    path,
                    [
                        "memory.limit_in_bytes",
                        "memory.usage_in_bytes",
                        "total_inactive_file",
                    ],
                ),
            };
            let [limit, used, idle] = names;
            let limit = self
                .number::<u64>(path, limit)
                .filter(|limit| *limit < NO_LIMIT)?;
            let used: u64 = self.number(path, used)?;
            let idle = self
                .text(path, "memory.stat")
                .and_then(|text| field(&text, idle));
            Some(limit.saturating_sub(used.saturating_sub(idle.unwrap_or(0))))
        });
        left.min()
    }

    fn text(&self, folder: &Path, name: &str) -> Option<String> {
        (self.read)(&folder.join(name))
    }

    /// None for `max` too.
    fn number<N: std::str::FromStr>(&self, folder: &Path, name: &str) -> Option<N> {
        self.text(folder, name)?.trim().parse().ok()
    }

    /// The folders of this process's groups that a controller may have limits in.
    fn folders(&self, controller: &str) -> Vec<Folder> {
        let mut folders = Vec::new();
        for mount in self.mounts.lines().filter_map(Mount::parse) {
            let is_second = mount.kind == "cgroup2";
            let is_first = mount.kind == "cgroup"
                && mount.options.split(',').any(|option| option == controller);
            let group = match (is_first, is_second) {
                (true, _) => {
                    self.group(|controllers| controllers.split(',').any(|name| name == controller))
                }
                (_, true) => self.group(str::is_empty),
                _ => None,
            };
            let Some(group) = group else { continue };
            let version = if is_first {
                Folder::First
            } else {
                Folder::Second
            };
            folders.extend(mount.upwards(group).map(version));
        }
        folders
    }

    /// The path of the group in the hierarchy with such controllers: `4:memory:/a/b`, or `0::/a/b` in version 2.
    fn group(&self, has: impl Fn(&str) -> bool) -> Option<&str> {
        self.groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            has(controllers).then_some(path)
        })
    }
}

/// A line of proc_pid_mountinfo(5): `31 23 0:28 ROOT POINT rw,relatime - KIND source OPTIONS`, optional fields before the hyphen.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (place, what) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let mut what = what.split(' ');
        Some(Mount {
            root: place.next()?,
            point: place.next()?,
            kind: what.next()?,
            options: what.nth(1).unwrap_or_default(),
        })
    }

    /// The folder of a group, and those above it up to the mount's own.
    ///
    /// In a container the mount may begin at a group further down than the path is told from, or the other way round; then the
    /// mount's own folder is the process's.
    fn upwards(&self, group: &str) -> impl Iterator<Item = PathBuf> {
        let point = PathBuf::from(self.point);
        let below = Path::new(group)
            .strip_prefix(self.root)
            .unwrap_or(Path::new(""));
        let is_plain = below
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let folder = if is_plain {
            point.join(below)
        } else {
            point.clone()
        };
        let upwards: Vec<PathBuf> = folder.ancestors().map(Path::to_owned).collect();
        upwards
            .into_iter()
            .take_while(move |path| path.starts_with(&point))
    }
}

/// `name 123` on a line of its own.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    const FIRST: &str = "\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const SECOND: &str =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn groups(files: &[(&str, &str)]) -> Groups {
        let files: HashMap<PathBuf, String> = files
            .iter()
            .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
            .collect();
        Groups::new(move |path| files.get(path).cloned())
    }

    #[test]
    fn half_a_cpu_by_the_second_version() {
        let groups = groups(&[
            ("/proc/self/mountinfo", SECOND),
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "1000000\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "600000\n"),
            (
                "/sys/fs/cgroup/a/b/memory.stat",
                "anon 1\ninactive_file 100000\n",
            ),
            ("/sys/fs/cgroup/a/memory.max", "max\n"),
        ]);
        assert_eq!(groups.cpus(), Some(0.5), "the tightest of those above");
        assert_eq!(
            groups.memory_bytes(),
            Some(500_000),
            "what can be taken back is not used up"
        );
    }

    #[test]
    fn two_cpus_by_the_first_version() {
        let groups = groups(&[
            ("/proc/self/mountinfo", FIRST),
            ("/proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/c\n0::/\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "200000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1000\n"),
            ("/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "400\n"),
            (
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n"),
        ]);
        assert_eq!(
            (groups.cpus(), groups.memory_bytes()),
            (Some(2.0), Some(600))
        );
    }

    #[test]
    fn a_container_sees_its_own_group_at_the_mount() {
        let mounts = SECOND.replace("0:26 / ", "0:26 /docker/1 ");
        for path in ["/docker/1", "/", "/../other"] {
            let groups = groups(&[
                ("/proc/self/mountinfo", &mounts),
                ("/proc/self/cgroup", &format!("0::{path}\n")),
                ("/sys/fs/cgroup/cpu.max", "150000 100000\n"),
            ]);
            assert_eq!(groups.cpus(), Some(1.5), "{path}");
        }
    }

    #[test]
    fn without_limits_or_without_files_there_is_no_figure() {
        for files in [
            &[][..],
            &[
                ("/proc/self/mountinfo", FIRST),
                ("/proc/self/cgroup", "0::/\n"),
            ],
        ] {
            let groups = groups(files);
            assert_eq!((groups.cpus(), groups.memory_bytes()), (None, None));
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(mounts in "[a-z0-9/ ,:\n-]*", path in ".*", file in ".*") {
            let groups = Groups::new(move |name| Some(match name.to_str() {
                Some("/proc/self/mountinfo") => format!("{mounts}\n{SECOND}{FIRST}"),
                Some("/proc/self/cgroup") => format!("0::{path}\n3:cpu:{path}\n4:memory:{path}"),
                _ => file.clone(),
            }));
            let _ = (groups.cpus(), groups.memory_bytes());
        }
    }
}
