//! Random bytes read back as a histogram never panic.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nettare_fuzz::histogram(bytes));
