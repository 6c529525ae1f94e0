//! Prints the JSON schema of a run's report; `cargo xtask schema` puts it into docs/reference.

#![expect(clippy::print_stdout, reason = "printing is what the program is for")]

fn main() -> serde_json::Result<()> {
    println!(
        "{}",
        serde_json::to_string_pretty(&nettare_core::report::json_schema())?
    );
    Ok(())
}
