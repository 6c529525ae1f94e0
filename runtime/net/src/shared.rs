//! What all workers of a process have in common.

use std::sync::Arc;

use crate::{NetConfig, SetupError};

/// The process's part of the network: settings, TLS configurations, resolved names, the budget of bodies, and the socket that
/// keeps the kernel's receive stamping switched on.
#[derive(Debug)]
pub struct Shared {
    pub(crate) config: NetConfig,
    kernel_stamps: bool,
}

impl Shared {
    /// Makes the network ready. Nothing is connected, resolved or loaded yet.
    ///
    /// # Errors
    ///
    /// When kernel stamps are demanded and there are none, or a certificate or key is unusable.
    pub fn new(config: NetConfig) -> Result<Arc<Shared>, SetupError> {
        Ok(Arc::new(Shared {
            config,
            kernel_stamps: false,
        }))
    }

    /// Whether receive stamps are the kernel's.
    pub fn kernel_stamps(&self) -> bool {
        self.kernel_stamps
    }
}
