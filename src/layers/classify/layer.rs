#[cfg(feature = "reqwest")]
use super::Reqwest;
use super::{Answers, Boxed, Classifier, Classify, Closure};
use tower::Layer;

/// Makes [`Classify`]: from here on up, errors are `seawall::Error`.
#[derive(Clone, Debug)]
#[must_use = "a layer does nothing until it wraps a service"]
pub struct ClassifyLayer<J> {
    judge: J,
}

impl ClassifyLayer<Answers> {
    /// Judges `http::Response`: an answer whose status is no success becomes an error, read up to
    /// [`BODY_LIMIT`](super::BODY_LIMIT) bytes and for five seconds at most; so does a failure of the transport, and one
    /// in the body of a success. Bodies must be `Unpin`, as those of all clients are.
    pub fn http() -> Self {
        Self { judge: Answers::default() }
    }

    /// Judges with this classifier. Default: one that fits every provider.
    pub fn classifier(self, classifier: Classifier) -> Self {
        Self { judge: Answers { classifier, ..self.judge } }
    }

    /// Reads the body of a success too, up to `limit` bytes, for the errors that some providers put there; a longer one,
    /// or a stream, is let through. Default off: a body without JSON would be judged an error, and the head waits for it.
    pub fn look_into_success(self, limit: usize) -> Self {
        Self { judge: Answers { look: Some(limit), ..self.judge } }
    }
}

#[cfg(feature = "reqwest")]
#[cfg_attr(docsrs, doc(cfg(feature = "reqwest")))]
impl ClassifyLayer<Reqwest> {
    /// Judges the answers of reqwest as [`http`](ClassifyLayer::http) does, and takes URLs, which may hold keys, out of
    /// its errors.
    ///
    /// A success stays the `reqwest::Response` that it was: wrapping its body would cost a box for each answer. What
    /// breaks while it is read is therefore reqwest's error; [`Classifier::transport`] judges it. The other layers take
    /// these requests and answers with the shape [`Http`](crate::Http), and tell what breaks to whatever they left in the
    /// body.
    pub fn reqwest() -> Self {
        Self { judge: Reqwest::default() }
    }

    /// Judges with this classifier. Default: one that fits every provider.
    pub fn classifier(self, classifier: Classifier) -> Self {
        Self { judge: Reqwest { classifier } }
    }
}

impl<F> ClassifyLayer<Closure<F>> {
    /// Judges the errors of any service with one closure.
    ///
    /// ```
    /// use seawall::{Error, Kind, classify::ClassifyLayer};
    ///
    /// enum Failure { Busy, Down }
    ///
    /// let layer = ClassifyLayer::with(|failure| match failure {
    ///     Failure::Busy => Error::provider(Kind::Overloaded),
    ///     Failure::Down => Error::provider(Kind::Transport),
    /// });
    /// # let _ = tower::ServiceBuilder::new().layer(layer).service_fn(async |_: ()| Err::<(), _>(Failure::Busy));
    /// # let _ = Failure::Down;
    /// ```
    pub fn with<E>(judge: F) -> Self
    where
        F: Fn(E) -> crate::Error,
    {
        Self { judge: Closure(judge) }
    }
}

impl ClassifyLayer<Boxed> {
    /// Judges the boxed errors of tower's layers: a `seawall::Error` in the box comes out as it is, a timeout as a timeout,
    /// shed load as a refusal of ours, a failure of the transport by its sources, and anything else as unknown.
    pub fn boxed() -> Self {
        Self { judge: Boxed::default() }
    }

    /// Judges with this classifier. Default: one that fits every provider.
    pub fn classifier(self, classifier: Classifier) -> Self {
        Self { judge: Boxed { classifier } }
    }
}

impl<S, J: Clone> Layer<S> for ClassifyLayer<J> {
    type Service = Classify<S, J>;

    fn layer(&self, inner: S) -> Self::Service {
        Classify::new(inner, self.judge.clone())
    }
}
