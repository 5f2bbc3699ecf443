//! How much of a body is read, and what its end means.
use super::{Dialect, future::Limits};
use crate::{
    Error, Kind, Phase, chat,
    classify::{BODY_LIMIT, PATIENCE},
};
use bytes::{Buf, Bytes};
use http::{HeaderMap, Response, response::Parts};
use http_body::Frame;
use std::{error::Error as StdError, time::Duration};

/// An answer whose body is still arriving.
#[derive(Debug)]
pub(super) struct Reading {
    head: Parts,
    body: Vec<u8>,
    limit: usize,
    patience: Duration,
    keeps_body: bool,
}

/// Whether a body is worth reading on.
pub(super) enum Progress {
    More,
    Enough,
}

impl Reading {
    /// `announced` bytes will follow at least.
    ///
    /// # Errors
    /// For an answer that says at once that it is too long.
    pub(super) fn new(head: Parts, announced: u64, limits: Limits) -> Result<Self, Error> {
        let (limit, patience) = match head.status.is_success() {
            true => (limits.reply, limits.idle),
            false => (BODY_LIMIT, PATIENCE),
        };
        if head.status.is_success() && announced > limit as u64 {
            return Err(too_long(limit));
        }
        // An announcement costs its writer nothing, so only so much is believed.
        let capacity = usize::try_from(announced).unwrap_or(usize::MAX).min(BODY_LIMIT);
        Ok(Self { head, body: Vec::with_capacity(capacity), limit, patience, keeps_body: limits.keeps_body })
    }

    /// A success that was read already.
    pub(super) fn whole(headers: HeaderMap, body: Vec<u8>, keeps_body: bool) -> Self {
        let (mut head, ()) = Response::new(()).into_parts();
        head.headers = headers;
        Self { head, limit: body.len(), body, patience: Duration::ZERO, keeps_body }
    }

    pub(super) fn is_success(&self) -> bool {
        self.head.status.is_success()
    }

    /// How long the body may keep its caller waiting: that of a reply between two frames, that of an error, whose status
    /// says most of it, not for long in all.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Adds what has come.
    ///
    /// # Errors
    /// For a reply over its limit. An error's body just ends there: what decides is at its front.
    pub(super) fn push(&mut self, frame: Frame<impl Buf>) -> Result<Progress, Error> {
        let Ok(mut data) = frame.into_data() else { return Ok(Progress::More) };
        while data.has_remaining() {
            let room = self.limit - self.body.len();
            if room == 0 {
                return if self.is_success() { Err(too_long(self.limit)) } else { Ok(Progress::Enough) };
            }
            let chunk = data.chunk();
            let taken = chunk.len().min(room);
            self.body.extend_from_slice(&chunk[..taken]);
            data.advance(taken);
        }
        Ok(Progress::More)
    }

    /// Judges the body at its end.
    pub(super) fn finish<D: Dialect>(&self, dialect: &D) -> Result<chat::Reply, Error> {
        let Parts { status, headers, .. } = &self.head;
        if !status.is_success() {
            return Err(dialect.classifier().answer(*status, headers, &self.body));
        }
        match dialect.classifier().success(headers, &self.body) {
            Some(error) => Err(error),
            None if self.keeps_body => {
                let reply = dialect.decode(&self.head, &self.body)?;
                Ok(reply.with_received(dialect.protocol(), Bytes::copy_from_slice(&self.body)))
            }
            None => dialect.decode(&self.head, &self.body),
        }
    }

    /// Judges one that came in the place of a stream. It may hold one all the same, in a form of its own, or a page that says more than
    /// that it is no reply.
    pub(super) fn finish_streamed<D: Dialect>(&self, dialect: &D) -> Result<chat::Reply, Error> {
        self.finish(dialect).map_err(|error| {
            let told = dialect.classifier().stream(&self.head.headers, &self.body);
            told.filter(|told| told.kind() != Kind::Transport).unwrap_or(error)
        })
    }

    /// Judges a body of which nothing more comes in time.
    pub(super) fn fall_silent<D: Dialect>(&self, dialect: &D) -> Result<chat::Reply, Error> {
        match self.is_success() {
            true => Err(Error::provider(Kind::Timeout).with_phase(Phase::Idle)),
            false => self.finish(dialect),
        }
    }

    /// Judges a body that broke off. A status that says more than that keeps its word.
    pub(super) fn break_off<D: Dialect>(&self, dialect: &D, error: Box<dyn StdError + Send + Sync>) -> Error {
        if !self.head.status.is_success() {
            return dialect.classifier().answer(self.head.status, &self.head.headers, &self.body);
        }
        let error = dialect.classifier().transport(error).undelivered();
        if error.phase().is_some() { error } else { error.with_phase(Phase::Body) }
    }
}

pub(super) fn too_long(limit: usize) -> Error {
    let message = format!("the answer is longer than {limit} bytes: raise `reply_limit` if that is wanted");
    Error::provider(Kind::Unknown).with_phase(Phase::Body).with_message(message)
}
