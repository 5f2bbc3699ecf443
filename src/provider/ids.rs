//! Ids of calls that a provider takes.
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

/// Which ids of calls a provider takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdRule {
    shortest: usize,
    longest: usize,
    /// Whether `_` and `-` may stand in them, besides letters and digits.
    has_signs: bool,
}

impl IdRule {
    /// Letters, digits, `_` and `-`, so many at most.
    pub(super) const fn up_to(longest: usize) -> Self {
        Self { shortest: 1, longest, has_signs: true }
    }

    /// Letters and digits, just so many.
    pub(super) const fn exactly(length: usize) -> Self {
        Self { shortest: length, longest: length, has_signs: false }
    }

    fn allows(self, id: &str) -> bool {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || self.has_signs && matches!(byte, b'_' | b'-');
        (self.shortest..=self.longest).contains(&id.len()) && id.bytes().all(legal)
    }

    /// FNV-1a (<http://www.isthe.com/chongo/tech/comp/fnv/>) of the id and its number: the same on every machine and in every
    /// release, as the cache of a provider holds it.
    fn made(self, asked: &str, number: u32) -> String {
        let hash = asked
            .bytes()
            .chain(number.to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        if self.has_signs {
            return format!("call_{hash:016x}");
        }
        let mut id = format!("{hash:016x}");
        id.truncate(self.longest);
        id
    }
}

/// The ids of one request. They depend on nothing but the turns before them, so that a history that grows keeps them.
pub(super) struct Ids<'a> {
    rule: IdRule,
    taken: HashSet<Cow<'a, str>>,
    /// How often an id was met.
    met: HashMap<&'a str, u32>,
}

impl<'a> Ids<'a> {
    pub(super) fn new(rule: IdRule) -> Self {
        Self { rule, taken: HashSet::new(), met: HashMap::new() }
    }

    /// The id as it came, or one made of it where that is illegal or taken.
    pub(super) fn of_call(&mut self, asked: &'a str) -> Cow<'a, str> {
        let times = self.met.entry(asked).or_default();
        let mut salt = *times;
        *times += 1;
        let mut id = Cow::Borrowed(asked);
        while !self.rule.allows(&id) || self.taken.contains(&id) {
            id = self.rule.made(asked, salt).into();
            salt = salt.wrapping_add(1);
        }
        self.taken.insert(id.clone());
        id
    }
}
