//! A body that is joined from what was encoded before.
use super::Fit;
use crate::{
    Capabilities, Invalid,
    chat::{Kept, Request},
};
use bytes::Bytes;
use serde::Serialize;
use std::sync::Arc;

/// What the encoding of a whole request depends on, besides the request.
struct Key<F> {
    form: Arc<F>,
    model: Capabilities,
}

/// The body of a request: the one that was sent before, or else what `write` makes of it, as far as the model takes it.
pub(super) fn body<F: PartialEq + Send + Sync + 'static>(
    request: &Request,
    form: &Arc<F>,
    provider: &str,
    fit: &mut Fit,
    write: impl FnOnce(&Request, &mut Fit) -> Result<Bytes, Invalid>,
) -> Result<Bytes, Invalid> {
    let is_it = |key: &Key<F>| is_same(&key.form, form) && key.model == *fit.model();
    if let Some(body) = request.kept().find(is_it) {
        return Ok(body);
    }
    let model = fit.model().clone();
    let body = write(&fit.settings(request, provider), fit)?;
    request.kept().keep(Arc::new(Key { form: Arc::clone(form), model }), body.clone());
    Ok(body)
}

/// A piece of a body: the one that was sent before, where there is a place to keep it, or else what `write` makes.
pub(super) fn piece<F: PartialEq + Send + Sync + 'static>(
    kept: Option<&Kept>,
    form: &Arc<F>,
    write: impl FnOnce() -> Result<Vec<u8>, Invalid>,
) -> Result<Bytes, Invalid> {
    let is_it = |held: &F| std::ptr::eq(held, &raw const **form) || *held == **form;
    if let Some(piece) = kept.and_then(|kept| kept.find(is_it)) {
        return Ok(piece);
    }
    // It may stay as long as the conversation does, so it takes no more room than it needs.
    let piece = Bytes::from(write()?.into_boxed_slice());
    if let Some(kept) = kept {
        kept.keep(Arc::<F>::clone(form), piece.clone());
    }
    Ok(piece)
}

fn is_same<F: PartialEq>(a: &Arc<F>, b: &Arc<F>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

/// JSON of what cannot fail, but for what people set with `extra`.
pub(super) fn json(value: &impl Serialize) -> Result<Vec<u8>, Invalid> {
    serde_json::to_vec(value)
        .map_err(|_| Invalid::new("request", "cannot be written as JSON: look at its `extra` fields"))
}

/// Pieces of JSON that become one text, written once.
#[derive(Default)]
pub(super) struct Joined(Vec<Bytes>);

impl Joined {
    pub(super) fn push(&mut self, piece: impl Into<Bytes>) {
        self.0.push(piece.into());
    }

    /// Makes room for so many pieces more.
    pub(super) fn reserve(&mut self, pieces: usize) {
        self.0.reserve(pieces);
    }

    /// The items of a list or of an object, with commas between them; empty ones are passed over.
    pub(super) fn list(&mut self, items: impl IntoIterator<Item = Bytes>) {
        for (at, item) in items.into_iter().filter(|item| !item.is_empty()).enumerate() {
            if at > 0 {
                self.push(&b","[..]);
            }
            self.push(item);
        }
    }

    /// An object of these fields, to which more may be joined.
    pub(super) fn open(&mut self, mut object: Vec<u8>) {
        debug_assert!(object.len() > 2 && object.ends_with(b"}"), "an object of some fields");
        object.pop();
        self.push(object);
    }

    pub(super) fn whole(self) -> Vec<u8> {
        let mut whole = Vec::with_capacity(self.0.iter().map(Bytes::len).sum());
        self.0.iter().for_each(|piece| whole.extend_from_slice(piece));
        whole
    }
}
