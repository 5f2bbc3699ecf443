use crate::Rng;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::{
    ops::{Range, RangeInclusive},
    time::Duration,
};

/// A wait, or the range that waits are drawn from evenly.
///
/// In TOML a string: `"50ms"`, or `"20ms..200ms"`. Units are `us`, `ms`, `s`, `m` and `h`.
///
/// ```
/// use seawall::sim::Spread;
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// assert_eq!("1.5s".parse(), Ok(Spread::from(ms(1500))));
/// assert_eq!("20ms..200ms".parse(), Ok(Spread::from(ms(20)..ms(200))));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    least: Duration,
    most: Duration,
}

impl Spread {
    pub(super) fn draw(&self, rng: &Rng) -> Duration {
        self.least.saturating_add(rng.up_to(self.most.saturating_sub(self.least)))
    }
}

impl From<Duration> for Spread {
    fn from(wait: Duration) -> Self {
        Self { least: wait, most: wait }
    }
}

/// The ends may come in either order.
impl From<Range<Duration>> for Spread {
    fn from(Range { start, end }: Range<Duration>) -> Self {
        Self { least: start.min(end), most: end.max(start) }
    }
}

impl From<RangeInclusive<Duration>> for Spread {
    fn from(range: RangeInclusive<Duration>) -> Self {
        Self::from(*range.start()..*range.end())
    }
}

impl std::str::FromStr for Spread {
    type Err = BadWait;

    fn from_str(text: &str) -> Result<Self, BadWait> {
        let Some((least, most)) = text.split_once("..") else { return Ok(Self::from(wait(text)?)) };
        let (least, most) = (wait(least)?, wait(most)?);
        if least > most { Err(BadWait) } else { Ok(Self { least, most }) }
    }
}

impl<'de> Deserialize<'de> for Spread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A text that names no wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadWait;

impl std::fmt::Display for BadWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(r#"expected a wait such as "250ms", "1.5s" or "20ms..200ms" (us, ms, s, m, h)"#)
    }
}

impl std::error::Error for BadWait {}

/// Reads `"250ms"`.
pub(super) fn wait(text: &str) -> Result<Duration, BadWait> {
    let text = text.trim();
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).ok_or(BadWait)?;
    let (number, unit) = text.split_at(unit);
    let scale = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(BadWait),
    };
    let number: f64 = number.trim().parse().map_err(|_| BadWait)?;
    // Rounded to the microsecond, so that "0.1s" is 100 ms and not a nanosecond beside it.
    let micros = (number * scale * 1e6).round();
    if (0.0..=MOST_MICROS).contains(&micros) { Ok(Duration::from_micros(micros as u64)) } else { Err(BadWait) }
}

/// A year: longer waits are mistakes.
const MOST_MICROS: f64 = 365.0 * 86_400.0 * 1e6;

/// For `#[serde(deserialize_with)]`.
pub(super) fn optional_wait<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    wait(&String::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_exactly() {
        let read = |text| wait(text).map(|wait| wait.as_micros());
        assert_eq!(read("250ms"), Ok(250_000));
        assert_eq!(read("0.1s"), Ok(100_000));
        assert_eq!(read(" 2 m "), Ok(120_000_000));
        assert_eq!(read("0s"), Ok(0));
        for bad in ["", "5", "ms", "-1s", "NaNs", "infs", "1 day", "1e30s", "5 s s"] {
            assert_eq!(read(bad), Err(BadWait), "{bad}");
        }
    }

    #[test]
    fn draws_stay_within_the_range() {
        let (rng, spread) = (Rng::seeded(1), "20ms..30ms".parse::<Spread>().unwrap());
        let range = Duration::from_millis(20)..=Duration::from_millis(30);
        assert!((0..1000).all(|_| range.contains(&spread.draw(&rng))));
        assert!("30ms..20ms".parse::<Spread>().is_err());
    }
}
