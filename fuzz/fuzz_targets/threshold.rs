//! A threshold of random bytes is read or refused, and never panics.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nettare_fuzz::threshold(bytes));
