//! The demo target: a small shop and a box of awkward routes, on loopback, for demos, examples, tests and benchmarks.
