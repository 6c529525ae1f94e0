//! Virtual users without a guest: one request an iteration, on the same scheduler and with the same samples as a guest's.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use nettare_core::sample::{Exchange, IterationOutcome};
use nettare_core::stats::SeriesId;
use nettare_net::{Request, Session};

use crate::clock;
use crate::recorder::{CallLabels, ScenarioCost};
use crate::worker::Worker;
use crate::worker::port::Port;

/// What every native virtual user of a worker sends.
pub(crate) struct NativeWork {
    pub(crate) request: Request,
    pub(crate) labels: CallLabels,
}

/// Lives until the run closes it.
pub(crate) async fn live(worker: Rc<Worker>, port: Rc<Port>, work: Rc<NativeWork>) {
    let session = Session::new(&worker.client);
    port.attach(&session);
    worker.vu_is_ready(&port);
    while port.next().await.is_some() {
        let began_ns = worker.clock.now_ns();
        let end = iterate(&worker, &port, &session, &work).await;
        session.end_iteration();
        let (ended_ns, cost) = (worker.clock.now_ns(), ScenarioCost::default());
        worker.iteration_ended(&port, end.outcome(), began_ns, ended_ns, cost);
        // A call that fails before any I/O is never pending: without this, a virtual user whose every call its own side
        // refuses would keep the thread for ever.
        if end == End::CallFailed {
            tokio::task::yield_now().await;
        }
    }
    session.close();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Answered,
    CallFailed,
    CutShort,
}

impl End {
    /// A failed request does not fail its iteration; it is counted as a request.
    fn outcome(self) -> IterationOutcome {
        match self {
            End::Answered | End::CallFailed => IterationOutcome::Completed,
            End::CutShort => IterationOutcome::Interrupted,
        }
    }
}

async fn iterate(worker: &Worker, port: &Port, session: &Rc<Session>, work: &NativeWork) -> End {
    let called_ns = clock::monotonic_ns();
    let mut series = SeriesId::NONE;
    let mut on_exchange =
        |exchange: &Exchange| series = worker.recorder.exchange(&work.labels, exchange);
    let ended = {
        let call = pin!(session.call(&work.request, &mut on_exchange));
        unless_cancelled(port, call).await
    };
    let Some(call) = ended else {
        return End::CutShort;
    };
    let gross_ns = clock::monotonic_ns() - called_ns;
    worker.recorder.call(
        series,
        gross_ns,
        gross_ns.saturating_sub(call.timing.sum.sum_ns()),
    );
    match &call.result {
        Ok(_) => End::Answered,
        Err(failure) => {
            worker.recorder.failure(failure);
            End::CallFailed
        }
    }
}

/// Awaits `call`, or drops it when the run cuts the virtual user short: its exchange then counts as in flight.
pub(crate) async fn unless_cancelled<F: Future>(
    port: &Port,
    mut call: Pin<&mut F>,
) -> Option<F::Output> {
    poll_fn(|cx| {
        if let Poll::Ready(output) = call.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        if port.is_cancelled() {
            return Poll::Ready(None);
        }
        port.register(cx);
        Poll::Pending
    })
    .await
}
