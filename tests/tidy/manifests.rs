//! Who may depend on whom, and on what: `docs/internals/architecture.md` as tables.

use toml::{Table, Value};

use super::tree::Tree;
use super::{Breach, Rule};

pub(super) const OURS: Rule = Rule {
    name: "crates of ours",
    why: "every edge between crates is one more thing to hold in the head, and core, net and report must build and be tested \
          without wasmtime.",
    remedy: "move the code to the crate that has the edge, or pass a value; a new edge belongs into `EDGES` and into \
             docs/internals/architecture.md.",
};

/// Each crate and the crates of ours it may name. Whoever is not here names none.
const EDGES: &[(&str, &[&str])] = &[
    (
        "nettare",
        &[
            "nettare-core",
            "nettare-engine",
            "nettare-report",
            "nettare-target",
        ],
    ),
    (
        "nettare-engine",
        &["nettare-core", "nettare-net", "nettare-vm"],
    ),
    ("nettare-net", &["nettare-core"]),
    ("nettare-report", &["nettare-core"]),
    ("nettare-vm", &["nettare-core"]),
];

/// What tests may name besides: the root's tests see everything, and whoever sends requests may have a target to send them to.
const TEST_EDGES: &[(&str, &[&str])] = &[
    ("nettare", &["nettare-net", "nettare-vm"]),
    ("nettare-engine", &["nettare-target"]),
    ("nettare-net", &["nettare-target"]),
];

pub(super) const RESERVED: Rule = Rule {
    name: "reserved dependencies",
    why: "a large dependency is narrowed in one crate, so that its changes and its compile time stay there.",
    remedy: "use what the crate that holds it offers, and add to that what is missing.",
};

/// Dependencies from outside and the crates that may name them.
const HOLDERS: &[(&[&str], &[&str])] = &[
    (
        &[
            "wasmtime",
            "wit-component",
            "wit-parser",
            "wasmparser",
            "quanta",
        ],
        &["nettare-vm"],
    ),
    (
        &[
            "h2",
            "hyper",
            "hyper-util",
            "rustls",
            "tokio-rustls",
            "tonic",
            "rcgen",
        ],
        &["nettare-net", "nettare-target"],
    ),
    (
        &[
            "hickory-resolver",
            "rustls-native-certs",
            "socket2",
            "x509-parser",
        ],
        &["nettare-net"],
    ),
    (
        &["anyhow"],
        &["nettare", "nettare-engine", "nettare-target", "xtask"],
    ),
    (
        &["tokio"],
        &["nettare", "nettare-engine", "nettare-net", "nettare-target"],
    ),
    (&["hdrhistogram", "schemars"], &["nettare-core"]),
    (
        &["clap", "clap_complete", "clap_mangen"],
        &["nettare", "xtask"],
    ),
    (&["indicatif", "tracing-subscriber"], &["nettare"]),
    (&["wit-bindgen"], &["nettare-guest"]),
];

pub(super) const CLOSED: Rule = Rule {
    name: "closed lists",
    why: "the pure crates stay pure, and quick to build, by what they can reach.",
    remedy: "do without; if that costs more than it saves, extend `CLOSED_LISTS` and say why in the commit.",
};

/// Crates all of whose dependencies from outside are listed.
const CLOSED_LISTS: &[(&str, &[&str])] = &[
    (
        "nettare-core",
        &[
            "base64",
            "rand_core",
            "rand_pcg",
            "schemars",
            "serde",
            "thiserror",
        ],
    ),
    // The Firefox profiler's format changes with the profiler; the crate that follows it is small, and pure.
    (
        "nettare-report",
        &[
            "fxprof-processed-profile",
            "serde",
            "serde_json",
            "thiserror",
        ],
    ),
];

pub(super) const INHERITED: Rule = Rule {
    name: "set once",
    why: "versions and features that differ between crates build dependencies twice; lints that differ hold nothing.",
    remedy: "name the dependency in the root's `[workspace.dependencies]`, write `NAME.workspace = true` here, and \
             `[lints] workspace = true`.",
};

/// A dependency as a manifest names it.
struct Dependency {
    /// The package, whatever name it is given locally.
    package: String,
    /// Whether only tests and examples see it.
    for_tests: bool,
    /// Whether version and features come from the workspace.
    inherited: bool,
}

/// A crate of the workspace.
struct Manifest {
    path: String,
    package: String,
    dependencies: Vec<Dependency>,
    inherits_lints: bool,
}

/// Edges between crates of ours that the architecture does not have.
pub(super) fn check_ours(tree: &Tree) -> Vec<Breach> {
    let manifests = manifests(tree);
    let is_ours = |package: &str| package == "xtask" || package.starts_with("nettare");
    breaches(&manifests, |manifest, dependency| {
        let allowed = looked_up(EDGES, &manifest.package).contains(&&*dependency.package)
            || dependency.for_tests
                && looked_up(TEST_EDGES, &manifest.package).contains(&&*dependency.package);
        is_ours(&dependency.package) && !allowed
    })
}

/// Reserved dependencies in crates that do not hold them. The integration tests of the root may use any.
pub(super) fn check_reserved(tree: &Tree) -> Vec<Breach> {
    breaches(&manifests(tree), |manifest, dependency| {
        let of_the_tests = dependency.for_tests && manifest.package == "nettare";
        let mut rows = HOLDERS
            .iter()
            .filter(|(packages, _)| packages.contains(&&*dependency.package));
        !of_the_tests && rows.any(|(_, holders)| !holders.contains(&&*manifest.package))
    })
}

/// Dependencies of the pure crates that are not on their lists.
pub(super) fn check_closed(tree: &Tree) -> Vec<Breach> {
    breaches(&manifests(tree), |manifest, dependency| {
        let mut lists = CLOSED_LISTS
            .iter()
            .filter(|(package, _)| *package == manifest.package);
        let ours = dependency.package.starts_with("nettare");
        !dependency.for_tests
            && !ours
            && lists.any(|(_, list)| !list.contains(&&*dependency.package))
    })
}

/// Dependencies with a version of their own, and crates with lints of their own. The SDKs are published apart, and exempt.
pub(super) fn check_inherited(tree: &Tree) -> Vec<Breach> {
    let manifests = manifests(tree)
        .into_iter()
        .filter(|manifest| !manifest.path.starts_with("sdk/"))
        .collect::<Vec<_>>();
    let mut found = breaches(&manifests, |_, dependency| !dependency.inherited);
    let without_lints = manifests.iter().filter(|manifest| !manifest.inherits_lints);
    found.extend(
        without_lints
            .map(|manifest| Breach::new(&manifest.path, 0, "no `[lints] workspace = true`")),
    );
    found
}

fn breaches(
    manifests: &[Manifest],
    is_breach: impl Fn(&Manifest, &Dependency) -> bool,
) -> Vec<Breach> {
    let mut found = Vec::new();
    for manifest in manifests {
        for dependency in manifest
            .dependencies
            .iter()
            .filter(|dependency| is_breach(manifest, dependency))
        {
            let what = format!("`{}` names `{}`", manifest.package, dependency.package);
            found.push(Breach::new(&manifest.path, 0, what));
        }
    }
    found
}

fn looked_up<'a>(table: &[(&str, &'a [&'a str])], package: &str) -> &'a [&'a str] {
    table
        .iter()
        .find(|(name, _)| *name == package)
        .map_or(&[], |(_, list)| list)
}

/// The root's manifest, the runtime's and the SDKs'.
fn manifests(tree: &Tree) -> Vec<Manifest> {
    let ours = |path: &str| {
        path == "Cargo.toml"
            || path.ends_with("/Cargo.toml")
                && (path.starts_with("runtime/") || path.starts_with("sdk/rust/"))
    };
    tree.files()
        .filter(|file| ours(&file.path))
        .filter_map(|file| Manifest::parse(&file.path, &file.text))
        .collect()
}

impl Manifest {
    /// None for a manifest without a package.
    fn parse(path: &str, text: &str) -> Option<Manifest> {
        let table = text
            .parse::<Table>()
            .unwrap_or_else(|error| panic!("{path} cannot be parsed: {error}"));
        let package = table.get("package")?.get("name")?.as_str()?.to_owned();
        let inherits_lints = table.get("lints").and_then(|lints| lints.get("workspace"))
            == Some(&Value::Boolean(true));
        let mut dependencies = sections(&table);
        for target in table
            .get("target")
            .and_then(Value::as_table)
            .into_iter()
            .flat_map(Table::values)
        {
            dependencies.extend(target.as_table().into_iter().flat_map(sections));
        }
        Some(Manifest {
            path: path.to_owned(),
            package,
            dependencies,
            inherits_lints,
        })
    }
}

/// The dependencies of one set of the three sections.
fn sections(table: &Table) -> Vec<Dependency> {
    let mut found = Vec::new();
    for (section, for_tests) in [
        ("dependencies", false),
        ("build-dependencies", false),
        ("dev-dependencies", true),
    ] {
        for (name, value) in table
            .get(section)
            .and_then(Value::as_table)
            .into_iter()
            .flatten()
        {
            let package = value
                .get("package")
                .and_then(Value::as_str)
                .unwrap_or(name)
                .to_owned();
            let inherited = value.get("workspace") == Some(&Value::Boolean(true));
            found.push(Dependency {
                package,
                for_tests,
                inherited,
            });
        }
    }
    found
}

mod tests;
