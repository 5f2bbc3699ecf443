//! One call on its way over the routes.
use super::{
    MapRoute,
    choice::{Choice, Left},
    past::Past,
    service::Settings,
};
use crate::{
    Context, Error, GaveUp, Kind, Note, Replay, Trail, What,
    time::{self, Instant},
};
use std::{mem, sync::Arc, time::Duration};

#[derive(Debug)]
pub(super) struct Run<R, Req, H> {
    routes: R,
    settings: Arc<Settings>,
    shape: H,
    /// As it came; kept while another route may be asked.
    request: Option<Req>,
    context: Option<Context>,
    left: Left,
    /// The route that is asked.
    route: usize,
    past: Past,
}

impl<R, Req, H> Run<R, Req, H> {
    pub(super) fn new(routes: R, settings: Arc<Settings>, shape: H, request: Req) -> Self
    where
        H: Replay<Req>,
    {
        let context = shape.context(&request);
        let (left, past) = (Left::default(), Past::default());
        Self { routes, settings, shape, request: Some(request), context, left, route: 0, past }
    }

    pub(super) fn sends(&self) -> u32 {
        self.past.sends()
    }

    /// Whether the deadline has passed. Reads the clock only where there is one.
    pub(super) fn is_late(&self) -> bool {
        self.context.and_then(|context| context.left()).is_some_and(|left| left.is_zero())
    }

    /// Nothing is asked any more; what the call kept goes.
    pub(super) fn over(&mut self) {
        self.request = None;
        self.left.end();
    }

    fn sends_left(&self, spent: u32) -> u32 {
        self.context.map_or(u32::MAX, |context| context.sends_left.saturating_sub(spent))
    }
}

impl<R: MapRoute<Req>, Req, H: Replay<Req>> Run<R, Req, H> {
    /// Goes to the next route, and takes its service.
    pub(super) fn next(&mut self) -> Result<R::Service, Error> {
        let refusal = match self.choose(self.left) {
            _ if self.sends_left(self.past.sends()) == 0 => Kind::SendsExhausted,
            _ if self.is_late() => Kind::Deadline,
            None => Kind::LocalLimit,
            Some(Choice { index, closed, others }) => {
                self.route = index;
                self.left.visit(index);
                if closed.is_some() {
                    let now = time::now();
                    others.into_iter().for_each(|wait| self.past.skip(wait, now));
                    self.left.end();
                }
                return Ok(self.routes.take(index));
            }
        };
        Err(self.past.end(Error::refusal(refusal), time::now()))
    }

    /// The request for the route that is asked. A copy is kept only while another one may be.
    pub(super) fn request(&mut self) -> Req {
        let request = self.request.take().expect("kept while a route may be asked");
        if self.any(self.left) {
            self.request = self.shape.again(&request);
        }
        let mut request = self.routes.map(self.route, request);
        if let Some(context) = self.context {
            let another = self.request.is_some() && self.another_is_open();
            let context = self.settings.policy.tell(context, another);
            let sends_left = self.sends_left(self.past.sends());
            self.shape.set_context(&mut request, context.with_sends_left(sends_left));
        }
        request
    }

    /// When to look whether a route that is not ready is passed by, or the call is late; `None`: never.
    pub(super) fn patient_until(&self) -> Option<Instant> {
        let deadline = self.context.and_then(|context| context.deadline);
        let limit = || time::after(time::now(), self.settings.policy.limit());
        let limit = (self.any(self.left) || self.outer_is_open()).then(limit);
        deadline.into_iter().chain(limit).min()
    }

    /// Whether a route that was not ready in time is passed by.
    pub(super) fn passes_by(&self) -> bool {
        self.outer_is_open() || self.leads_on(self.left)
    }

    /// Whether a route is left that no hand keeps closed: only such a one has more to say than the failure before it.
    fn leads_on(&self, left: Left) -> bool {
        self.choose(left).is_some_and(|choice| !choice.is_forced())
    }

    pub(super) fn not_ready(&self) -> Error {
        let limit = self.settings.policy.limit();
        Error::refusal(Kind::LocalLimit).with_message(format!("the route was not ready within {limit:?}"))
    }

    /// Goes on to another route, or ends the call.
    pub(super) fn failed(&mut self, error: Error) -> Result<(), Error> {
        let label = self.routes.facts(self.route).label();
        let error = error.with_route(label);
        match self.after(&error) {
            Ok(left) => {
                if let Some(sink) = &self.settings.sink {
                    sink.route(Arc::clone(label)).emit(What::Switched { error: &error });
                }
                self.left = left;
                self.past.push(error, time::now());
                Ok(())
            }
            Err(reason) => {
                let error = self.end(error);
                Err(match reason {
                    Some(reason) => error.with_gave_up(reason),
                    None => error,
                })
            }
        }
    }

    /// The routes that may be asked after this failure; or that there are none, and why if there would have been.
    fn after(&self, error: &Error) -> Result<Left, Option<GaveUp>> {
        let overflow = error.kind() == Kind::ContextLength && !error.is_delivered();
        let left = if overflow { self.left.only_larger() } else { self.left };
        if !(overflow || self.settings.policy.switches(error)) || !self.leads_on(left) {
            return Err(None);
        }
        if self.sends_left(self.past.sends().saturating_add(error.sends())) == 0 {
            return Err(Some(GaveUp::SendsSpent));
        }
        if self.is_late() {
            return Err(Some(GaveUp::WaitPastDeadline));
        }
        if self.request.is_none() {
            return Err(Some(GaveUp::NotReplayable));
        }
        Ok(left)
    }

    fn end(&mut self, error: Error) -> Error {
        let now = time::now();
        for index in self.left.of(&self.routes) {
            match self.closed_for(index) {
                Some(wait) => self.past.skip(wait, now),
                None => self.past.spare(),
            }
        }
        self.past.end(error, now)
    }

    fn any(&self, left: Left) -> bool {
        left.of(&self.routes).next().is_some()
    }

    fn choose(&self, left: Left) -> Option<Choice> {
        Choice::among(left.of(&self.routes).map(|index| (index, self.closed_for(index))))
    }

    fn another_is_open(&self) -> bool {
        self.left.of(&self.routes).any(|index| self.closed_for(index).is_none())
    }

    /// Whether a failover around this one has an open route left.
    fn outer_is_open(&self) -> bool {
        self.context.is_some_and(|context| context.others)
    }

    /// How long a route is closed for what it would be sent. That is only made where some key is closed.
    fn closed_for(&self, index: usize) -> Option<Duration> {
        let gate = self.routes.facts(index).gate();
        match self.request.as_ref().filter(|_| gate.has_keys()) {
            None => gate.opens_in(None),
            Some(request) => match self.shape.again(request) {
                Some(copy) => gate.opens_in(self.shape.key(&self.routes.map(index, copy))),
                None => gate.opens_in(self.shape.key(request)),
            },
        }
    }
}

impl<R, Req, H> Run<R, Req, H> {
    /// Tells of the routes that failed before this one.
    pub(super) fn succeeded<T>(&mut self, mut response: T) -> T
    where
        H: Note<T>,
    {
        let trail: Trail = mem::take(&mut self.past).into_trail();
        if !trail.is_empty() {
            self.shape.note(&mut response, trail);
        }
        response
    }
}
