//! Names to addresses, once per name, time to live and process.
//!
//! Lookups run on a thread of their own with a runtime of their own, so that the time they take is the resolver's and not that
//! of a busy I/O thread. There is one lookup per name under way; others who need the name wait for it. The hosts file comes
//! first, as everywhere; `localhost` never leaves the machine (RFC 6761, section 6.3).
//!
//! ```text
//! unknown ── first asker starts a lookup ──► looking ── answer ──► known ── time to live over ──► unknown
//!                                             ▲ others wait
//! ```

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::LookupIpStrategy;
use hickory_resolver::lookup_ip::LookupIp;
use hickory_resolver::net::{DnsError, NetError};
use nettare_core::sample::{ErrorKind, Failure};
use tokio::sync::{mpsc, oneshot};

use crate::allow::is_localhost;
use crate::clock;
use crate::error::failure;

/// A name that could not be resolved is not asked for again for so long: an attempt costs the resolver's time-out, and ten
/// thousand virtual users would ask at once.
const FAILURE_LASTS_NS: u64 = 1_000_000_000;

/// The process's names.
#[derive(Debug)]
pub(crate) struct Dns {
    names: Arc<Names>,
    /// To the resolver's thread, once there is one.
    lookups: Mutex<Option<mpsc::UnboundedSender<Arc<str>>>>,
    servers: Servers,
}

/// Whom to ask.
#[derive(Clone, Debug)]
enum Servers {
    /// Whoever is named in `/etc/resolv.conf`, after the hosts file.
    System,
    /// One server, and no hosts file.
    #[cfg(test)]
    Only(std::net::SocketAddr),
}

/// What a name came to.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// In the order in which to try them.
    pub(crate) addresses: Vec<IpAddr>,
    /// How much of the lookup's time fell to the asker; 0 when the name was known.
    pub(crate) waited_ns: u64,
}

type Names = Mutex<HashMap<Arc<str>, Entry>>;

#[derive(Debug)]
enum Entry {
    Looking(Vec<oneshot::Sender<Answer>>),
    Known {
        answer: Answer,
        expires_ns: u64,
        /// How many connections have asked: each begins with another address.
        turn: usize,
    },
}

#[derive(Clone, Debug)]
struct Answer {
    addresses: Result<Arc<[IpAddr]>, Failure>,
    began_ns: u64,
    ended_ns: u64,
}

impl Dns {
    pub(crate) fn new() -> Dns {
        Dns::asking(Servers::System)
    }

    fn asking(servers: Servers) -> Dns {
        Dns {
            names: Arc::default(),
            lookups: Mutex::default(),
            servers,
        }
    }

    /// The addresses of `host`, a name in lower case.
    ///
    /// # Errors
    ///
    /// Kind `dns`.
    pub(crate) async fn resolve(&self, host: &str) -> Result<Resolved, Failure> {
        if is_localhost(host) {
            let addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
            return Ok(Resolved {
                addresses,
                waited_ns: 0,
            });
        }
        let asked_ns = clock::monotonic_ns();
        let waiter = match self.look_up(host, asked_ns)? {
            Asked::Known(addresses) => {
                return Ok(Resolved {
                    addresses,
                    waited_ns: 0,
                });
            }
            Asked::Wait(waiter) => waiter,
        };
        let answer = waiter.await.map_err(|_| resolver_gone())?;
        let addresses = in_turn(&answer.addresses?, self.take_turn(host));
        let waited_ns = answer
            .ended_ns
            .saturating_sub(asked_ns.max(answer.began_ns));
        Ok(Resolved {
            addresses,
            waited_ns,
        })
    }

    fn look_up(&self, host: &str, now_ns: u64) -> Result<Asked, Failure> {
        let mut names = lock(&self.names);
        match names.get_mut(host) {
            Some(Entry::Known {
                answer,
                expires_ns,
                turn,
            }) if now_ns < *expires_ns => {
                *turn += 1;
                let addresses = answer.addresses.as_ref().map_err(Clone::clone)?;
                return Ok(Asked::Known(in_turn(addresses, *turn - 1)));
            }
            Some(Entry::Looking(waiters)) => {
                let (sender, receiver) = oneshot::channel();
                waiters.push(sender);
                return Ok(Asked::Wait(receiver));
            }
            _ => {}
        }
        let host: Arc<str> = host.into();
        self.start_lookup(&host)?;
        let (sender, receiver) = oneshot::channel();
        names.insert(host, Entry::Looking(vec![sender]));
        Ok(Asked::Wait(receiver))
    }

    fn take_turn(&self, host: &str) -> usize {
        match lock(&self.names).get_mut(host) {
            Some(Entry::Known { turn, .. }) => {
                *turn += 1;
                *turn - 1
            }
            _ => 0,
        }
    }

    fn start_lookup(&self, host: &Arc<str>) -> Result<(), Failure> {
        let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = &*lookups
            && sender.send(Arc::clone(host)).is_ok()
        {
            return Ok(());
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        let (names, servers) = (Arc::clone(&self.names), self.servers.clone());
        std::thread::Builder::new()
            .name("nettare-dns".to_owned())
            .spawn(move || serve(receiver, &names, &servers))
            .map_err(|error| {
                let message = format!("the resolver's thread could not be started: {error}; raise the limit on threads (ulimit -u)");
                failure(ErrorKind::GeneratorLimit, 0, message)
            })?;
        // The receiver is on its way to the thread and cannot be gone.
        let _ = sender.send(Arc::clone(host));
        *lookups = Some(sender);
        Ok(())
    }
}

enum Asked {
    Known(Vec<IpAddr>),
    Wait(oneshot::Receiver<Answer>),
}

/// The addresses for the `turn`-th connection: IPv4 before IPv6, and within each family every connection begins one further on.
fn in_turn(addresses: &[IpAddr], turn: usize) -> Vec<IpAddr> {
    let mut ordered = Vec::with_capacity(addresses.len());
    for family_is_v4 in [true, false] {
        let family: Vec<_> = addresses
            .iter()
            .copied()
            .filter(|address| address.is_ipv4() == family_is_v4)
            .collect();
        let begin = turn % family.len().max(1);
        ordered.extend(family[begin..].iter().chain(&family[..begin]));
    }
    ordered
}

/// The resolver's thread: answers until nobody can ask any more.
fn serve(mut lookups: mpsc::UnboundedReceiver<Arc<str>>, names: &Arc<Names>, servers: &Servers) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    else {
        // Dropping the waiters tells them.
        lock(names).clear();
        return;
    };
    runtime.block_on(async {
        let resolver = resolver_for(servers);
        while let Some(host) = lookups.recv().await {
            let (names, resolver) = (Arc::clone(names), resolver.clone());
            tokio::spawn(async move {
                let (answer, lives_ns) = look_up_once(resolver, &host).await;
                let expires_ns = answer.ended_ns.saturating_add(lives_ns);
                let known = Entry::Known {
                    answer: answer.clone(),
                    expires_ns,
                    turn: 0,
                };
                let entry = lock(&names).insert(host, known);
                if let Some(Entry::Looking(waiters)) = entry {
                    for waiter in waiters {
                        // An asker that gave up meanwhile needs no answer.
                        let _ = waiter.send(answer.clone());
                    }
                }
            });
        }
    });
}

async fn look_up_once(resolver: Result<TokioResolver, NetError>, host: &str) -> (Answer, u64) {
    let began_ns = clock::monotonic_ns();
    let found = match resolver {
        Ok(resolver) => resolver.lookup_ip(host).await,
        Err(error) => Err(error),
    };
    let ended_ns = clock::monotonic_ns();
    let (addresses, lives_ns) = match found {
        Ok(found) => (Ok(found.iter().collect()), lifetime_ns(&found)),
        Err(error) => (Err(explain(&error, host)), FAILURE_LASTS_NS),
    };
    (
        Answer {
            addresses,
            began_ns,
            ended_ns,
        },
        lives_ns,
    )
}

fn lifetime_ns(found: &LookupIp) -> u64 {
    let shortest_s = found
        .as_lookup()
        .answers()
        .iter()
        .map(|record| record.ttl)
        .min();
    u64::from(shortest_s.unwrap_or(0)) * 1_000_000_000
}

fn resolver_for(servers: &Servers) -> Result<TokioResolver, NetError> {
    let mut builder = match servers {
        Servers::System => TokioResolver::builder_tokio()?,
        #[cfg(test)]
        Servers::Only(address) => tests::builder_for(*address),
    };
    let options = builder.options_mut();
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    // Ours is the cache, one for all workers; a second one would answer from memory what is to be asked on the wire.
    options.cache_size = 0;
    builder.build()
}

fn explain(error: &NetError, host: &str) -> Failure {
    let message = match error {
        NetError::Dns(DnsError::NoRecordsFound(_)) => {
            format!("the name {host} has no address; check its spelling, or add it to /etc/hosts")
        }
        NetError::Timeout => {
            format!("no name server answered for {host}; check /etc/resolv.conf and the network")
        }
        other => format!("the name {host} could not be resolved: {other}; check /etc/resolv.conf"),
    };
    failure(ErrorKind::Dns, 0, message)
}

fn resolver_gone() -> Failure {
    failure(
        ErrorKind::GeneratorLimit,
        0,
        "the resolver's thread ended early; lower the load on this machine",
    )
}

/// A panic elsewhere cannot leave the map half-changed: each change is one insertion.
fn lock(names: &Names) -> MutexGuard<'_, HashMap<Arc<str>, Entry>> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use hickory_resolver::ResolverBuilder;
    use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
    use hickory_resolver::net::runtime::TokioRuntimeProvider;

    use super::*;

    pub(super) fn builder_for(address: SocketAddr) -> ResolverBuilder<TokioRuntimeProvider> {
        let mut connection = ConnectionConfig::udp();
        connection.port = address.port();
        let server = NameServerConfig::new(address.ip(), true, vec![connection]);
        let config = ResolverConfig::from_name_servers(vec![server]);
        let mut builder =
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        builder.options_mut().use_hosts_file = hickory_resolver::config::ResolveHosts::Never;
        builder
    }

    /// A name server that knows a few names and counts the queries of type A.
    struct Server {
        address: SocketAddr,
        queries: Arc<AtomicUsize>,
    }

    /// What the server knows: a name, its addresses, its time to live in seconds.
    type Zone = &'static [(&'static str, &'static [&'static str], u32)];

    const ZONE: Zone = &[
        ("four.test", &["192.0.2.1"], 60),
        ("six.test", &["2001:db8::1"], 60),
        ("both.test", &["2001:db8::2", "192.0.2.2"], 60),
        ("many.test", &["192.0.2.3", "192.0.2.4", "192.0.2.5"], 60),
        ("fleeting.test", &["192.0.2.6"], 0),
    ];

    impl Server {
        fn start() -> Server {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = socket.local_addr().unwrap();
            let queries = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&queries);
            // It ends with the test's process; there is nothing to clean up.
            std::thread::spawn(move || {
                let mut packet = [0; 512];
                while let Ok((length, asker)) = socket.recv_from(&mut packet) {
                    let (name, kind, question_end) = question(&packet[..length]);
                    counter.fetch_add(usize::from(kind == TYPE_A), Ordering::SeqCst);
                    socket
                        .send_to(&answer(&packet[..question_end], &name, kind), asker)
                        .unwrap();
                }
            });
            Server { address, queries }
        }

        fn resolver(&self) -> Dns {
            Dns::asking(Servers::Only(self.address))
        }

        fn queries(&self) -> usize {
            self.queries.load(Ordering::SeqCst)
        }
    }

    const TYPE_A: u16 = 1;
    const TYPE_AAAA: u16 = 28;

    /// RFC 1035, section 4.1.2: labels with their lengths, then type and class.
    fn question(packet: &[u8]) -> (String, u16, usize) {
        let mut at = 12;
        let mut labels = Vec::new();
        while packet[at] != 0 {
            let length = usize::from(packet[at]);
            labels.push(
                String::from_utf8(packet[at + 1..=at + length].to_vec())
                    .unwrap()
                    .to_lowercase(),
            );
            at += length + 1;
        }
        (
            labels.join("."),
            u16::from_be_bytes([packet[at + 1], packet[at + 2]]),
            at + 5,
        )
    }

    fn answer(query: &[u8], name: &str, kind: u16) -> Vec<u8> {
        let known = ZONE.iter().find(|(known, ..)| *known == name);
        let records: Vec<IpAddr> = known
            .map(|(_, addresses, _)| {
                addresses
                    .iter()
                    .map(|address| address.parse().unwrap())
                    .collect()
            })
            .unwrap_or_default();
        let wanted = |address: &&IpAddr| match kind {
            TYPE_A => address.is_ipv4(),
            TYPE_AAAA => address.is_ipv6(),
            _ => false,
        };
        let records: Vec<_> = records.iter().filter(wanted).collect();
        let response_code = if known.is_some() { 0 } else { 3 };
        let mut packet = query.to_vec();
        packet[2] = 0x81; // a response, recursion desired
        packet[3] = 0x80 | response_code; // recursion available
        packet[4..12].copy_from_slice(&[0, 1, 0, records.len() as u8, 0, 0, 0, 0]);
        for record in records {
            packet.extend([0xc0, 12]); // the name: a pointer to the question's
            packet.extend(kind.to_be_bytes());
            packet.extend([0, 1]);
            packet.extend(known.map_or(0, |(.., ttl_s)| *ttl_s).to_be_bytes());
            match record {
                IpAddr::V4(address) => packet.extend([&[0, 4], &address.octets()[..]].concat()),
                IpAddr::V6(address) => packet.extend([&[0, 16], &address.octets()[..]].concat()),
            }
        }
        packet
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(work)
    }

    fn texts(addresses: &[IpAddr]) -> Vec<String> {
        addresses.iter().map(IpAddr::to_string).collect()
    }

    #[test]
    fn case_077_every_mix_of_families_resolves() {
        let server = Server::start();
        let rows: &[(&str, &[&str], &str)] = &[
            ("four.test", &["192.0.2.1"], "IPv4 alone"),
            ("six.test", &["2001:db8::1"], "IPv6 alone"),
            (
                "both.test",
                &["192.0.2.2", "2001:db8::2"],
                "IPv4 before IPv6, whatever the server's order",
            ),
            (
                "localhost",
                &["127.0.0.1", "::1"],
                "localhost without asking anybody",
            ),
            ("a.localhost", &["127.0.0.1", "::1"], "and all below it"),
        ];
        run(async {
            let dns = server.resolver();
            for (name, addresses, why) in rows {
                let resolved = dns
                    .resolve(name)
                    .await
                    .unwrap_or_else(|failure| panic!("{why}: {failure:?}"));
                assert_eq!(texts(&resolved.addresses), *addresses, "{why}");
            }
        });
    }

    #[test]
    fn connections_take_the_addresses_in_turn() {
        let server = Server::start();
        run(async {
            let dns = server.resolver();
            let mut firsts = Vec::new();
            for _ in 0..4 {
                firsts.push(dns.resolve("many.test").await.unwrap().addresses[0].to_string());
            }
            let mut distinct = firsts[..3].to_vec();
            distinct.sort();
            assert_eq!(distinct, ["192.0.2.3", "192.0.2.4", "192.0.2.5"]);
            assert_eq!(firsts[3], firsts[0], "and then from the beginning");
        });
        assert_eq!(server.queries(), 1);
    }

    #[test]
    fn many_askers_share_one_lookup() {
        let server = Server::start();
        run(async {
            let dns = server.resolver();
            let asked: Vec<_> = (0..10).map(|_| dns.resolve("four.test")).collect();
            for resolved in futures_util::future::join_all(asked).await {
                let resolved = resolved.unwrap();
                assert_eq!(texts(&resolved.addresses), ["192.0.2.1"]);
                assert!(resolved.waited_ns > 0, "each waited for it");
            }
            assert_eq!(
                dns.resolve("four.test").await.unwrap().waited_ns,
                0,
                "by now it is known"
            );
        });
        assert_eq!(server.queries(), 1);
    }

    #[test]
    fn a_name_is_asked_for_again_when_its_time_is_over() {
        let server = Server::start();
        run(async {
            let dns = server.resolver();
            for _ in 0..3 {
                dns.resolve("fleeting.test").await.unwrap();
            }
        });
        assert_eq!(server.queries(), 3);
    }

    #[test]
    fn an_unknown_name_is_a_dns_failure_that_is_not_asked_for_at_once_again() {
        let server = Server::start();
        run(async {
            let dns = server.resolver();
            for _ in 0..3 {
                let failure = dns.resolve("absent.test").await.unwrap_err();
                assert_eq!(failure.kind, ErrorKind::Dns);
                assert!(
                    failure.message.contains("absent.test"),
                    "{}",
                    failure.message
                );
            }
        });
        assert_eq!(server.queries(), 1);
    }
}
