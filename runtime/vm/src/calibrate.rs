//! The meter measures itself: what a check that does nothing is charged.
//!
//! Nothing is subtracted from what is measured; the figure is printed beside it instead. It comes from a guest like any other,
//! made here, so that the whole way is in it: hooks, trampolines, both imports.

use nettare_core::sample::Arrival;
use wasm_encoder::{
    BlockType, CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    ImportSection, MemorySection, MemoryType, Module, TypeSection, ValType,
};

use crate::contract::interface;
use crate::describe::drive;
use crate::error::{GuestFailure, LoadError};
use crate::guest::{Guest, GuestOptions};
use crate::record::Record;
use crate::state::NoHost;
use crate::vu::{RunStart, Vu, VuSetup};
use crate::{Host, Registry};

/// Checks that are measured.
const CHECKS: i32 = 1000;

/// The only check there is.
const CHECK: i32 = 1;

/// What a check that does nothing is charged on this machine, in nanoseconds: the median of a thousand. Takes some milliseconds.
///
/// # Errors
///
/// As [`Guest::load`]; a failure while it runs counts as one of `describe`.
pub fn empty_check_ns() -> Result<u64, LoadError> {
    let options = GuestOptions {
        max_vus: 1,
        ..GuestOptions::default()
    };
    let guest = Guest::load(&guest(), &options)?;
    let mut charged = drive(measure(&guest)).map_err(LoadError::Describe)?;
    charged.sort_unstable();
    Ok(charged.get(charged.len() / 2).copied().unwrap_or(0))
}

async fn measure(guest: &Guest) -> Result<Vec<u64>, GuestFailure> {
    let registry = Registry::new();
    registry.check("empty");
    let setup = VuSetup {
        id: 0,
        scenario: 0,
        host: NoHost::default(),
        registry: registry.into(),
        env: Default::default(),
        seed: 0,
        run_start: RunStart::default(),
        limits: Default::default(),
        deferred: Default::default(),
    };
    let mut vu = Vu::new(guest, setup).await?;
    // Once to warm up.
    for _ in 0..2 {
        vu.host_mut().records().clear();
        let end = vu
            .iterate(Arrival {
                sequence: 0,
                due_ns: 0,
                started_ns: 0,
            })
            .await;
        if let Some(why) = end.why {
            return Err(GuestFailure::Returned(why));
        }
    }
    let charged = vu
        .host_mut()
        .records()
        .iter()
        .filter_map(|record| match record {
            Record::Check { sample, .. } => sample.cpu_ns,
            _ => None,
        });
    Ok(charged.collect())
}

/// A core module whose `run` opens and closes a check over and over.
fn guest() -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32], []);
    types.ty().function([ValType::I32, ValType::I32], []);
    types.ty().function(
        [ValType::I32, ValType::I64, ValType::I64, ValType::I64],
        [ValType::I32],
    );
    let mut imports = ImportSection::new();
    imports.import(&interface("check"), "begin", EntityType::Function(0));
    imports.import(&interface("check"), "end", EntityType::Function(1));
    let mut functions = FunctionSection::new();
    functions.function(2);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut exports = ExportSection::new();
    exports
        .export("memory", ExportKind::Memory, 0)
        .export("run", ExportKind::Func, 2);
    let mut code = CodeSection::new();
    code.function(&run());
    let mut module = Module::new();
    module
        .section(&types)
        .section(&imports)
        .section(&functions)
        .section(&memories)
        .section(&exports)
        .section(&code);
    module.finish()
}

fn run() -> Function {
    // The first four locals are the arrival; the fifth counts down. The result is the address 0, where `ok` lies: a 0.
    let counter = 4;
    let mut run = Function::new([(1, ValType::I32)]);
    run.instructions()
        .i32_const(CHECKS)
        .local_set(counter)
        .loop_(BlockType::Empty)
        .i32_const(CHECK)
        .call(0)
        .i32_const(CHECK)
        .i32_const(1)
        .call(1)
        .local_get(counter)
        .i32_const(1)
        .i32_sub()
        .local_tee(counter)
        .br_if(0)
        .end()
        .i32_const(0)
        .end();
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_check_costs_something_and_not_much() {
        let charged = empty_check_ns().unwrap();
        assert!((1..100_000).contains(&charged), "{charged} ns");
    }
}
