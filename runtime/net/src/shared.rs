//! What all workers of a process have in common.

use std::sync::Arc;

use nettare_core::plan::Timestamps;

use crate::budget::Budget;
use crate::dns::Dns;
use crate::tls::Tls;
use crate::{NetConfig, SetupError, sentinel};

/// The process's part of the network: settings, TLS configurations, resolved names and the budget of bodies.
#[derive(Debug)]
pub struct Shared {
    pub(crate) config: NetConfig,
    pub(crate) budget: Arc<Budget>,
    pub(crate) dns: Dns,
    pub(crate) tls: Tls,
    kernel_stamps: bool,
}

impl Shared {
    /// Makes the network ready. Nothing is connected, resolved or loaded yet, but for one connection to ourselves that tells
    /// whether the kernel stamps what it receives.
    ///
    /// # Errors
    ///
    /// When kernel stamps are demanded and there are none, or a certificate or key is unusable.
    pub fn new(config: NetConfig) -> Result<Arc<Shared>, SetupError> {
        let kernel_stamps = match config.timestamps {
            Timestamps::User => false,
            Timestamps::Auto => sentinel::keep_stamping().is_ok(),
            Timestamps::Kernel => {
                let refuse = |reason| SetupError::NoKernelTimestamps { reason };
                sentinel::keep_stamping().map_err(refuse)?;
                true
            }
        };
        Ok(Arc::new(Shared {
            budget: Budget::new(config.bodies_budget_bytes),
            dns: Dns::new(),
            tls: Tls::new(&config.tls, config.http)?,
            kernel_stamps,
            config,
        }))
    }

    /// Whether receive stamps are the kernel's.
    pub fn kernel_stamps(&self) -> bool {
        self.kernel_stamps
    }
}
