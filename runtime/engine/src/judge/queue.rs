//! Deferred checks on their way from virtual users to judges.
//!
//! The queue is bounded, in checks and in the bytes of response body that they keep alive. When it is full, a virtual user waits for
//! room or its check is skipped, as the plan says.
//!
//! ```text
//!   push ─► Room ─┬─ there is room: it is in the queue
//!   (a guest)     ├─ full, `skip`: queue-full
//!                 └─ full, `wait`: pending ─┬─ a judge took one: tried again
//!                                           └─ hurry (the run cuts virtual users short): stop
//!   pop (a judge) ─► the oldest; none once it is closed and empty
//! ```

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use nettare_core::plan::DeferredQueue;
use nettare_core::sample::SkipReason;
use nettare_vm::DeferredCheck;

use crate::mailbox::lock;

/// What can wait in the queue: a deferred check, or in tests anything that keeps bytes alive.
pub(crate) trait Held {
    /// Bytes that it keeps alive.
    fn held_bytes(&self) -> u64;
}

impl Held for DeferredCheck {
    fn held_bytes(&self) -> u64 {
        DeferredCheck::held_bytes(self)
    }
}

/// The queue between virtual users and judges.
pub(crate) struct Queue<T = DeferredCheck> {
    slots: Mutex<Slots<T>>,
    /// There is work, or there will be none.
    work: Condvar,
    most: usize,
    most_bytes: u64,
    when_full: DeferredQueue,
}

struct Slots<T> {
    waiting: VecDeque<T>,
    held_bytes: u64,
    /// Virtual users that wait for room, the longest first.
    wakers: VecDeque<Waker>,
    /// Nobody waits for room any more.
    hurried: bool,
    /// Nothing is put in any more; judges end when it is empty.
    closed: bool,
}

impl<T: Held> Queue<T> {
    /// A queue for so many checks that keep so many bytes alive.
    pub(crate) fn new(most: u64, most_bytes: u64, when_full: DeferredQueue) -> Arc<Queue<T>> {
        Arc::new(Queue {
            slots: Mutex::new(Slots {
                waiting: VecDeque::new(),
                held_bytes: 0,
                wakers: VecDeque::new(),
                hurried: false,
                closed: false,
            }),
            work: Condvar::new(),
            most: usize::try_from(most).unwrap_or(usize::MAX),
            most_bytes,
            when_full,
        })
    }

    /// Puts something in as soon as there is room.
    pub(crate) fn push(self: &Arc<Self>, item: T) -> Room<T> {
        Room {
            queue: self.clone(),
            item: Some(item),
        }
    }

    /// The oldest, as soon as there is one; none once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut slots = lock(&self.slots);
        loop {
            if let Some(item) = slots.waiting.pop_front() {
                slots.held_bytes -= item.held_bytes();
                let woken = slots.next_to_wake();
                drop(slots);
                woken.into_iter().for_each(Waker::wake);
                return Some(item);
            }
            if slots.closed {
                return None;
            }
            slots = self
                .work
                .wait(slots)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How many wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        lock(&self.slots).waiting.len()
    }

    /// Nobody waits for room any more.
    pub(crate) fn hurry(&self) {
        let mut slots = lock(&self.slots);
        slots.hurried = true;
        let woken = std::mem::take(&mut slots.wakers);
        drop(slots);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Nothing is put in any more.
    pub(crate) fn close(&self) {
        lock(&self.slots).closed = true;
        self.work.notify_all();
        self.hurry();
    }

    /// Takes out all that is left.
    pub(crate) fn take_rest(&self) -> Vec<T> {
        let mut slots = lock(&self.slots);
        slots.held_bytes = 0;
        slots.waiting.drain(..).collect()
    }

    fn try_push(&self, item: T, cx: &Context<'_>) -> Result<(), Refused<T>> {
        let mut slots = lock(&self.slots);
        let bytes = item.held_bytes();
        let fits = slots.waiting.len() < self.most
            && slots.held_bytes.saturating_add(bytes) <= self.most_bytes;
        if slots.closed || (slots.hurried && !fits) {
            return Err(Refused::For(SkipReason::Stop));
        }
        // One that is larger than the whole queue goes in alone, or nobody would ever take it.
        if fits || slots.waiting.is_empty() {
            slots.held_bytes += bytes;
            slots.waiting.push_back(item);
            drop(slots);
            self.work.notify_one();
            return Ok(());
        }
        match self.when_full {
            DeferredQueue::Skip => Err(Refused::For(SkipReason::QueueFull)),
            DeferredQueue::Wait => {
                slots.wakers.push_back(cx.waker().clone());
                Err(Refused::Full(item))
            }
        }
    }
}

impl<T> Slots<T> {
    /// Room for one wakes one. A virtual user that is gone does not use it: the last room wakes all that are left.
    fn next_to_wake(&mut self) -> VecDeque<Waker> {
        if self.waiting.is_empty() {
            return std::mem::take(&mut self.wakers);
        }
        self.wakers.pop_front().into_iter().collect()
    }
}

enum Refused<T> {
    For(SkipReason),
    /// To be tried again when it is woken.
    Full(T),
}

/// Room in the queue, to be.
pub(crate) struct Room<T = DeferredCheck> {
    queue: Arc<Queue<T>>,
    item: Option<T>,
}

impl<T: Held + Unpin> Future for Room<T> {
    type Output = Result<(), SkipReason>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(item) = self.item.take() else {
            unreachable!("it was polled after it was ready");
        };
        match self.queue.try_push(item, cx) {
            Ok(()) => Poll::Ready(Ok(())),
            Err(Refused::For(reason)) => Poll::Ready(Err(reason)),
            Err(Refused::Full(item)) => {
                self.item = Some(item);
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    use proptest::prelude::*;

    use super::*;

    /// Keeps so many bytes alive.
    impl Held for u64 {
        fn held_bytes(&self) -> u64 {
            *self
        }
    }

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn poll(room: &mut Room<u64>, woken: &Arc<Woken>) -> Poll<Result<(), SkipReason>> {
        let waker = woken.clone().into();
        Pin::new(room).poll(&mut Context::from_waker(&waker))
    }

    fn count(woken: &Woken) -> u32 {
        woken.0.load(Ordering::Relaxed)
    }

    #[test]
    fn a_full_queue_makes_wait_until_a_judge_takes_one() {
        let (queue, woken) = (Queue::new(1, 100, DeferredQueue::Wait), Arc::default());
        assert!(poll(&mut queue.push(1), &woken).is_ready());
        let mut second = queue.push(2);
        assert!(poll(&mut second, &woken).is_pending());
        assert_eq!((queue.pop(), count(&woken)), (Some(1), 1));
        assert_eq!(poll(&mut second, &woken), Poll::Ready(Ok(())));
        assert_eq!(queue.pop(), Some(2));
    }

    #[test]
    fn a_full_queue_skips_where_the_plan_says_so() {
        let (queue, woken) = (Queue::new(9, 10, DeferredQueue::Skip), Arc::default());
        assert_eq!(poll(&mut queue.push(6), &woken), Poll::Ready(Ok(())));
        let full = Poll::Ready(Err(SkipReason::QueueFull));
        assert_eq!(poll(&mut queue.push(6), &woken), full, "by bytes");
        assert_eq!(poll(&mut queue.push(4), &woken), Poll::Ready(Ok(())));
    }

    #[test]
    fn what_is_larger_than_the_queue_goes_in_alone() {
        let (queue, woken) = (Queue::new(9, 10, DeferredQueue::Skip), Arc::default());
        assert_eq!(poll(&mut queue.push(11), &woken), Poll::Ready(Ok(())));
        assert!(poll(&mut queue.push(1), &woken) == Poll::Ready(Err(SkipReason::QueueFull)));
    }

    #[test]
    fn whoever_waits_when_the_run_ends_is_told() {
        let (queue, woken) = (Queue::new(1, 100, DeferredQueue::Wait), Arc::default());
        assert!(poll(&mut queue.push(1), &woken).is_ready());
        let mut second = queue.push(2);
        assert!(poll(&mut second, &woken).is_pending());
        queue.hurry();
        assert_eq!(count(&woken), 1);
        assert_eq!(
            poll(&mut second, &woken),
            Poll::Ready(Err(SkipReason::Stop))
        );
        assert_eq!(queue.pop(), Some(1));
        assert!(
            poll(&mut queue.push(3), &woken) == Poll::Ready(Ok(())),
            "there is room"
        );
        queue.close();
        assert!(poll(&mut queue.push(4), &woken) == Poll::Ready(Err(SkipReason::Stop)));
        assert_eq!(queue.pop(), Some(3), "what is in is evaluated");
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn a_waiter_that_is_gone_does_not_keep_the_others_waiting() {
        let queue = Queue::new(1, 100, DeferredQueue::Wait);
        let (gone, waiting) = (Arc::default(), Arc::default());
        assert!(poll(&mut queue.push(1), &gone).is_ready());
        let mut first = queue.push(2);
        assert!(poll(&mut first, &gone).is_pending());
        let mut second = queue.push(3);
        assert!(poll(&mut second, &waiting).is_pending());
        drop(first);
        queue.pop();
        assert_eq!(count(&waiting), 1, "the queue is empty");
    }

    proptest! {
        /// Whatever is pushed and popped, nothing is lost or doubled, the order holds, and neither bound is passed by more than one
        /// that is too large for it.
        #[test]
        fn nothing_is_lost(most in 1_u64..5, most_bytes in 1_u64..20, steps in prop::collection::vec(0_u64..12, 0..60)) {
            let (queue, woken) = (Queue::new(most, most_bytes, DeferredQueue::Skip), Arc::default());
            let (mut put_in, mut taken) = (Vec::new(), Vec::new());
            for step in steps {
                if step == 0 && queue.len() > 0 {
                    taken.extend(queue.pop());
                } else if poll(&mut queue.push(step), &woken) == Poll::Ready(Ok(())) {
                    put_in.push(step);
                }
                prop_assert!(queue.len() as u64 <= most);
            }
            taken.extend(queue.take_rest());
            prop_assert_eq!(taken, put_in);
        }
    }
}
