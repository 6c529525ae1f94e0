//! Where a virtual user is polled is nobody's business but the engine's.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use nettare_core::sample::IterationOutcome;
use nettare_vm::IterationEnd;

use crate::support::{ARRIVAL, Stage, notes, poll, reply};

type Iteration = Pin<Box<dyn Future<Output = (IterationEnd, Vec<f64>)> + Send>>;

#[test]
fn a_pending_iteration_moves_to_another_thread_and_back() {
    let stage = Stage::new(
        r#"(call $burn (i32.const 1000)) (local.set $a (call $get (str "http://x.test/1")))
           (call $burn (i32.const 1000)) (local.set $b (call $get (str "http://x.test/2")))
           (call $note-i32 (i32.add (call $status (local.get $a)) (call $status (local.get $b)))) (call $ok)"#,
    )
    .answers(|_| None);
    let mut vu = stage.vu(1);
    let mut iteration: Iteration = Box::pin(async move {
        let end = vu.iterate(ARRIVAL).await;
        (end, notes(nettare_vm::Host::records(vu.host_mut())))
    });
    assert!(poll(iteration.as_mut()).is_pending());
    let first = stage.world().pending[0].clone();
    let mut iteration = std::thread::spawn(move || {
        first.fill(reply(200, b""));
        assert!(poll(iteration.as_mut()).is_pending(), "the second call");
        iteration
    })
    .join()
    .unwrap();
    let second = stage.world().pending[1].clone();
    second.fill(reply(204, b""));
    let Poll::Ready((end, told)) = iteration
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("still pending")
    };
    assert_eq!(end.outcome, IterationOutcome::Completed);
    assert_eq!(told, [404.0]);
}

#[test]
fn a_yielding_guest_moves_to_another_thread() {
    let stage = Stage::new(
        "(call $burn (i32.const 300000)) (call $note-i32 (i32.load (i32.const 2048))) (call $ok)",
    );
    let expected = stage.notes();
    let mut vu = stage.vu(1);
    let mut iteration: Iteration = Box::pin(async move {
        let end = vu.iterate(ARRIVAL).await;
        (end, notes(nettare_vm::Host::records(vu.host_mut())))
    });
    let mut moves = 0;
    let (end, told) = loop {
        let (polled, back) = std::thread::spawn(move || {
            let polled = poll(iteration.as_mut());
            (polled, iteration)
        })
        .join()
        .unwrap();
        iteration = back;
        if let Poll::Ready(done) = polled {
            break done;
        }
        moves += 1;
    };
    assert!(moves > 0, "it burns for many milliseconds");
    assert_eq!((end.outcome, told), (IterationOutcome::Completed, expected));
}
