//! The connections that a session keeps, and how it comes by another.
//!
//! HTTP/1.1 connections are taken out while in use and put back; HTTP/2 connections stay and are shared. Where an origin may
//! speak HTTP/2, only one connection to it is opened at a time, and exchanges that begin meanwhile wait (phase `blocked`): a
//! virtual user with ten requests to start must not open ten connections to find out that one would have done.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use nettare_core::plan::{ConnectionPolicy, HttpVersions};
use nettare_core::sample::{ErrorKind, Failure};
use tokio::sync::Notify;

use crate::client::Client;
use crate::dial::dial;
use crate::error::failure;
use crate::http1::Http1;
use crate::http2::Http2;
use crate::record::{Record, Stage};
use crate::target::Origin;
use crate::transport::Transport;

/// Idle connections that a session keeps at most; the one idle for longest goes first.
const IDLE_AT_MOST: usize = 32;

/// A session's connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    idle: RefCell<Vec<(Arc<Origin>, Box<Http1>)>>,
    shared: RefCell<Vec<(Arc<Origin>, Rc<Http2>)>>,
    /// Origins to which a connection is being opened that may turn out to be shared.
    dialling: RefCell<Vec<Arc<Origin>>>,
    dialled: Notify,
    /// Origins that were asked and chose HTTP/1.1: nobody needs to wait there.
    chose_http1: RefCell<Vec<Arc<Origin>>>,
}

/// A connection to exchange on.
#[derive(Debug)]
pub(crate) enum Channel {
    /// Owned until it is put back.
    Http1(Box<Http1>),
    /// Shared with others.
    Http2(Rc<Http2>),
}

/// What an exchange wants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) origin: &'a Arc<Origin>,
    /// Not an idle one: the last turned out dead, and the others may be no better.
    pub(crate) fresh: bool,
    /// Whether a request may be sent again if the connection turns out dead.
    pub(crate) repeatable: bool,
}

impl Connections {
    /// A connection to the origin: one that is kept, or a new one. Which, and what opening took, goes into `record`.
    ///
    /// Opening one is a future of its own, on the heap: it is larger than all the rest of an exchange, which would carry, and at
    /// every `async fn` around it move, room for something that hardly ever happens.
    ///
    /// # Errors
    ///
    /// Those of opening one.
    pub(crate) async fn take(
        &self,
        client: &Rc<Client>,
        wanted: Wanted<'_>,
        record: &Record,
    ) -> Result<Channel, Failure> {
        match self.take_kept(client, wanted, record) {
            Some(channel) => Ok(channel),
            None => Box::pin(self.take_another(client, wanted, record)).await,
        }
    }

    fn take_kept(&self, client: &Client, wanted: Wanted<'_>, record: &Record) -> Option<Channel> {
        let channel = self.kept(wanted)?;
        record.mark_reused();
        client.counters.connections_reused.increment();
        Some(channel)
    }

    async fn take_another(
        &self,
        client: &Rc<Client>,
        wanted: Wanted<'_>,
        record: &Record,
    ) -> Result<Channel, Failure> {
        loop {
            if !self.may_be_shared(client, wanted.origin) {
                return self.open(client, wanted.origin, record).await;
            }
            if let Some(_turn) = self.take_turn(wanted.origin) {
                return self.open(client, wanted.origin, record).await;
            }
            record.enter(Stage::Blocked);
            self.dialled.notified().await;
            record.leave(record.elapsed_ns());
            if let Some(channel) = self.take_kept(client, wanted, record) {
                return Ok(channel);
            }
        }
    }

    /// Puts a connection back after an exchange that ended in good order.
    pub(crate) fn put_back(&self, client: &Client, origin: &Arc<Origin>, channel: Channel) {
        let Channel::Http1(connection) = channel else {
            return;
        };
        if client.shared.config.connections == ConnectionPolicy::PerRequest || !connection.is_idle()
        {
            return;
        }
        let mut idle = self.idle.borrow_mut();
        if idle.len() >= IDLE_AT_MOST {
            idle.remove(0);
        }
        idle.push((Arc::clone(origin), connection));
    }

    /// Closes those that no exchange is using; a shared one closes with its last exchange.
    pub(crate) fn close(&self) {
        self.idle.borrow_mut().clear();
        self.shared.borrow_mut().clear();
    }

    fn kept(&self, wanted: Wanted<'_>) -> Option<Channel> {
        let mut shared = self.shared.borrow_mut();
        if !shared.is_empty() {
            shared.retain(|(_, connection)| connection.is_open());
            if let Some((_, connection)) = shared.iter().find(|(origin, _)| origin == wanted.origin)
            {
                return Some(Channel::Http2(Rc::clone(connection)));
            }
        }
        drop(shared);
        if wanted.fresh {
            None
        } else {
            self.take_idle(wanted).map(Channel::Http1)
        }
    }

    /// The one used last, unless something happened to it meanwhile.
    fn take_idle(&self, wanted: Wanted<'_>) -> Option<Box<Http1>> {
        let mut idle = self.idle.borrow_mut();
        while let Some(place) = idle.iter().rposition(|(origin, _)| origin == wanted.origin) {
            let (_, connection) = idle.remove(place);
            let is_dead = !connection.is_idle()
                || (!wanted.repeatable && connection.wire().is_readable_now());
            if !is_dead {
                return Some(connection);
            }
        }
        None
    }

    async fn open(
        &self,
        client: &Rc<Client>,
        origin: &Arc<Origin>,
        record: &Record,
    ) -> Result<Channel, Failure> {
        let transport = dial(client, origin, record).await?;
        if !speaks_http2(client, origin, &transport)? {
            self.remember_http1(client, origin);
            return Ok(Channel::Http1(Box::new(Http1::start(transport).await?)));
        }
        let connection = Http2::start(transport, client).await?;
        if client.shared.config.connections != ConnectionPolicy::PerRequest {
            self.shared
                .borrow_mut()
                .push((Arc::clone(origin), Rc::clone(&connection)));
        }
        Ok(Channel::Http2(connection))
    }

    fn may_be_shared(&self, client: &Client, origin: &Arc<Origin>) -> bool {
        let config = &client.shared.config;
        config.connections != ConnectionPolicy::PerRequest
            && match config.http {
                HttpVersions::Http1 => false,
                HttpVersions::Http2 => true,
                HttpVersions::Negotiated => {
                    origin.secure && !self.chose_http1.borrow().contains(origin)
                }
            }
    }

    fn remember_http1(&self, client: &Client, origin: &Arc<Origin>) {
        if self.may_be_shared(client, origin) {
            self.chose_http1.borrow_mut().push(Arc::clone(origin));
        }
    }

    /// None while somebody else is at it.
    fn take_turn(&self, origin: &Arc<Origin>) -> Option<Turn<'_>> {
        let mut dialling = self.dialling.borrow_mut();
        if dialling.contains(origin) {
            return None;
        }
        dialling.push(Arc::clone(origin));
        Some(Turn {
            connections: self,
            origin: Arc::clone(origin),
        })
    }
}

/// The turn to open a connection; when it is over, however it ended, those who wait look again.
struct Turn<'a> {
    connections: &'a Connections,
    origin: Arc<Origin>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.connections
            .dialling
            .borrow_mut()
            .retain(|origin| *origin != self.origin);
        self.connections.dialled.notify_waiters();
    }
}

/// By ALPN over TLS, by prior knowledge without (RFC 9113, section 3).
fn speaks_http2(client: &Client, origin: &Origin, transport: &Transport) -> Result<bool, Failure> {
    let chosen = transport.chose_http2();
    if client.shared.config.http != HttpVersions::Http2 {
        return Ok(chosen);
    }
    if origin.secure && !chosen {
        let message = format!("{} does not offer HTTP/2; drop --http2", origin.host);
        return Err(failure(ErrorKind::Protocol, 0, message));
    }
    Ok(true)
}
