//! A guest: a scenario, compiled once and shared by all virtual users.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nettare_core::plan::Meter;
use wasmtime::Engine;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre};

use crate::contract::{Contract, Surface};
use crate::epoch::Ticker;
use crate::error::LoadError;
use crate::pool::Need;
use crate::profile::Profiler;
use crate::state::State;
use crate::{describe, encode, engine, host};

/// How a guest is to be loaded.
#[derive(Clone, Debug)]
pub struct GuestOptions {
    /// Virtual users at one time; room for a few more is made, for `setup` and `describe`.
    pub max_vus: u32,
    /// Instances for deferred checks at one time.
    pub judges: u32,
    /// Linear memory of one virtual user, in bytes.
    pub guest_memory_bytes: u64,
    /// CPU of one call of a hook, in nanoseconds: the sum of its guest segments.
    pub guest_cpu_ns: u64,
    /// Bytes that a guest may hand over in one host call.
    pub hostcall_bytes: usize,
    /// What guests are metered by.
    pub meter: Meter,
    /// Where compiled guests are kept, a directory of ours alone; none compiles each time.
    pub cache_dir: Option<PathBuf>,
}

impl Default for GuestOptions {
    fn default() -> Self {
        GuestOptions {
            max_vus: 100,
            judges: 0,
            guest_memory_bytes: 64 << 20,
            guest_cpu_ns: 10_000_000_000,
            hostcall_bytes: 4 << 20,
            meter: Meter::Time,
            cache_dir: None,
        }
    }
}

/// What a guest says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Names that `run` accepts; the first is the default. There is always one.
    pub scenarios: Vec<String>,
    /// Inline checks, as far as they are known beforehand.
    pub checks: Vec<String>,
    /// What `judge` can check.
    pub deferred_checks: Vec<String>,
    /// A plan fragment in TOML.
    pub options: String,
}

/// A guest, compiled. Cheap to clone.
#[derive(Clone)]
pub struct Guest {
    loaded: Arc<Loaded>,
    description: Arc<Description>,
    /// Samples one of its virtual users.
    profiler: Option<Profiler>,
}

/// All of a guest that its virtual users are made from.
pub(crate) struct Loaded {
    /// Compiled and linked; virtual users are instances of it.
    pub(crate) pre: InstancePre<State>,
    pub(crate) hooks: Hooks,
    pub(crate) options: GuestOptions,
    /// Elements that the tables of one virtual user may have.
    pub(crate) table_elements: usize,
    surface: Surface,
    need: Need,
    /// Advances the epoch as long as anybody has the guest.
    pub(crate) ticker: Ticker,
}

/// Where the hooks are in the component; none for those that the guest has not.
#[derive(Debug)]
pub(crate) struct Hooks {
    pub(crate) describe: Option<ComponentExportIndex>,
    pub(crate) setup: Option<ComponentExportIndex>,
    pub(crate) init: Option<ComponentExportIndex>,
    pub(crate) run: Option<ComponentExportIndex>,
    pub(crate) judge: Option<ComponentExportIndex>,
    pub(crate) teardown: Option<ComponentExportIndex>,
}

impl Hooks {
    fn find(component: &Component, lifecycle: &str) -> Hooks {
        let instance = component.get_export_index(None, lifecycle);
        let hook = |name: &str| component.get_export_index(instance.as_ref(), name);
        Hooks {
            describe: hook("describe"),
            setup: hook("setup"),
            init: hook("init"),
            run: hook("run"),
            judge: hook("judge"),
            teardown: hook("teardown"),
        }
    }
}

impl Guest {
    /// Loads a component, or a core module with or without a component-type section, and asks it to describe itself in an
    /// instance that is thrown away.
    ///
    /// # Errors
    ///
    /// A [`LoadError`] with the cause and the remedy.
    pub fn load(bytes: &[u8], options: &GuestOptions) -> Result<Guest, LoadError> {
        let component = encode::component(bytes)?;
        let surface = Contract::get()?.check_component(&component)?;
        let compiled = engine::compile(&component, options)?;
        let pre = link(&compiled.engine, &compiled.component)?;
        let hooks = Hooks::find(&compiled.component, &surface.lifecycle);
        let ticker = Ticker::start(&compiled.engine).map_err(|error| {
            LoadError::Pool(format!(
                "there is no thread to interrupt long guests: {error}"
            ))
        })?;
        let loaded = Arc::new(Loaded {
            pre,
            hooks,
            options: options.clone(),
            table_elements: compiled.table_elements,
            surface,
            need: compiled.need,
            ticker,
        });
        let description = Arc::new(describe::describe(&loaded)?);
        Ok(Guest {
            loaded,
            description,
            profiler: None,
        })
    }

    /// The same guest, one of whose virtual users is to be sampled.
    #[must_use]
    pub fn sampled_by(self, profiler: &Profiler) -> Guest {
        Guest {
            profiler: Some(profiler.clone()),
            ..self
        }
    }

    /// What the guest says of itself.
    pub fn describe(&self) -> &Description {
        &self.description
    }

    /// Hooks that the guest has.
    pub fn exports(&self) -> &[String] {
        &self.loaded.surface.hooks
    }

    /// Functions that the guest uses, as `interface#function`.
    pub fn imports(&self) -> &[String] {
        &self.loaded.surface.imports
    }

    /// What one virtual user takes of the pool.
    pub fn need(&self) -> &Need {
        &self.loaded.need
    }

    /// How it was loaded.
    pub fn options(&self) -> &GuestOptions {
        &self.loaded.options
    }

    pub(crate) fn profiler(&self) -> Option<&Profiler> {
        self.profiler.as_ref()
    }

    pub(crate) fn loaded(&self) -> &Arc<Loaded> {
        &self.loaded
    }
}

impl fmt::Debug for Guest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Guest")
            .field("exports", &self.loaded.surface.hooks)
            .field("need", &self.loaded.need)
            .finish_non_exhaustive()
    }
}

fn link(engine: &Engine, component: &Component) -> Result<InstancePre<State>, LoadError> {
    let linked = host::linker(engine).and_then(|linker| linker.instantiate_pre(component));
    linked.map_err(|error| LoadError::Compile(format!("{error:#}")))
}
