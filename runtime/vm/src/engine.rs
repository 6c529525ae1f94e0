//! The compiler and the allocator behind a guest, set up for virtual users.

use std::path::Path;

use nettare_core::plan::Meter;
use wasmtime::component::Component;
use wasmtime::{Cache, CacheConfig, Config, Engine, InstanceAllocationStrategy};

use crate::error::LoadError;
use crate::guest::GuestOptions;
use crate::limits::{FIBER_STACK_BYTES, GUEST_STACK_BYTES};
use crate::pool::{Need, Pool};
use crate::profile;

/// A compiled component, the engine with room for its virtual users, and what each of them takes.
pub(crate) struct Compiled {
    pub(crate) engine: Engine,
    pub(crate) component: Component,
    pub(crate) need: Need,
    /// Elements that the tables of one virtual user may have.
    pub(crate) table_elements: usize,
}

/// Compiles a component, and makes room.
pub(crate) fn compile(bytes: &[u8], options: &GuestOptions) -> Result<Compiled, LoadError> {
    let estimate = Need::estimate(bytes)?;
    let compiled = compile_for(bytes, &estimate, options)?;
    if estimate.covers(&compiled.need) {
        return Ok(compiled);
    }
    // A module that is instantiated more than once: rare, and known for certain only now.
    let need = compiled.need;
    drop(compiled);
    compile_for(bytes, &need, options)
}

fn compile_for(bytes: &[u8], need: &Need, options: &GuestOptions) -> Result<Compiled, LoadError> {
    let pool = Pool::new(need, options)?;
    let engine = engine(&pool, options)?;
    let component = Component::from_binary(&engine, bytes)
        .map_err(|error| LoadError::Compile(format!("{error:#}")))?;
    let resources = component.resources_required().ok_or_else(|| {
        LoadError::Compile(
            "it imports core modules or instances, which a scenario cannot".to_owned(),
        )
    })?;
    let need = Need::of(&resources, need.core_instances);
    Ok(Compiled {
        engine,
        component,
        need,
        table_elements: pool.table_elements(),
    })
}

fn engine(pool: &Pool, options: &GuestOptions) -> Result<Engine, LoadError> {
    let unchecked = pool.reservation();
    let first = Engine::new(&config(pool, unchecked, options));
    // The address space may be limited (`ulimit -v`): then memories are checked, and take what they may grow to.
    let engine = first.or_else(|_| Engine::new(&config(pool, pool.memory_bytes(), options)));
    engine.map_err(|error| LoadError::Pool(format!("{error:#}")))
}

fn config(pool: &Pool, reservation: u64, options: &GuestOptions) -> Config {
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool.config()))
        .memory_reservation(reservation)
        .epoch_interruption(true)
        .consume_fuel(options.meter == Meter::Instructions)
        .max_wasm_stack(GUEST_STACK_BYTES)
        .async_stack_size(FIBER_STACK_BYTES)
        // A trap tells fewer, and only the innermost; where a stack is sampled, the outermost count as much.
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(profile::FRAMES))
        // Halves the cost of a call. The contract has no async types, so nothing needs it.
        .concurrency_support(false);
    if reservation < u64::from(u32::MAX) {
        // Guards save checks only next to a whole reservation; here they would be maps and address space for nothing.
        config.memory_guard_size(64 << 10);
    }
    if let Some(directory) = &options.cache_dir {
        match cache(directory) {
            Ok(cache) => {
                config.cache(Some(cache));
            }
            Err(error) => tracing::warn!(
                "compiled guests are not kept in {}: {error}",
                directory.display()
            ),
        }
    }
    config
}

/// A cache of compiled guests in a directory that is ours alone: what lies in it is trusted as code.
fn cache(directory: &Path) -> std::io::Result<Cache> {
    let directory = private_directory(directory)?;
    let mut config = CacheConfig::new();
    config.with_directory(directory);
    Cache::new(config).map_err(|error| std::io::Error::other(format!("{error:#}")))
}

fn private_directory(directory: &Path) -> std::io::Result<std::path::PathBuf> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let directory = directory.canonicalize()?;
    let metadata = directory.metadata()?;
    if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o077 != 0 {
        let why = "others may write or read there; `chmod 700` it, or choose another";
        return Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            why,
        ));
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_cache_that_others_may_write_to_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let ours = parent.path().join("a/b");
        assert!(private_directory(&ours).is_ok());
        assert_eq!(ours.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(
            private_directory(&ours).unwrap_err().kind(),
            std::io::ErrorKind::PermissionDenied
        );
    }
}
