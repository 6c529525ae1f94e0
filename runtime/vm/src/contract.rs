//! The contract this host speaks, and whether a guest speaks it too.
//!
//! The WIT text is the only source: the interfaces, functions and version known here are read from it, so that they cannot
//! differ from what was written down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use wit_parser::decoding::DecodedWasm;
use wit_parser::{InterfaceId, Resolve, WorldId, WorldItem};

use crate::error::LoadError;

/// The contract's text.
const WIT: &str = include_str!("../wit/load.wit");

/// The contract's package, without its version.
const PACKAGE: &str = "nettare:load";

/// The version this host speaks. A test compares it with the text.
pub(crate) const VERSION: &str = "0.1.0";

/// The interface that a guest exports, without its version.
const LIFECYCLE: &str = "lifecycle";

/// The hook that must be there.
const REQUIRED: &str = "run";

const NO_RUN: &str = "a scenario needs at least this one; a core module may export it as `run`";

/// The full name of an interface of this host.
pub(crate) fn interface(name: &str) -> String {
    format!("{PACKAGE}/{name}@{VERSION}")
}

/// What a guest and a host have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Surface {
    /// The exported interface, by the guest's own spelling of its version.
    pub(crate) lifecycle: String,
    /// Hooks that the guest has.
    pub(crate) hooks: Vec<String>,
    /// Functions that the guest imports, as `interface#function`.
    pub(crate) imports: Vec<String>,
}

/// The contract, parsed.
pub(crate) struct Contract {
    resolve: Resolve,
    world: WorldId,
    /// Functions by interface, both without version.
    functions: BTreeMap<String, BTreeSet<String>>,
}

impl Contract {
    /// The contract of this host; parsed once in a process.
    pub(crate) fn get() -> Result<&'static Contract, LoadError> {
        static CONTRACT: OnceLock<Result<Contract, String>> = OnceLock::new();
        let contract = CONTRACT.get_or_init(Contract::parse);
        contract
            .as_ref()
            .map_err(|error| LoadError::Encode(format!("the contract itself is damaged: {error}")))
    }

    fn parse() -> Result<Contract, String> {
        let mut resolve = Resolve::default();
        let package = resolve
            .push_source("load.wit", WIT)
            .map_err(|error| format!("{error:#}"))?;
        let world = resolve
            .select_world(&[package], Some("scenario"))
            .map_err(|error| format!("{error:#}"))?;
        let functions = resolve
            .interfaces
            .iter()
            .filter_map(|(_, interface)| {
                let functions = interface.functions.keys().cloned().collect();
                Some((interface.name.clone()?, functions))
            })
            .collect();
        Ok(Contract {
            resolve,
            world,
            functions,
        })
    }

    /// The names of the hooks.
    pub(crate) fn hooks(&self) -> impl Iterator<Item = &str> {
        self.functions
            .get(LIFECYCLE)
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// The world `scenario`, its `lifecycle` cut down to these hooks: what a core module without a type section gives.
    pub(crate) fn world_with(&self, hooks: &BTreeSet<&str>) -> (Resolve, WorldId) {
        let mut resolve = self.resolve.clone();
        for (_, interface) in resolve.interfaces.iter_mut() {
            if interface.name.as_deref() == Some(LIFECYCLE) {
                interface
                    .functions
                    .retain(|name, _| hooks.contains(name.as_str()));
            }
        }
        (resolve, self.world)
    }

    /// Refuses an import that this host does not have, by the names a core module or a component gives it.
    pub(crate) fn check_import(
        &self,
        module: &str,
        function: Option<&str>,
    ) -> Result<(), LoadError> {
        let name = match function {
            Some(function) => format!("{module}#{function}"),
            None => module.to_owned(),
        };
        let Some((interface, version)) = ours(module) else {
            return Err(LoadError::UnknownImport {
                remedy: foreign_remedy(module).to_owned(),
                name,
            });
        };
        check_version(version)?;
        let known = self.functions.get(interface);
        let is_known = match function {
            Some(function) if !function.starts_with("[resource-drop]") => {
                known.is_some_and(|functions| functions.contains(function))
            }
            _ => known.is_some(),
        };
        if is_known {
            return Ok(());
        }
        let guest = version.unwrap_or("without a version");
        let remedy = format!(
            "the guest was built for {PACKAGE}@{guest}, this host speaks {PACKAGE}@{VERSION}; use an SDK of that version"
        );
        Err(LoadError::UnknownImport { name, remedy })
    }

    /// What a component has in common with this host.
    pub(crate) fn check_component(&self, component: &[u8]) -> Result<Surface, LoadError> {
        let (resolve, world) = match wit_parser::decoding::decode(component) {
            Ok(DecodedWasm::Component(resolve, world)) => (resolve, world),
            Ok(DecodedWasm::WitPackage(..)) => {
                return Err(LoadError::NotWasm(
                    "it is a WIT package in binary, not a component".to_owned(),
                ));
            }
            Err(error) => return Err(LoadError::NotWasm(format!("{error:#}"))),
        };
        let mut surface = Surface::default();
        for (key, item) in &resolve.worlds[world].imports {
            let name = resolve.name_world_key(key);
            match item {
                WorldItem::Interface { id, .. } => {
                    self.check_interface(&resolve, *id, &name, &mut surface)?
                }
                WorldItem::Function(_) => self.check_import(&name, None)?,
                WorldItem::Type { .. } => {}
            }
        }
        self.find_lifecycle(&resolve, world, &mut surface)?;
        Ok(surface)
    }

    fn check_interface(
        &self,
        resolve: &Resolve,
        id: InterfaceId,
        name: &str,
        surface: &mut Surface,
    ) -> Result<(), LoadError> {
        self.check_import(name, None)?;
        for function in resolve.interfaces[id].functions.keys() {
            self.check_import(name, Some(function))?;
            surface.imports.push(format!("{name}#{function}"));
        }
        Ok(())
    }

    fn find_lifecycle(
        &self,
        resolve: &Resolve,
        world: WorldId,
        surface: &mut Surface,
    ) -> Result<(), LoadError> {
        for (key, item) in &resolve.worlds[world].exports {
            let WorldItem::Interface { id, .. } = item else {
                continue;
            };
            let name = resolve.name_world_key(key);
            let Some((LIFECYCLE, version)) = ours(&name) else {
                continue;
            };
            check_version(version)?;
            surface.hooks = resolve.interfaces[*id].functions.keys().cloned().collect();
            surface.lifecycle = name;
        }
        if surface.hooks.iter().any(|hook| hook == REQUIRED) {
            return Ok(());
        }
        Err(missing_run())
    }
}

/// Refuses a core module's exports when none of them is the hook that must be there, or when they are another version's.
pub(crate) fn check_exports<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), LoadError> {
    let mut has_run = false;
    for name in names {
        has_run |= name == REQUIRED;
        let Some((interface, hook)) = name.rsplit_once('#') else {
            continue;
        };
        let Some((LIFECYCLE, version)) = ours(interface) else {
            continue;
        };
        check_version(version)?;
        has_run |= hook == REQUIRED;
    }
    if has_run { Ok(()) } else { Err(missing_run()) }
}

fn missing_run() -> LoadError {
    LoadError::MissingExport {
        name: format!("{}#{REQUIRED}", interface(LIFECYCLE)),
        remedy: NO_RUN,
    }
}

/// The interface and version in a name of our package.
fn ours(name: &str) -> Option<(&str, Option<&str>)> {
    let rest = name.strip_prefix(PACKAGE)?.strip_prefix('/')?;
    Some(match rest.split_once('@') {
        Some((interface, version)) => (interface, Some(version)),
        None => (rest, None),
    })
}

/// A guest and a host understand each other when their versions agree in all but the last number.
fn check_version(version: Option<&str>) -> Result<(), LoadError> {
    if version.and_then(series) == series(VERSION) {
        return Ok(());
    }
    let guest = match version {
        Some(version) => format!("{PACKAGE}@{version}"),
        None => format!("{PACKAGE} without a version"),
    };
    Err(LoadError::Version {
        guest,
        host: format!("{PACKAGE}@{VERSION}"),
    })
}

fn series(version: &str) -> Option<&str> {
    version.rsplit_once('.').map(|(series, _)| series)
}

fn foreign_remedy(module: &str) -> &'static str {
    if module.starts_with("wasi_snapshot_preview1") || module.starts_with("wasi_unstable") {
        "WASI preview 1 is not granted by this version; build the guest for `wasm32-unknown-unknown`"
    } else if module.starts_with("wasi:") {
        "WASI is not granted by this version; build the guest for `wasm32-unknown-unknown`, not for `wasm32-wasip2`"
    } else if module == "env" {
        "a function was left to be linked; for AssemblyScript build with `--use abort=`, for C without libraries that need a system"
    } else {
        "a guest may import interfaces of `nettare:load` only"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_texts() {
        assert!(WIT.contains(&format!("package {PACKAGE}@{VERSION};")));
    }

    #[test]
    fn the_copy_is_the_contract_of_the_sdks() {
        // cargo runs tests in their package's folder.
        let original = "../../sdk/wit/load.wit";
        assert_eq!(std::fs::read_to_string(original).unwrap(), WIT);
    }

    #[test]
    fn every_interface_and_every_function_is_documented() {
        let contract = Contract::get().unwrap();
        for (_, interface) in contract.resolve.interfaces.iter() {
            assert!(interface.docs.contents.is_some(), "{:?}", interface.name);
            for (name, function) in &interface.functions {
                assert!(function.docs.contents.is_some(), "{name}");
            }
        }
        for (_, definition) in contract
            .resolve
            .types
            .iter()
            .filter(|(_, definition)| definition.name.is_some())
        {
            if matches!(definition.kind, wit_parser::TypeDefKind::Type(_)) {
                continue;
            }
            assert!(definition.docs.contents.is_some(), "{:?}", definition.name);
        }
    }

    #[test]
    fn versions_agree_in_all_but_the_last_number() {
        for (version, agrees, why) in [
            (Some("0.1.0"), true, "the same"),
            (
                Some("0.1.7"),
                true,
                "a patch adds functions, and those the guest uses are looked for one by one",
            ),
            (Some("0.2.0"), false, "another minor"),
            (Some("1.1.0"), false, "another major"),
            (Some("nonsense"), false, "no version at all"),
            (None, false, "none given"),
        ] {
            assert_eq!(check_version(version).is_ok(), agrees, "{why}");
        }
    }

    #[test]
    fn a_function_of_a_newer_patch_is_unknown_by_name() {
        let contract = Contract::get().unwrap();
        assert!(
            contract
                .check_import("nettare:load/time@0.1.3", Some("now"))
                .is_ok()
        );
        assert!(
            contract
                .check_import("nettare:load/http@0.1.0", Some("[resource-drop]response"))
                .is_ok()
        );
        let error = contract
            .check_import("nettare:load/time@0.1.3", Some("later"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("nettare:load/time@0.1.3#later") && error.contains("0.1.0"),
            "{error}"
        );
    }
}
