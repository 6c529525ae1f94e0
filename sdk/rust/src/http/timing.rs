//! Where a call's time went.

use std::time::Duration;

use crate::host::http as host;

/// What a call took. The phases and `net` are those of its last hop, `decode` and `gross` the whole call's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// Waiting for a connection because of a policy or limit.
    pub blocked: Duration,
    /// The resolver's time on the wire.
    pub dns: Duration,
    /// The round trip of the TCP handshake.
    pub connect: Duration,
    /// The TLS handshake's flights.
    pub tls: Duration,
    /// From the request's first byte to its last.
    pub sending: Duration,
    /// From the request's last byte to the response's first.
    pub waiting: Duration,
    /// From the response's first byte to its last.
    pub receiving: Duration,
    /// What the server and the network took: sending, waiting and receiving.
    pub net: Duration,
    /// Undoing content codings: the generator's own time.
    pub decode: Duration,
    /// From the call to its return, everything of the generator's included.
    pub gross: Duration,
    /// How many requests it took; more than 1 after redirects.
    pub hops: u32,
    /// What the last receive stamp is worth.
    pub stamp: Stamp,
}

/// What the receive stamp of a response's last byte is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The kernel's, and right.
    Exact,
    /// The kernel's, and perhaps late: the truth may be earlier.
    Bound,
    /// User space's.
    User,
}

impl Timing {
    pub(super) fn from_host(timing: host::Timing) -> Timing {
        let stamp = match timing.stamp {
            host::Stamp::Exact => Stamp::Exact,
            host::Stamp::Bound => Stamp::Bound,
            host::Stamp::User => Stamp::User,
        };
        Timing {
            blocked: Duration::from_nanos(timing.blocked),
            dns: Duration::from_nanos(timing.dns),
            connect: Duration::from_nanos(timing.connect),
            tls: Duration::from_nanos(timing.tls),
            sending: Duration::from_nanos(timing.sending),
            waiting: Duration::from_nanos(timing.waiting),
            receiving: Duration::from_nanos(timing.receiving),
            net: Duration::from_nanos(timing.net),
            decode: Duration::from_nanos(timing.decode),
            gross: Duration::from_nanos(timing.gross),
            hops: timing.hops,
            stamp,
        }
    }
}
