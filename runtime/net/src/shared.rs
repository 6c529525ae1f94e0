//! What all workers of a process have in common.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use std::{io, mem::MaybeUninit};

use nettare_core::plan::Timestamps;
use socket2::{Domain, Socket, Type};

use crate::budget::Budget;
use crate::wire::{self, Control};
use crate::{NetConfig, SetupError};

/// The process's part of the network: settings, TLS configurations, resolved names, the budget of bodies, and the socket that
/// keeps the kernel's receive stamping switched on.
#[derive(Debug)]
pub struct Shared {
    pub(crate) config: NetConfig,
    pub(crate) budget: Arc<Budget>,
    /// Held for the life of the process: receive stamping is switched on in the kernel while any socket asks for it, and the
    /// switch is slow. Without this one, a test that opens and closes connections would miss a good part of its stamps. None
    /// without kernel stamps.
    sentinel: Option<Socket>,
}

impl Shared {
    /// Makes the network ready. Nothing is connected, resolved or loaded yet, but for one connection to ourselves that tells
    /// whether the kernel stamps what it receives.
    ///
    /// # Errors
    ///
    /// When kernel stamps are demanded and there are none, or a certificate or key is unusable.
    pub fn new(config: NetConfig) -> Result<Arc<Shared>, SetupError> {
        let sentinel = match config.timestamps {
            Timestamps::User => None,
            Timestamps::Auto => working_sentinel().ok(),
            Timestamps::Kernel => {
                let refuse = |error: io::Error| SetupError::NoKernelTimestamps {
                    reason: error.to_string(),
                };
                Some(working_sentinel().map_err(refuse)?)
            }
        };
        Ok(Arc::new(Shared {
            budget: Budget::new(config.bodies_budget_bytes),
            sentinel,
            config,
        }))
    }

    /// Whether receive stamps are the kernel's.
    pub fn kernel_stamps(&self) -> bool {
        self.sentinel.is_some()
    }
}

/// A socket that asks for stamps, once it is known that asking brings any.
fn working_sentinel() -> io::Result<Socket> {
    let sentinel = Socket::new(Domain::IPV4, Type::STREAM.cloexec(), None)?;
    wire::ask_for_control_data(sentinel.as_fd())?;
    prove_stamps()?;
    Ok(sentinel)
}

/// Sends bytes to ourselves until one is stamped. Some sandboxes accept the option and never stamp.
fn prove_stamps() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let receiver = Socket::new(Domain::IPV4, Type::STREAM.cloexec(), None)?;
    wire::ask_for_control_data(receiver.as_fd())?;
    receiver.connect(&listener.local_addr()?.into())?;
    receiver.set_read_timeout(Some(Duration::from_secs(1)))?;
    let (mut sender, _) = listener.accept()?;
    sender.set_nodelay(true)?;
    // The switch takes effect a little after it is thrown; each attempt waits for its own byte, not for a time.
    for _ in 0..ATTEMPTS {
        sender.write_all(b"?")?;
        let mut space = [MaybeUninit::uninit(); 1];
        let received = wire::receive(receiver.as_fd(), Control::Kernel, &mut space)?;
        if received.stamp_realtime_ns.is_some() {
            return Ok(());
        }
        // The way back gives the kernel's worker that throws the switch a chance to run.
        (&receiver).write_all(b"!")?;
        sender.read_exact(&mut [0])?;
    }
    Err(io::Error::other("it accepts the option but does not stamp"))
}

const ATTEMPTS: u32 = 200;
