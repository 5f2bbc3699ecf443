//! One model under several names.
use std::{cmp::Ordering, iter::successors};

/// Longer names belong to no model that is known. It bounds the work for one that somebody else chose.
pub(super) const LONGEST: usize = 256;

/// What OpenRouter puts behind a name to choose among those who serve the model. `:thinking` and `:extended` are missing: they
/// change what it takes.
const ROUTING: [&str; 6] = [":free", ":nitro", ":floor", ":online", ":exacto", ":beta"];

/// The names to look for: as it is written behind the last `/`, then without a choice of route, then without its date.
pub(super) fn spellings(model: &str) -> impl Iterator<Item = &str> {
    let last = (model.len() <= LONGEST).then(|| model.rsplit('/').next().unwrap_or(model));
    successors(last, |name| ROUTING.iter().find_map(|suffix| name.strip_suffix(suffix)))
        .take(2)
        .flat_map(|name| [Some(name), undated(name)])
        .flatten()
}

/// A snapshot is the same model as its name without `-20250929`, `-2024-08-06` or `@20250929`, and so is `-latest`.
fn undated(name: &str) -> Option<&str> {
    if let Some(name) = name.strip_suffix("-latest") {
        return Some(name);
    }
    let parted = |digits: usize| name.len().checked_sub(digits).and_then(|at| name.split_at_checked(at));
    if let Some((front, date)) = parted("20250929".len())
        && let Some(name) = front.strip_suffix(['-', '@'])
        && is_date(date.as_bytes())
    {
        return Some(name);
    }
    let (front, date) = parted("2024-08-06".len())?;
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let name = front.strip_suffix('-')?;
    is_date([year, month, day].concat().as_bytes()).then_some(name)
}

fn is_date(digits: &[u8]) -> bool {
    let two = |at: usize| u32::from(digits[at] - b'0') * 10 + u32::from(digits[at + 1] - b'0');
    digits.len() == 8
        && digits.iter().all(u8::is_ascii_digit)
        && two(0) == 20
        && (1..=12).contains(&two(4))
        && (1..=31).contains(&two(6))
}

/// The order of a name of the table, which is in lower case, and of one that somebody wrote.
pub(super) fn order(known: &str, name: &str) -> Ordering {
    known.bytes().cmp(name.bytes().map(|byte| byte.to_ascii_lowercase()))
}
