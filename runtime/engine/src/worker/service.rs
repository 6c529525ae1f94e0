//! The I/O half of a guest's virtual user: takes messages from its mailbox, and answers them.
//!
//! One call or sleep at a time is the rule, and it is awaited right here, without a task of its own; what the guest starts
//! besides is spawned. While the first is under way the mailbox is watched for the rest.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use nettare_core::sample::{CallTiming, Exchange, Failure, Phases, Stamp};
use nettare_core::stats::SeriesId;
use nettare_net::{Call, Request, Session};
use nettare_vm::{HttpReply, HttpRequest, HttpResponse, Record};
use tokio::task::AbortHandle;

use crate::clock;
use crate::mailbox::{Ended, Mailbox, Place, Ticket, ToIo};
use crate::placement::Placement;
use crate::recorder::{CallLabels, IterationNotes};
use crate::worker::native::unless_cancelled;
use crate::worker::port::{GuestFuture, Port};
use crate::worker::{Route, Worker};

/// How many times the two halves of an inline virtual user are polled in turn before others get theirs.
const PASSES: usize = 16;

/// The task of a guest's virtual user on the I/O thread: its I/O half, and the guest half while that is inline.
pub(crate) struct VuTask {
    port: Rc<Port>,
    mailbox: Arc<Mailbox>,
    worker: Rc<Worker>,
    service: Pin<Box<dyn Future<Output = ()>>>,
    guest: Option<GuestFuture>,
}

impl VuTask {
    /// A task that serves `mailbox` until its guest has ended.
    pub(crate) fn new(
        worker: &Rc<Worker>,
        port: &Rc<Port>,
        mailbox: &Arc<Mailbox>,
        placement: Placement,
    ) -> VuTask {
        let desk = Desk::new(worker.clone(), port.clone(), mailbox.clone(), placement);
        VuTask {
            port: port.clone(),
            mailbox: mailbox.clone(),
            worker: worker.clone(),
            service: Box::pin(desk.serve()),
            guest: None,
        }
    }

    fn poll_guest(&mut self, cx: &mut Context<'_>) {
        if let Some(arrived) = self.port.take_parcel() {
            self.mailbox.settle(Place::Inline);
            self.guest = Some(arrived);
        }
        let Some(guest) = &mut self.guest else { return };
        let ended = guest.as_mut().poll(cx).is_ready();
        let leaves = self.mailbox.wanted() == Place::Split;
        if !ended && !leaves {
            return;
        }
        let guest = self.guest.take();
        if let (false, Some(guest)) = (ended, guest) {
            self.worker.ship(&self.mailbox, guest);
        }
    }
}

impl Future for VuTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.port.register(cx);
        for _ in 0..PASSES {
            self.poll_guest(cx);
            if self.service.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            if !self.mailbox.take_progress() {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// What the serving of a call needs; shared with the calls that run beside the first.
struct Line {
    worker: Rc<Worker>,
    port: Rc<Port>,
    mailbox: Arc<Mailbox>,
    session: Rc<Session>,
}

/// A guest's request as the network takes it.
#[derive(Clone)]
struct Prepared {
    /// The guest's request. While this is held the guest cannot change it in place: a changed one is another allocation, so
    /// that the same pointer means the same request.
    source: Arc<HttpRequest>,
    request: Rc<Request>,
    labels: CallLabels,
}

/// What the guest waits for.
enum Wait {
    Call(Ticket, Prepared),
    Sleep(Ticket, u64),
}

impl Wait {
    fn ticket(&self) -> Ticket {
        match self {
            Wait::Call(ticket, _) | Wait::Sleep(ticket, _) => *ticket,
        }
    }
}

/// A future on this thread.
type Work = Pin<Box<dyn Future<Output = ()>>>;

/// A wait besides the first, in a task of its own.
///
/// The task is lent the work and does not own it: a task that is aborted is dropped when its turn comes, and what a guest
/// cancelled must have ended before its iteration has.
struct Beside {
    work: Rc<RefCell<Option<Work>>>,
    task: AbortHandle,
}

impl Beside {
    fn begin(line: Rc<Line>, wait: Wait) -> Beside {
        let ticket = wait.ticket();
        let work: Work = Box::pin(async move {
            let served = pin!(serve_wait(line.clone(), wait));
            if unless_cancelled(&line.port, served).await.is_none() {
                line.mailbox.answer_cancelled(ticket);
            }
        });
        let work = Rc::new(RefCell::new(Some(work)));
        let lent = work.clone();
        let polls = poll_fn(move |cx| {
            let mut work = lent.borrow_mut();
            if let Some(work) = work.as_mut() {
                ready!(work.as_mut().poll(cx));
            }
            *work = None;
            Poll::Ready(())
        });
        let task = tokio::task::spawn_local(polls).abort_handle();
        Beside { work, task }
    }

    fn is_over(&self) -> bool {
        self.task.is_finished()
    }

    /// Ends it here and now.
    fn cancel(self) {
        let work = self.work.borrow_mut().take();
        drop(work);
        self.task.abort();
    }
}

/// The I/O half's state.
struct Desk {
    line: Rc<Line>,
    placement: Placement,
    /// The request sent last.
    prepared: Option<Prepared>,
    /// Calls and sleeps besides the first.
    spawned: HashMap<Ticket, Beside>,
    /// The guest's records, and the memory for the next ones.
    records: Vec<Record>,
    notes: IterationNotes,
    /// The guest has ended.
    over: bool,
}

impl Desk {
    fn new(
        worker: Rc<Worker>,
        port: Rc<Port>,
        mailbox: Arc<Mailbox>,
        placement: Placement,
    ) -> Desk {
        let session = Session::new(&worker.client);
        port.attach(&session);
        let notes = worker.recorder.new_iteration();
        Desk {
            line: Rc::new(Line {
                worker,
                port,
                mailbox,
                session,
            }),
            placement,
            prepared: None,
            spawned: HashMap::new(),
            records: Vec::new(),
            notes,
            over: false,
        }
    }

    async fn serve(mut self) {
        while !self.over {
            let message = poll_fn(|cx| self.line.mailbox.poll_take(cx)).await;
            if let Some(wait) = self.handle(message) {
                self.attend(wait).await;
            }
        }
        for (_, wait) in self.spawned.drain() {
            wait.cancel();
        }
        self.line.session.close();
    }

    /// Serves a wait, and watches the mailbox meanwhile.
    async fn attend(&mut self, wait: Wait) {
        let ticket = wait.ticket();
        let mut first = pin!(serve_wait(self.line.clone(), wait));
        poll_fn(|cx| {
            if first.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            while let Poll::Ready(message) = self.line.mailbox.poll_take(cx) {
                match message {
                    ToIo::Cancel { ticket: cancelled } if cancelled == ticket => {
                        return Poll::Ready(());
                    }
                    other => self.handle_beside(other),
                }
            }
            if self.line.port.is_cancelled() {
                self.line.mailbox.answer_cancelled(ticket);
                return Poll::Ready(());
            }
            Poll::Pending
        })
        .await;
    }

    /// Handles a message while another wait is under way.
    fn handle_beside(&mut self, message: ToIo) {
        let Some(wait) = self.handle(message) else {
            return;
        };
        self.spawned.retain(|_, wait| !wait.is_over());
        self.spawned
            .insert(wait.ticket(), Beside::begin(self.line.clone(), wait));
    }

    /// Handles a message; what must be waited for is given back.
    fn handle(&mut self, message: ToIo) -> Option<Wait> {
        let line = self.line.clone();
        match message {
            ToIo::Http { ticket, request } => return self.http(ticket, request),
            ToIo::Sleep { ticket, .. } if line.port.is_cancelled() => {
                line.mailbox.answer_cancelled(ticket)
            }
            ToIo::Sleep {
                ticket,
                nanoseconds,
            } => return Some(Wait::Sleep(ticket, nanoseconds)),
            ToIo::Cancel { ticket } => {
                if let Some(wait) = self.spawned.remove(&ticket) {
                    wait.cancel();
                }
            }
            ToIo::Ended(ended) => self.ended(&ended),
            ToIo::Ready(Ok(())) => {
                self.record();
                line.worker.vu_is_ready(&line.port);
            }
            ToIo::Ready(Err(why)) => {
                self.over = true;
                line.worker.vu_failed_to_start(&line.port, &why);
            }
            ToIo::HookDone(result) => {
                self.record();
                self.over = true;
                line.worker.hook_done(result);
            }
            ToIo::Closed => self.over = true,
            ToIo::Abort(why) => line.worker.abort(why),
            ToIo::Log(level, text) => line.worker.log(line.port.vu, level, text),
        }
        None
    }

    fn http(&mut self, ticket: Ticket, source: Arc<HttpRequest>) -> Option<Wait> {
        self.record();
        if self.line.port.is_cancelled() {
            self.line.mailbox.answer_cancelled(ticket);
            return None;
        }
        if let Some(prepared) = &self.prepared
            && Arc::ptr_eq(&prepared.source, &source)
        {
            return Some(Wait::Call(ticket, prepared.clone()));
        }
        match prepare(&self.line.worker, source) {
            Ok(prepared) => {
                self.prepared = Some(prepared.clone());
                Some(Wait::Call(ticket, prepared))
            }
            Err(failure) => {
                self.line.worker.recorder.failure(&failure);
                self.line.mailbox.reply(ticket, refused(failure));
                None
            }
        }
    }

    fn ended(&mut self, ended: &Ended) {
        self.record();
        let worker = &self.line.worker;
        let notes = std::mem::replace(&mut self.notes, worker.recorder.new_iteration());
        worker.note_calls(&notes, ended);
        self.line.session.end_iteration();
        if self.line.mailbox.place() == Place::Inline {
            worker.note_held(ended.end.longest_segment_ns);
        }
        if let Some(place) = self.placement.after(&ended.end) {
            self.line.mailbox.want(place);
        }
        if let Some(why) = &ended.retired {
            // Told first: a scheduler that hears of the end takes the virtual user for free.
            self.line.worker.vu_retired(&self.line.port, why);
            self.over = true;
        }
        self.line.worker.guest_ended(&self.line.port, ended);
    }

    /// Records what the guest has recorded so far.
    fn record(&mut self) {
        let mut records = self
            .line
            .mailbox
            .take_records(std::mem::take(&mut self.records));
        self.line
            .worker
            .recorder
            .records(&mut records, &mut self.notes);
        self.records = records;
    }
}

fn prepare(worker: &Worker, source: Arc<HttpRequest>) -> Result<Prepared, Failure> {
    let Route { target, labels } = worker.route(&source)?;
    let request = Request {
        method: source.method.clone(),
        target,
        headers: source.headers.clone(),
        body: source.body.clone(),
        timeout_ns: source.timeout_ns,
        max_redirects: source.max_redirects,
        keep_body: source.keep_body,
    };
    Ok(Prepared {
        source,
        request: Rc::new(request),
        labels,
    })
}

async fn serve_wait(line: Rc<Line>, wait: Wait) {
    match wait {
        Wait::Sleep(ticket, nanoseconds) => {
            line.worker
                .timer
                .until(clock::monotonic_ns().saturating_add(nanoseconds))
                .await;
            line.mailbox.woke(ticket);
        }
        Wait::Call(ticket, prepared) => {
            let mut series = SeriesId::NONE;
            let recorder = &line.worker.recorder;
            let mut on_exchange =
                |exchange: &Exchange| series = recorder.exchange(&prepared.labels, exchange);
            let call = line.session.call(&prepared.request, &mut on_exchange).await;
            if let Err(failure) = &call.result {
                recorder.failure(failure);
            }
            line.mailbox.reply(ticket, reply(call, series));
        }
    }
}

fn reply(call: Call, series: SeriesId) -> HttpReply {
    let result = call.result.map(|response| HttpResponse {
        status: response.status,
        headers: response.headers,
        body: response.body,
        body_length: response.body_length,
        body_failure: None,
        url: Arc::from(response.target.as_str()),
    });
    HttpReply {
        result,
        timing: call.timing,
        series,
    }
}

/// The answer to a request that was never attempted.
fn refused(failure: Failure) -> HttpReply {
    let nothing = Phases::default();
    let ready_at_ns = clock::monotonic_ns();
    let timing = CallTiming {
        last: nothing,
        sum: nothing,
        hops: 0,
        stamp: Stamp::User,
        decode_ns: 0,
        ready_at_ns,
    };
    HttpReply {
        result: Err(failure),
        timing,
        series: SeriesId::NONE,
    }
}
