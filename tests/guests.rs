//! The examples, as guests of a host with canned answers: no sockets, no clock that matters, every answer in the test's hand.
//!
//! They hold two things. The contract: guests in Rust, C and WebAssembly text, that share nothing but `sdk/wit`, behave alike.
//! And the demo: the guest that the binary carries is the one in `examples`.

mod canned;
mod catalog;
mod checkout;
mod hello;
mod shop;
mod tour;
