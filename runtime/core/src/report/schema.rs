//! The report's JSON schema, for `cargo xtask schema`.

use super::Report;

/// The JSON schema of `nettare.report/1`, as it is checked in.
pub fn json_schema() -> schemars::Schema {
    schemars::schema_for!(Report)
}

/// A plan is documented with plans, and grows faster than reports.
pub(super) fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object" })
}
