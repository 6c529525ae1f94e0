//! Guests written by hand, on a host with canned answers: no network, no executor.

mod hooks;
mod http;
mod limits;
mod load;
mod meter;
mod profile;
mod records;
mod support;
mod threads;
