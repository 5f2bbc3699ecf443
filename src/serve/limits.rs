use crate::Invalid;
use std::time::Duration;

/// What the body of a request may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub(super) body: usize,
    pub(super) within: Duration,
}

impl Default for Limits {
    /// 32 MiB, as Anthropic has it, and 60 s for all of it.
    fn default() -> Self {
        Self { body: 32 * 1024 * 1024, within: Duration::from_secs(60) }
    }
}

impl Limits {
    /// Sets the largest body, in bytes. Default 32 MiB. A larger one is answered with 413, and is not read further.
    ///
    /// Many clients write all that they have before they look for an answer, and see no more of it than a broken connection where
    /// the server closes meanwhile: `adapters::axum::serve` reads on for a while, and drops it.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn body(self, bytes: usize) -> Result<Self, Invalid> {
        if bytes == 0 {
            return Err(Invalid::new("body", "zero would refuse every request; set a larger size"));
        }
        Ok(Self { body: bytes, ..self })
    }

    /// Sets the time in which the whole body must come. Default 60 s. A slower one is answered with 408.
    ///
    /// # Errors
    /// Refuses zero.
    pub fn within(self, time: Duration) -> Result<Self, Invalid> {
        if time.is_zero() {
            return Err(Invalid::new("within", "zero would refuse every request; set a longer time"));
        }
        Ok(Self { within: time, ..self })
    }
}
