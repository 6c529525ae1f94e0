//! `cargo xtask schema`: the JSON schemas in the repository, made from the types they describe.
//!
//! Schemas come out of `nettare-core` with its feature `schema`, which nothing that ships turns on. An example of that crate
//! prints them, and this command only starts it: if xtask named core with the feature, a build of the workspace would turn it
//! on for everybody, and a build of one package would compile core and all that stands on it again.

use crate::command;
use crate::generated::{Arguments, Generated};

/// The checked-in schemas and the examples that print them.
const SCHEMAS: [(&str, &str); 1] = [("report-schema", "docs/reference/report.schema.json")];

/// Writes the schemas, or compares them.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    for (example, path) in SCHEMAS {
        let build = [
            "build",
            "--workspace",
            "--example",
            example,
            "--features",
            "nettare-core/schema",
        ];
        command::run(&mut command::cargo(build))?;
        let printer = command::target_folder("debug/examples").join(example);
        let content = command::output(&mut command::program(printer))?;
        Generated { path, content }.settle(arguments, "cargo xtask schema")?;
    }
    Ok(())
}
