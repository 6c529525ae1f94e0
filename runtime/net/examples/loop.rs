//! Sends GET requests over keep-alive connections on one thread and prints what each cost in CPU time:
//! `loop URL CONNECTIONS REQUESTS [user]`. To be compared with `wrk -t1 -c CONNECTIONS` and with a bare `hyper` loop.
#![expect(clippy::print_stdout, reason = "a measuring tool prints")]

use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use nettare_core::plan::{ConnectionPolicy, HttpVersions, Timestamps};
use nettare_core::sample::Stamp;
use nettare_net::{
    AllowList, Client, NetConfig, Request, Session, Shared, Target, TlsOptions, clock,
};
use rustix::time::{ClockId, clock_gettime};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, url, connections, requests, rest @ ..] = &arguments[..] else {
        return Err("usage: loop URL CONNECTIONS REQUESTS [user]".into());
    };
    let timestamps = if rest.is_empty() {
        Timestamps::Auto
    } else {
        Timestamps::User
    };
    let (connections, requests): (u64, u64) = (connections.parse()?, requests.parse()?);
    let shared = Shared::new(config(timestamps))?;
    let target = Arc::new(Target::parse(url).map_err(|failure| failure.message)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let left = Rc::new(Cell::new(requests));
    let stamps = Rc::new(Cell::new([0_u64; 3]));
    let client = Client::new(shared);
    let (cpu_ns, wall_ns) = (cpu_ns(), clock::monotonic_ns());
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let users: Vec<_> = (0..connections)
            .map(|_| {
                tokio::task::spawn_local(user(
                    client.clone(),
                    target.clone(),
                    left.clone(),
                    stamps.clone(),
                ))
            })
            .collect();
        for user in users {
            user.await?;
        }
        Ok::<_, Box<dyn Error>>(())
    })?;
    report(&client, cpu_ns, wall_ns, stamps.get());
    Ok(())
}

async fn user(
    client: Rc<Client>,
    target: Arc<Target>,
    left: Rc<Cell<u64>>,
    stamps: Rc<Cell<[u64; 3]>>,
) {
    let session = Session::new(&client);
    let request = Request {
        method: Method::GET,
        target,
        headers: HeaderMap::new(),
        body: Bytes::new(),
        timeout_ns: None,
        max_redirects: None,
        keep_body: true,
    };
    while left.get() > 0 {
        left.set(left.get() - 1);
        let call = session.call(&request, &mut |_| ()).await;
        let mut counts = stamps.get();
        counts[match call.timing.stamp {
            Stamp::Exact => 0,
            Stamp::Bound => 1,
            Stamp::User => 2,
        }] += 1;
        stamps.set(counts);
    }
}

fn report(
    client: &Client,
    cpu_before_ns: u64,
    wall_before_ns: u64,
    [exact, bound, user]: [u64; 3],
) {
    let funnel = client.funnel();
    let cpu_us = (cpu_ns() - cpu_before_ns) as f64 / 1e3;
    let wall_s = (clock::monotonic_ns() - wall_before_ns) as f64 / 1e9;
    let answered = funnel.answered as f64;
    println!(
        "{:.2} us of CPU a request, {:.0} requests/s",
        cpu_us / answered,
        answered / wall_s
    );
    println!("stamps: exact {exact}, bound {bound}, user {user}");
    println!("{funnel:?}");
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn config(timestamps: Timestamps) -> NetConfig {
    NetConfig {
        timestamps,
        http: HttpVersions::Negotiated,
        tls: TlsOptions::default(),
        user_agent: "nettare".to_owned(),
        allow: AllowList::default(),
        timeout_ns: 10_000_000_000,
        max_redirects: 10,
        connections: ConnectionPolicy::PerVu,
        body_limit_bytes: 64 << 20,
        bodies_budget_bytes: 2 << 30,
    }
}
