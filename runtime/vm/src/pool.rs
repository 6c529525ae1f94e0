//! Room for all virtual users of a plan, reserved before the run.
//!
//! wasmtime's pooling allocator has a limit for everything, 1000 by default; each must follow the plan, or virtual users would
//! fail one by one in mid-run. What one virtual user takes depends on the guest: a component in Rust is four core instances, one
//! in Python over thirty. The memories and tables are counted in the file before it is compiled; what the compiled component
//! really takes is compared with that afterwards.

use wasmparser::{Instance, Parser, Payload};
use wasmtime::PoolingAllocationConfig;

use crate::error::LoadError;
use crate::guest::GuestOptions;
use crate::limits::TABLE_ELEMENTS;

/// Instances beside the plan's virtual users: for `describe`, `setup`, `teardown`, and those that take a lost one's place.
const SPARE_INSTANCES: u32 = 16;

/// Core instances cost nothing but a counter: no guest known takes more.
const CORE_INSTANCES_EACH: u32 = 256;

/// With this much address space for each memory, its accesses need no check: 15 % faster than with less.
const UNCHECKED_RESERVATION: u64 = 4 << 30;

/// What all memories' reservations may take together of the address space, which is 128 TiB on usual machines.
const ADDRESS_SPACE: u64 = 64 << 40;

/// Memory maps of one virtual user: two for its stack, four for each memory that is initialised copy-on-write.
const MAPS_FOR_STACK: u64 = 2;
const MAPS_FOR_MEMORY: u64 = 4;

/// Memory maps of the process that are not virtual users'.
const MAPS_ELSEWHERE: u64 = 2000;

const WASM_PAGE: u64 = 64 << 10;

/// What one virtual user of a guest takes of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Core instances in one component instance.
    pub core_instances: u32,
    /// Linear memories.
    pub memories: u32,
    /// Bytes of the largest memory at the start.
    pub memory_bytes: u64,
    /// Tables.
    pub tables: u32,
    /// Elements of the largest table at the start.
    pub table_elements: u64,
}

impl Need {
    /// Counts in the file, taking each module in it to be instantiated once.
    pub(crate) fn estimate(component: &[u8]) -> Result<Need, LoadError> {
        let mut need = Need::default();
        for payload in Parser::new(0).parse_all(component) {
            match payload.map_err(unreadable)? {
                Payload::InstanceSection(section) => {
                    for instance in section {
                        let is_instantiated =
                            matches!(instance.map_err(unreadable)?, Instance::Instantiate { .. });
                        need.core_instances = need
                            .core_instances
                            .saturating_add(u32::from(is_instantiated));
                    }
                }
                Payload::MemorySection(section) => {
                    for memory in section {
                        let memory = memory.map_err(unreadable)?;
                        need.memories = need.memories.saturating_add(1);
                        need.memory_bytes = need
                            .memory_bytes
                            .max(memory.initial.saturating_mul(WASM_PAGE));
                    }
                }
                Payload::TableSection(section) => {
                    for table in section {
                        let table = table.map_err(unreadable)?;
                        need.tables = need.tables.saturating_add(1);
                        need.table_elements = need.table_elements.max(table.ty.initial);
                    }
                }
                _ => {}
            }
        }
        Ok(need)
    }

    /// Memory maps that so many virtual users take, with all others of the process.
    pub fn memory_maps(&self, vus: u32) -> u64 {
        let each = MAPS_FOR_STACK + MAPS_FOR_MEMORY * u64::from(self.memories.max(1));
        let instances = u64::from(vus) + u64::from(SPARE_INSTANCES);
        instances * each + MAPS_ELSEWHERE
    }

    /// What wasmtime says of the compiled component. It does not count core instances.
    pub(crate) fn of(resources: &wasmtime::ResourcesRequired, core_instances: u32) -> Need {
        Need {
            core_instances,
            memories: resources.num_memories,
            memory_bytes: resources
                .max_initial_memory_size
                .unwrap_or(0)
                .saturating_mul(WASM_PAGE),
            tables: resources.num_tables,
            table_elements: resources.max_initial_table_size.unwrap_or(0),
        }
    }

    /// Whether a pool made for `self` has room for `other`.
    pub(crate) fn covers(&self, other: &Need) -> bool {
        self.memories >= other.memories
            && self.tables >= other.tables
            && self.table_elements >= other.table_elements
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the form that `map_err` takes"
)]
fn unreadable(error: wasmparser::BinaryReaderError) -> LoadError {
    LoadError::NotWasm(error.to_string())
}

/// A pool for so many virtual users of such a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    instances: u32,
    memories_each: u32,
    tables_each: u32,
    memory_bytes: u64,
    table_elements: usize,
}

impl Pool {
    pub(crate) fn new(need: &Need, options: &GuestOptions) -> Result<Pool, LoadError> {
        let limit = options.guest_memory_bytes;
        if need.memory_bytes > limit {
            return Err(LoadError::Memory {
                needed: need.memory_bytes,
                limit,
            });
        }
        let pool = Pool {
            instances: options
                .max_vus
                .saturating_add(options.judges)
                .saturating_add(SPARE_INSTANCES),
            memories_each: need.memories.max(1),
            tables_each: need.tables.max(1),
            memory_bytes: limit.next_multiple_of(WASM_PAGE),
            table_elements: usize::try_from(need.table_elements)
                .unwrap_or(usize::MAX)
                .max(TABLE_ELEMENTS),
        };
        pool.check_maps(max_map_count())?;
        Ok(pool)
    }

    /// Elements that the tables of one virtual user may have.
    pub(crate) fn table_elements(&self) -> usize {
        self.table_elements
    }

    /// Address space for each memory: enough to do without checks, or as much as fits.
    pub(crate) fn reservation(&self) -> u64 {
        let memories = u64::from(self.total(self.memories_each));
        if memories.saturating_mul(UNCHECKED_RESERVATION) <= ADDRESS_SPACE {
            UNCHECKED_RESERVATION
        } else {
            self.memory_bytes
        }
    }

    /// What one memory may grow to.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Every limit of the allocator, by the plan.
    pub(crate) fn config(&self) -> PoolingAllocationConfig {
        let mut config = PoolingAllocationConfig::default();
        config
            .total_component_instances(self.instances)
            .total_core_instances(self.total(CORE_INSTANCES_EACH))
            .total_memories(self.total(self.memories_each))
            .total_tables(self.total(self.tables_each))
            .total_stacks(self.instances)
            .max_core_instances_per_component(CORE_INSTANCES_EACH)
            .max_memories_per_component(self.memories_each)
            .max_tables_per_component(self.tables_each)
            .max_memories_per_module(self.memories_each)
            .max_tables_per_module(self.tables_each)
            .max_component_instance_size(16 << 20)
            .max_core_instance_size(16 << 20)
            .max_memory_size(usize::try_from(self.memory_bytes).unwrap_or(usize::MAX))
            .table_elements(self.table_elements);
        config
    }

    fn total(&self, each: u32) -> u32 {
        self.instances.saturating_mul(each)
    }

    // The first wall in practice: past it, instances fail in odd ways (`Cannot allocate memory`). Better said beforehand.
    fn check_maps(&self, available: Option<u64>) -> Result<(), LoadError> {
        let Some(available) = available else {
            return Ok(());
        };
        let each = MAPS_FOR_STACK + MAPS_FOR_MEMORY * u64::from(self.memories_each);
        let needed = u64::from(self.instances) * each + MAPS_ELSEWHERE;
        if needed <= available {
            return Ok(());
        }
        let most = available.saturating_sub(MAPS_ELSEWHERE) / each;
        let most = most.saturating_sub(u64::from(SPARE_INSTANCES));
        Err(LoadError::Pool(format!(
            "they need about {needed} memory maps, and `vm.max_map_count` is {available}; \
             run `sysctl -w vm.max_map_count={needed}`, or ask for at most {most} virtual users"
        )))
    }
}

/// Memory maps that the kernel grants a process; none where it does not say.
fn max_map_count() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/vm/max_map_count")
        .ok()?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(max_vus: u32, memories: u32) -> Pool {
        Pool {
            instances: max_vus + SPARE_INSTANCES,
            memories_each: memories,
            tables_each: 1,
            memory_bytes: 64 << 20,
            table_elements: TABLE_ELEMENTS,
        }
    }

    #[test]
    fn too_few_memory_maps_are_named_with_the_way_out() {
        assert!(pool(10_000, 1).check_maps(Some(65_530)).is_ok());
        let error = pool(20_000, 1).check_maps(Some(65_530)).unwrap_err();
        insta::assert_snapshot!(error, @"no room for the plan's virtual users: they need about 122096 memory maps, and `vm.max_map_count` is 65530; run `sysctl -w vm.max_map_count=122096`, or ask for at most 10572 virtual users");
        assert!(
            pool(20_000, 1).check_maps(None).is_ok(),
            "unknown elsewhere than on Linux"
        );
    }

    #[test]
    fn memories_are_unchecked_as_long_as_the_address_space_allows() {
        assert_eq!(pool(10_000, 1).reservation(), UNCHECKED_RESERVATION);
        assert_eq!(pool(100_000, 1).reservation(), 64 << 20);
    }

    #[test]
    fn memories_and_tables_are_counted_in_nested_modules() {
        let text = r#"(component
            (core module (memory 3) (table 5 funcref))
            (component (core module (memory 2) (memory 1))))"#;
        let need = Need::estimate(&wat::parse_str(text).unwrap()).unwrap();
        let expected = Need {
            core_instances: 0,
            memories: 3,
            memory_bytes: 3 * WASM_PAGE,
            tables: 1,
            table_elements: 5,
        };
        assert_eq!(need, expected);
    }

    #[test]
    fn a_guest_that_starts_over_the_memory_limit_is_refused() {
        let need = Need {
            memory_bytes: 2 << 20,
            ..Need::default()
        };
        let options = GuestOptions {
            guest_memory_bytes: 1 << 20,
            ..GuestOptions::default()
        };
        let error = Pool::new(&need, &options).unwrap_err();
        assert!(error.to_string().contains("guest-memory"), "{error}");
    }
}
