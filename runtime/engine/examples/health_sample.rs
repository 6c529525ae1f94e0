//! What a sample of the generator's health costs with many sockets open: `health_sample SOCKETS` prints one line of JSON.
//!
//! The sockets are pairs of connections over loopback, both ends in this process, as many as the descriptors' limit lets be.

#![expect(
    clippy::print_stdout,
    reason = "an example speaks through its standard output"
)]

use std::error::Error;
use std::net::{TcpListener, TcpStream};

use nettare_engine::health::Sampler;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

const SAMPLES: u32 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let asked: usize = std::env::args()
        .nth(1)
        .ok_or("the number of sockets is needed")?
        .parse()?;
    raise_descriptor_limit()?;
    let sockets = sockets(asked)?;
    let mut sampler = Sampler::open(1);
    sampler.begin();
    let mut gauges = 0u64;
    let before_ns = cpu_ns();
    for _ in 0..SAMPLES {
        sampler.sample(true, &mut |_, _| gauges += 1);
    }
    let used_ns = cpu_ns() - before_ns;
    let line = serde_json::json!({
        "sockets": sockets.len(),
        "samples": SAMPLES,
        "gauges": gauges / u64::from(SAMPLES),
        "cpu_ns": used_ns / u64::from(SAMPLES),
    });
    println!("{line}");
    Ok(())
}

fn raise_descriptor_limit() -> Result<(), Box<dyn Error>> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

fn sockets(count: usize) -> Result<Vec<TcpStream>, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut sockets = Vec::with_capacity(count);
    while sockets.len() + 1 < count {
        sockets.push(TcpStream::connect(address)?);
        sockets.push(listener.accept()?.0);
    }
    Ok(sockets)
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
