//! Tool calls out of their pieces, however a server tells which piece belongs to which.
use super::piece::{MOST_CALLS, MOST_FIELDS, Piece};
use crate::{
    chat::{Item, Native, ToolCall},
    provider::text::{append, quoted, said},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, mem, sync::Arc};

/// A name that comes in pieces grows no longer: OpenAI takes 64 characters.
const LONGEST_NAME: usize = 1024;

/// The calls of one answer, in the order in which they appeared.
#[derive(Default)]
pub(super) struct Calls {
    all: Vec<Call>,
    /// Those before were given whole.
    given: usize,
    /// Which event is being read, from 1.
    event: u32,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: Arc<str>,
    name: Arc<str>,
    arguments: String,
    /// What else was said of it, each a field as JSON.
    more: Vec<(Box<str>, Box<RawValue>)>,
    extent: Extent,
    /// The last one that brought a piece.
    event: u32,
}

/// What a piece says.
struct Words<'a> {
    index: Option<u64>,
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    has_arguments: bool,
}

impl Calls {
    /// Begins an event: pieces of one call come in several.
    pub(super) fn begin(&mut self) {
        self.event = self.event.wrapping_add(1);
    }

    /// Adds a piece. False where there is no room for what it says.
    pub(super) fn add(&mut self, piece: &Piece<'_>, items: &mut Vec<Item>) -> bool {
        let words = Words::of(piece);
        let arguments = piece.function.as_ref().and_then(|function| function.arguments);
        let at = match self.place(&words) {
            Some(at) => at,
            None if words.id.is_empty() && words.name.is_empty() && !words.has_arguments => return true,
            None if self.all.len() == MOST_CALLS => return false,
            None => {
                self.all.push(Call::default());
                self.all.len() - 1
            }
        };
        let call = &mut self.all[at];
        let (is_new, before) = (call.event == 0, call.arguments.len());
        call.event = self.event;
        call.index = call.index.or(words.index);
        if call.id.is_empty() && !words.id.is_empty() {
            call.id = words.id.into();
        }
        call.keep(piece);
        let Some(is_named) = call.rename(&words.name) else { return false };
        if let Some(arguments) = arguments
            && !append(&mut call.arguments, arguments)
        {
            call.arguments.push_str(arguments.get()); // the object itself
        }
        let more = &call.arguments[before..];
        call.extent.read(more);
        if is_new || is_named || !more.is_empty() {
            items.push(Item::Calling { index: at, name: Arc::clone(&call.name), arguments: more.into() });
        }
        true
    }

    /// Gives those that were not given yet: they are whole.
    pub(super) fn finish(&mut self, provider: &Arc<str>, items: &mut Vec<Item>) {
        for call in &mut self.all[self.given..] {
            let native = call.native().map(|json| Native::new(Arc::clone(provider), json));
            let arguments = mem::take(&mut call.arguments);
            let whole = ToolCall::new(Arc::clone(&call.id), Arc::clone(&call.name), arguments);
            items.push(Item::ToolCall(whole.with_native(native)));
        }
        self.given = self.all.len();
    }

    /// The call that it is a piece of; `None` for the first of another.
    ///
    /// The index tells, where there is one; but some servers number every call 0, so that another id is another call. Without
    /// an index the id tells, and without either it is the call before.
    fn place(&self, words: &Words<'_>) -> Option<usize> {
        let last = |is_it: &dyn Fn(&Call) -> bool| {
            let at = self.all[self.given..].iter().rposition(is_it)?;
            Some(self.given + at)
        };
        let is_named = !words.id.is_empty();
        let is_same = |call: &Call| *call.id == *words.id;
        let fits = |call: &Call| !is_named || call.id.is_empty() || is_same(call);
        let before = last(&|_| true);
        let at = match words.index {
            Some(index) => last(&|call| call.index == Some(index) && (!is_named || is_same(call)))
                .or_else(|| last(&|call| call.index == Some(index)).filter(|at| fits(&self.all[*at])))
                .or_else(|| last(&|call| call.index.is_none() && fits(call))),
            None if is_named => last(&is_same).or_else(|| before.filter(|at| fits(&self.all[*at]))),
            None => before,
        }?;
        (!self.is_another(&self.all[at], words)).then_some(at)
    }

    /// Whether it begins a call of its own under the number or the id of the one before, as some have neither.
    fn is_another(&self, call: &Call, words: &Words<'_>) -> bool {
        let is_whole = call.extent.is_closed && words.has_arguments;
        let is_beside = call.event == self.event && words.id.is_empty();
        let has_own_id = words.index.is_none() && *call.id != *words.id && *call.name != *words.name;
        !words.name.is_empty() && !call.name.is_empty() && (is_whole || is_beside || !words.id.is_empty() && has_own_id)
    }
}

impl Call {
    /// Keeps what seawall does not know. It comes whole, and the last holds.
    fn keep(&mut self, piece: &Piece<'_>) {
        for (name, value) in &piece.more {
            self.more.retain(|(known, _)| **known != **name);
            if self.more.len() < MOST_FIELDS {
                self.more.push(((**name).into(), (*value).to_owned()));
            }
        }
    }

    /// The call as it would have come whole, where more was said than seawall knows.
    fn native(&self) -> Option<Box<RawValue>> {
        if self.more.is_empty() {
            return None;
        }
        let [id, name, arguments] = [&*self.id, &self.name, &self.arguments].map(quoted);
        let function = format!(r#"{{"name":{name},"arguments":{arguments}}}"#);
        let mut json = format!(r#"{{"id":{id},"type":"function","function":{function}"#);
        for (name, value) in &self.more {
            json.extend([",", &quoted(name), ":", value.get()]);
        }
        json.push('}');
        RawValue::from_string(json).ok()
    }

    /// Whether the name is another now. It comes whole, again with each piece, or in pieces; `None` where it is too long.
    fn rename(&mut self, more: &str) -> Option<bool> {
        if more.is_empty() || *self.name == *more {
            return Some(false);
        }
        if self.name.is_empty() {
            self.name = more.into();
        } else if self.name.len() + more.len() > LONGEST_NAME {
            return None;
        } else {
            self.name = [&*self.name, more].concat().into();
        }
        Some(true)
    }
}

impl<'a> Words<'a> {
    fn of(piece: &Piece<'a>) -> Self {
        let function = piece.function.as_ref();
        let arguments = function.and_then(|function| function.arguments);
        Self {
            index: piece.index.and_then(|index| index.get().parse().ok()),
            id: said(piece.id),
            name: said(function.and_then(|function| function.name)),
            has_arguments: arguments.is_some_and(|text| !is_blank(text.get().trim_matches('"'))),
        }
    }
}

/// Whether nothing but blanks stands in a JSON string.
fn is_blank(inner: &str) -> bool {
    let mut rest = inner.trim_ascii_start();
    while let Some(after) = rest.strip_prefix(['\\']).and_then(|rest| rest.strip_prefix(['n', 'r', 't'])) {
        rest = after.trim_ascii_start();
    }
    rest.is_empty()
}

/// How far JSON text goes, read piece by piece.
#[derive(Default)]
struct Extent {
    depth: u32,
    in_text: bool,
    is_escaped: bool,
    /// What was opened is closed.
    is_closed: bool,
}

impl Extent {
    fn read(&mut self, more: &str) {
        for byte in more.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = self.in_text,
                b'"' => self.in_text = !self.in_text,
                b'{' | b'[' if !self.in_text => self.depth = self.depth.saturating_add(1),
                b'}' | b']' if !self.in_text => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_closed = self.depth == 0;
                }
                _ => {}
            }
        }
    }
}
