//! The `nettare` command.
fn main() {}
