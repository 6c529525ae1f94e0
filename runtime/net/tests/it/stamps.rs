//! What the kernel's stamps say, and what becomes of deadlines while this thread is busy.

use std::io::{ErrorKind as IoErrorKind, Write};
use std::sync::mpsc;

use nettare_core::sample::{ErrorKind, Outcome, Stamp};
use nettare_net::clock::monotonic_ns;

use crate::support::{Peer, User, get, run_user};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Keeps the thread, and with it every socket of the client, busy until the script says that it is done.
fn busy_until(done: &mpsc::Receiver<()>) {
    done.recv().unwrap();
}

/// Lets the client work until its request has arrived at the script.
async fn until_arrived(arrived: &mpsc::Receiver<()>) {
    while arrived.try_recv().is_err() {
        tokio::task::yield_now().await;
    }
}

/// What a script tells: that a request arrived, and that it has done all it will do.
struct Signals {
    arrived: mpsc::Sender<()>,
    done: mpsc::Sender<()>,
}

fn signals() -> (Signals, mpsc::Receiver<()>, mpsc::Receiver<()>) {
    let ((arrived, has_arrived), (done, is_done)) = (mpsc::channel(), mpsc::channel());
    (Signals { arrived, done }, has_arrived, is_done)
}

/// Runs a call during which the thread is busy from the request's arrival until the script is done.
async fn call_while_busy(
    user: User,
    request: nettare_net::Request,
    arrived: mpsc::Receiver<()>,
    done: mpsc::Receiver<()>,
) -> (nettare_net::Call, u64) {
    let session = user.session.clone();
    let call = tokio::task::spawn_local(async move { session.call(&request, &mut |_| ()).await });
    until_arrived(&arrived).await;
    busy_until(&done);
    let done_ns = monotonic_ns();
    (call.await.unwrap(), done_ns)
}

#[test]
fn bytes_that_lie_unread_do_not_count_as_the_servers_time() {
    let (Signals { arrived, done }, has_arrived, is_done) = signals();
    let peer = Peer::start(move |talk| {
        talk.read_request()?;
        arrived.send(()).unwrap();
        talk.write(OK)?;
        let written_ns = monotonic_ns();
        while monotonic_ns() < written_ns + 20_000_000 {}
        done.send(()).unwrap();
        talk.read_request().map(|_| ())
    });
    run_user(async |user| {
        let before_ns = monotonic_ns();
        let (call, done_ns) =
            call_while_busy(user, get(&peer.url("/")), has_arrived, is_done).await;
        let exchange = call.exchange.unwrap();
        assert_eq!(exchange.stamp, Stamp::Exact);
        assert!(
            exchange.phases.net_ns() + 20_000_000 <= done_ns - before_ns,
            "{exchange:?}"
        );
    });
}

#[test]
fn segments_that_join_keep_the_last_ones_stamp_which_is_the_messages() {
    let (Signals { arrived, done }, has_arrived, is_done) = signals();
    let peer = Peer::start(move |talk| {
        talk.read_request()?;
        arrived.send(()).unwrap();
        talk.write(&OK[..OK.len() - 1])?;
        talk.write(&OK[OK.len() - 1..])?;
        done.send(()).unwrap();
        talk.read_request().map(|_| ())
    });
    run_user(async |user| {
        let (call, _) = call_while_busy(user, get(&peer.url("/")), has_arrived, is_done).await;
        assert_eq!(call.exchange.unwrap().stamp, Stamp::Exact);
    });
}

#[test]
fn an_end_of_stream_behind_the_response_makes_its_stamp_a_bound() {
    let (Signals { arrived, done }, has_arrived, is_done) = signals();
    let peer = Peer::start(move |talk| {
        talk.read_request()?;
        arrived.send(()).unwrap();
        talk.write(OK)?;
        talk.close();
        done.send(()).unwrap();
        Ok(())
    });
    run_user(async |user| {
        let (call, _) = call_while_busy(user, get(&peer.url("/")), has_arrived, is_done).await;
        assert_eq!(call.exchange.unwrap().stamp, Stamp::Bound);
    });
}

#[test]
fn bytes_behind_the_response_make_its_stamp_a_bound() {
    let (Signals { arrived, done }, has_arrived, is_done) = signals();
    let filler = vec![b'x'; 100_000];
    let peer = Peer::start(move |talk| {
        talk.read_request()?;
        arrived.send(()).unwrap();
        talk.write(&[OK, &filler[..]].concat())?;
        done.send(()).unwrap();
        talk.read_request().map(|_| ())
    });
    run_user(async |user| {
        let (call, _) = call_while_busy(user, get(&peer.url("/")), has_arrived, is_done).await;
        assert_eq!(call.exchange.unwrap().stamp, Stamp::Bound);
    });
}

#[test]
fn a_response_that_came_in_time_is_answered_however_late_we_look() {
    let (Signals { arrived, done }, has_arrived, is_done) = signals();
    let deadline_ns = 200_000_000;
    let peer = Peer::start(move |talk| {
        talk.read_request()?;
        let arrived_ns = monotonic_ns();
        arrived.send(()).unwrap();
        talk.write(OK)?;
        while monotonic_ns() < arrived_ns + 2 * deadline_ns {}
        done.send(()).unwrap();
        talk.read_request().map(|_| ())
    });
    run_user(async |user| {
        let mut request = get(&peer.url("/"));
        request.timeout_ns = Some(deadline_ns);
        let (call, _) = call_while_busy(user, request, has_arrived, is_done).await;
        assert_eq!(call.result.unwrap().status, 200);
        assert_eq!(call.exchange.unwrap().outcome, Outcome::Answered);
    });
}

#[test]
fn a_deadline_looked_at_late_without_a_response_is_this_generators_limit() {
    let (Signals { arrived, done }, has_arrived, is_done) = signals();
    let deadline_ns = 30_000_000;
    let peer = Peer::start(move |talk| {
        talk.read_request()?;
        arrived.send(()).unwrap();
        let arrived_ns = monotonic_ns();
        while monotonic_ns() < arrived_ns + 2 * deadline_ns {}
        done.send(()).unwrap();
        talk.read_request().map(|_| ())
    });
    run_user(async |user| {
        let mut request = get(&peer.url("/"));
        request.timeout_ns = Some(deadline_ns);
        let (call, _) = call_while_busy(user, request, has_arrived, is_done).await;
        let failure = call.result.unwrap_err();
        assert_eq!(
            failure.kind,
            ErrorKind::GeneratorLimit,
            "{}",
            failure.message
        );
    });
}

#[test]
fn case_026_a_whole_response_after_its_deadline_is_a_timeout_of_the_limits_length() {
    let (Signals { arrived, done }, has_arrived, is_done) = signals();
    let deadline_ns = 30_000_000;
    let peer = Peer::start(move |talk| {
        talk.read_request()?;
        arrived.send(()).unwrap();
        let arrived_ns = monotonic_ns();
        while monotonic_ns() < arrived_ns + 2 * deadline_ns {}
        talk.write(OK)?;
        done.send(()).unwrap();
        talk.read_request().map(|_| ())
    });
    run_user(async |user| {
        let mut request = get(&peer.url("/"));
        request.timeout_ns = Some(deadline_ns);
        let (call, _) = call_while_busy(user, request, has_arrived, is_done).await;
        assert_eq!(call.result.unwrap_err().kind, ErrorKind::Timeout);
        let exchange = call.exchange.unwrap();
        assert_eq!(exchange.outcome, Outcome::Failed(ErrorKind::Timeout));
        assert!(exchange.phases.sum_ns() <= deadline_ns, "{exchange:?}");
    });
}

#[test]
fn a_sender_that_had_to_wait_for_us_is_marked() {
    let (Signals { arrived, done }, has_arrived, is_done) = signals();
    let peer = Peer::start(move |talk| {
        talk.read_request()?;
        arrived.send(()).unwrap();
        let length = 30_000_000;
        talk.write(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").as_bytes())?;
        let body = vec![0; length];
        // Written until the kernel takes no more, which is when the client's window has closed.
        talk.stream().set_nonblocking(true)?;
        let mut written = 0;
        loop {
            match talk.stream().write(&body[written..]) {
                Ok(length) => written += length,
                Err(error) if error.kind() == IoErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        done.send(()).unwrap();
        talk.stream().set_nonblocking(false)?;
        talk.write(&body[written..])
    });
    run_user(async |user| {
        let (call, _) = call_while_busy(user, get(&peer.url("/")), has_arrived, is_done).await;
        assert_eq!(call.result.unwrap().body_length, 30_000_000);
        assert!(call.exchange.unwrap().window_limited);
    });
}

#[test]
fn case_025_phases_add_up_within_the_call_for_every_kind_of_exchange() {
    let peer = Peer::start(|talk| {
        while let Some(request) = talk.read_request()? {
            match request.split(' ').nth(1).unwrap() {
                "/reset" => return talk.reset(),
                "/early" => talk.write(&OK[..5])?,
                _ => talk.write(OK)?,
            }
        }
        Ok(())
    });
    run_user(async |user| {
        for path in ["/", "/", "/reset", "/early", "/"] {
            let before_ns = monotonic_ns();
            let mut request = get(&peer.url(path));
            request.timeout_ns = Some(50_000_000);
            let call = user.call(&request).await;
            let whole_ns = call.timing.ready_at_ns - before_ns;
            assert!(call.timing.sum.sum_ns() <= whole_ns, "{path}: {call:?}");
        }
    });
}
