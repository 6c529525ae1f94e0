//! What a request costs by three kinds of client, on one thread, over kept connections: `nettare-clients URL [CONNECTIONS [REQUESTS]]`.
//!
//! Rounds are interleaved, since machines drift; printed are the medians of CPU time per request.

use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

const ROUNDS: usize = 5;

/// What every client is told.
#[derive(Clone)]
struct Job {
    url: Url,
    address: SocketAddr,
    connections: u64,
    requests: u64,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let job = Job::parse(&arguments)?;
    let mut figures = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        figures[0].push(cpu_us_per_request(&job, by_reqwest(job.clone()))?);
        figures[1].push(cpu_us_per_request(&job, by_hyper(job.clone()))?);
        figures[2].push(cpu_us_per_request(&job, by_socket(job.clone()))?);
    }
    for (name, mut figures) in ["reqwest's client", "hyper's connections", "a bare socket"]
        .into_iter()
        .zip(figures)
    {
        figures.sort_by(f64::total_cmp);
        println!("{name:20} {:6.2} us of CPU a request", figures[ROUNDS / 2]);
    }
    Ok(())
}

impl Job {
    fn parse(arguments: &[String]) -> Result<Job> {
        let Some(url) = arguments.first() else {
            bail!("usage: nettare-clients URL [CONNECTIONS [REQUESTS]]");
        };
        let url = Url::parse(url)?;
        let number = |index: usize, otherwise| {
            arguments
                .get(index)
                .map_or(Ok(otherwise), |text| text.parse())
        };
        let address = url
            .socket_addrs(|| None)?
            .into_iter()
            .next()
            .context("the host has no address")?;
        Ok(Job {
            url,
            address,
            connections: number(1, 64)?,
            requests: number(2, 200_000)?,
        })
    }
}

fn cpu_us_per_request(job: &Job, work: impl Future<Output = Result<()>>) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let before_us = cpu_us();
    tokio::task::LocalSet::new().block_on(&runtime, work)?;
    Ok((cpu_us() - before_us) / job.requests as f64)
}

/// Of the whole process, so that helper threads of a client count.
fn cpu_us() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a place for what the call writes.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Runs one task for each connection until all requests are taken.
async fn share<F: Future<Output = Result<()>> + 'static>(
    job: &Job,
    user: impl Fn(Rc<Cell<u64>>) -> F,
) -> Result<()> {
    let left = Rc::new(Cell::new(job.requests));
    let users: Vec<_> = (0..job.connections)
        .map(|_| tokio::task::spawn_local(user(left.clone())))
        .collect();
    for user in users {
        user.await??;
    }
    Ok(())
}

fn take(left: &Cell<u64>) -> bool {
    let now = left.get();
    left.set(now.saturating_sub(1));
    now > 0
}

async fn by_reqwest(job: Job) -> Result<()> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    share(&job, |left| {
        let (client, url) = (client.clone(), job.url.clone());
        async move {
            while take(&left) {
                let response = client.get(url.clone()).send().await?;
                ensure!(response.status().is_success(), "{}", response.status());
                response.bytes().await?;
            }
            Ok(())
        }
    })
    .await
}

async fn by_hyper(job: Job) -> Result<()> {
    share(&job, |left| {
        let job = job.clone();
        async move {
            let stream = TcpStream::connect(job.address).await?;
            stream.set_nodelay(true)?;
            let io = hyper_util::rt::TokioIo::new(stream);
            let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await?;
            tokio::task::spawn_local(connection);
            let host = job.address.to_string();
            while take(&left) {
                let request = hyper::Request::get(job.url.path())
                    .header("host", &host)
                    .body(Empty::<Bytes>::new())?;
                let response = sender.send_request(request).await?;
                ensure!(response.status().is_success(), "{}", response.status());
                response.into_body().collect().await?;
            }
            Ok(())
        }
    })
    .await
}

/// As little as can be done: the request is bytes, and of the response only its length is understood.
async fn by_socket(job: Job) -> Result<()> {
    share(&job, |left| {
        let job = job.clone();
        async move {
            let mut stream = TcpStream::connect(job.address).await?;
            stream.set_nodelay(true)?;
            let request = format!(
                "GET {} HTTP/1.1\r\nhost: {}\r\n\r\n",
                job.url.path(),
                job.address
            );
            let mut buffer = vec![0; 16 << 10];
            while take(&left) {
                stream.write_all(request.as_bytes()).await?;
                let mut filled = 0;
                while !is_whole(&buffer[..filled])? {
                    let length = stream.read(&mut buffer[filled..]).await?;
                    ensure!(
                        length > 0,
                        "the server closed the connection, or its response is longer than 16 KiB"
                    );
                    filled += length;
                }
            }
            Ok(())
        }
    })
    .await
}

fn is_whole(response: &[u8]) -> Result<bool> {
    let Some(head) = response.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(false);
    };
    let text = std::str::from_utf8(&response[..head])?.to_ascii_lowercase();
    ensure!(text.starts_with("http/1.1 2"), "{text}");
    let length = text
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.split("\r\n").next());
    let length: usize = length
        .context("the response has no content-length")?
        .trim()
        .parse()?;
    Ok(response.len() >= head + 4 + length)
}
