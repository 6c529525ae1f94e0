//! Guests that sleep and move, on a real guest thread and a real runtime, without wasm and without waiting.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::Poll;
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::*;
use crate::turn::{GuestThread, GuestThreadSender};

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The I/O side of a test: answers every sleep at once, and polls guests that have come inline.
struct Io {
    runtime: tokio::runtime::LocalRuntime,
    outbox: Arc<Outbox>,
    guests: GuestThread,
}

impl Io {
    fn new() -> Io {
        let outbox = Arc::new(Outbox::default());
        let guests = GuestThread::spawn(0, outbox.clone(), || {}).expect("a thread");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build_local(tokio::runtime::LocalOptions::default())
            .expect("a runtime");
        Io {
            runtime,
            outbox,
            guests,
        }
    }

    /// Runs guests to their ends; each is given its mailbox.
    fn run(self, count: u32, guest: impl Fn(Arc<Mailbox>) -> Boxed) {
        let Io {
            runtime,
            outbox,
            guests,
        } = self;
        let inline: Rc<RefCell<Vec<Parcel>>> = Rc::default();
        let mailboxes: Vec<_> = (1..=count)
            .map(|vu| Mailbox::new(vu, outbox.clone()))
            .collect();
        let open = Rc::new(std::cell::Cell::new(count));
        runtime.block_on(async {
            for mailbox in &mailboxes {
                let sender = guests.sender();
                sender.ship(Parcel {
                    mailbox: mailbox.clone(),
                    future: guest(mailbox.clone()),
                });
                let task = serve(mailbox.clone(), inline.clone(), sender, open.clone());
                tokio::task::spawn_local(task);
            }
            poll_fn(|cx| {
                outbox.poll_pump(cx, &mut |parcel| {
                    let mailbox = parcel.mailbox.clone();
                    inline.borrow_mut().push(parcel);
                    mailbox.wake_io(mailbox.slots());
                });
                // The tasks run between two polls of this; it looks again as long as one is open.
                if open.get() == 0 {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        });
        guests.abandon(Duration::from_secs(10));
    }
}

/// Serves one mailbox until its guest says that it has ended.
async fn serve(
    mailbox: Arc<Mailbox>,
    arrivals: Rc<RefCell<Vec<Parcel>>>,
    sender: GuestThreadSender,
    open: Rc<std::cell::Cell<u32>>,
) {
    let mut inline: Option<Boxed> = None;
    poll_fn(|cx| {
        loop {
            let own = |parcel: &Parcel| parcel.mailbox.vu == mailbox.vu;
            let arrived = arrivals.borrow().iter().position(own);
            if let Some(at) = arrived {
                inline = Some(arrivals.borrow_mut().swap_remove(at).future);
                mailbox.settle(Place::Inline);
            }
            if let Some(future) = &mut inline {
                let ended = future.as_mut().poll(cx).is_ready();
                if ended || mailbox.wanted() == Place::Split {
                    let future = inline.take();
                    if let (false, Some(future)) = (ended, future) {
                        sender.ship(Parcel {
                            mailbox: mailbox.clone(),
                            future,
                        });
                    }
                }
            }
            while let Poll::Ready(message) = mailbox.poll_take(cx) {
                match message {
                    ToIo::Sleep { ticket, .. } => mailbox.woke(ticket),
                    ToIo::Closed => return Poll::Ready(()),
                    _ => {}
                }
            }
            if !mailbox.take_progress() {
                return Poll::Pending;
            }
        }
    })
    .await;
    open.set(open.get() - 1);
    // The outermost future looks at `open` when it is polled.
    mailbox.outbox.pump.wake();
}

#[test]
fn every_sleep_of_many_guests_is_answered_once() {
    let naps = Arc::new(AtomicU64::new(0));
    let counted = naps.clone();
    Io::new().run(64, move |mailbox| {
        let naps = counted.clone();
        Box::pin(async move {
            for _ in 0..500 {
                assert_eq!(mailbox.sleep(1).await, Ok(()));
                naps.fetch_add(1, Ordering::Relaxed);
            }
            mailbox.post(ToIo::Closed);
        })
    });
    assert_eq!(naps.load(Ordering::Relaxed), 64 * 500);
}

#[test]
fn a_guest_goes_on_where_it_was_when_it_moves_between_threads() {
    let moves = Arc::new(AtomicU32::new(0));
    let counted = moves.clone();
    Io::new().run(8, move |mailbox| {
        let moves = counted.clone();
        Box::pin(async move {
            let mut before: Option<ThreadId> = None;
            for step in 0..200_u64 {
                let place = if step % 2 == 0 {
                    Place::Inline
                } else {
                    Place::Split
                };
                hop(&mailbox, place).await;
                let here = thread::current().id();
                assert_ne!(before, Some(here), "it must have moved");
                before = Some(here);
                moves.fetch_add(1, Ordering::Relaxed);
                assert_eq!(mailbox.sleep(step).await, Ok(()));
            }
            mailbox.post(ToIo::Closed);
        })
    });
    assert_eq!(moves.load(Ordering::Relaxed), 8 * 200);
}

#[test]
fn a_dropped_wait_is_cancelled_and_an_answered_one_is_not() {
    let mailbox = Mailbox::new(1, Arc::new(Outbox::default()));
    let waker = Waker::noop();
    let mut cx = Context::from_waker(waker);
    let (kept, dropped) = (mailbox.sleep(1), mailbox.sleep(2));
    let dropped_ticket = dropped.ticket;
    drop(dropped);
    mailbox.woke(kept.ticket);
    let mut kept = kept;
    assert_eq!(Pin::new(&mut kept).poll(&mut cx), Poll::Ready(Ok(())));
    drop(kept);
    let mut cancelled = Vec::new();
    while let Poll::Ready(message) = mailbox.poll_take(&mut cx) {
        if let ToIo::Cancel { ticket } = message {
            cancelled.push(ticket);
        }
    }
    assert_eq!(cancelled, [dropped_ticket]);
}

#[test]
fn a_wait_cut_short_by_the_stop_says_so() {
    let mailbox = Mailbox::new(1, Arc::new(Outbox::default()));
    let mut cx = Context::from_waker(Waker::noop());
    let mut nap = mailbox.sleep(1);
    mailbox.answer_cancelled(nap.ticket);
    assert_eq!(
        Pin::new(&mut nap).poll(&mut cx),
        Poll::Ready(Err(Cancelled))
    );
}
