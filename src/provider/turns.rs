//! A history in the order in which providers take it: results right behind their calls, and each call with an id of its own.
use crate::chat::{Message, Part, Role, ToolResult};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

/// A stretch of turns of one side.
pub(super) enum Turn<'a> {
    Assistant(Vec<Spoken<'a>>),
    User { results: Vec<Answered<'a>>, messages: Vec<&'a Message> },
}

/// A turn of the model's.
pub(super) struct Spoken<'a> {
    pub(super) message: &'a Message,
    /// The ids of its calls, in their order.
    pub(super) ids: Vec<Id<'a>>,
}

/// A call's results: mostly one.
pub(super) struct Answered<'a> {
    pub(super) id: Id<'a>,
    pub(super) results: Vec<&'a ToolResult>,
}

pub(super) type Id<'a> = Cow<'a, str>;

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

/// Splits a history into the turns of its two sides, with the ids of calls as `rule` has them.
pub(super) fn turns(messages: &[Message], rule: IdRule) -> Vec<Turn<'_>> {
    let mut ids = Ids { rule, taken: HashSet::new(), last: HashMap::new() };
    let mut turns = Vec::new();
    let mut open = Vec::new();
    for side in messages.chunk_by(|a, b| is_assistant(a) == is_assistant(b)) {
        turns.push(match is_assistant(&side[0]) {
            true => {
                let spoken: Vec<_> = side.iter().map(|message| ids.speak(message)).collect();
                open =
                    spoken.iter().flat_map(Spoken::calls).map(|(asked, id)| Open { asked, id, answer: None }).collect();
                Turn::Assistant(spoken)
            }
            false => Turn::User {
                results: answered(side, &mut open, &ids),
                messages: side.iter().filter(|message| message.role() != Role::Tool).collect(),
            },
        });
    }
    turns
}

fn is_assistant(message: &Message) -> bool {
    message.role() == Role::Assistant
}

/// A call of the last turn of the model's, and where its results are gathered.
struct Open<'a> {
    asked: &'a str,
    id: Id<'a>,
    answer: Option<usize>,
}

/// Gives each result to its call. Of calls that share an id each has one, in their order, and what is left over goes to
/// the last.
fn answered<'a>(side: &'a [Message], open: &mut [Open<'a>], ids: &Ids<'a>) -> Vec<Answered<'a>> {
    let results = side.iter().flat_map(Message::parts).filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    });
    let mut all: Vec<Answered<'a>> = Vec::new();
    for result in results {
        let of = |call: &Open<'_>| call.asked == result.call_id();
        let next = open.iter().position(|call| of(call) && call.answer.is_none()).or_else(|| open.iter().rposition(of));
        match next.map(|at| &mut open[at]) {
            Some(Open { answer: Some(at), .. }) => all[*at].results.push(result),
            Some(Open { id, answer, .. }) => {
                *answer = Some(all.len());
                all.push(Answered { id: id.clone(), results: vec![result] });
            }
            None => all.push(Answered { id: ids.known(result.call_id()), results: vec![result] }),
        }
    }
    all
}

impl<'a> Spoken<'a> {
    fn calls(&self) -> impl Iterator<Item = (&'a str, Id<'a>)> {
        self.message.tool_calls().map(|call| call.id()).zip(self.ids.iter().cloned())
    }
}

/// The ids of one request. They depend on nothing but the turns before them, so that a history that grows keeps them.
struct Ids<'a> {
    rule: IdRule,
    taken: HashSet<Id<'a>>,
    /// How often an id was met, and what it was sent as the last time.
    last: HashMap<&'a str, (u32, Id<'a>)>,
}

impl<'a> Ids<'a> {
    fn speak(&mut self, message: &'a Message) -> Spoken<'a> {
        Spoken { message, ids: message.tool_calls().map(|call| self.of_call(call.id())).collect() }
    }

    /// The id as it came, or one made of it where that is illegal or taken.
    fn of_call(&mut self, asked: &'a str) -> Id<'a> {
        let times = self.last.get(asked).map_or(0, |(times, _)| *times);
        let mut id = Cow::Borrowed(asked);
        let mut salt = times;
        while !self.rule.allows(&id) || self.taken.contains(&id) {
            id = self.rule.made(asked, salt).into();
            salt = salt.wrapping_add(1);
        }
        self.taken.insert(id.clone());
        self.last.insert(asked, (times + 1, id.clone()));
        id
    }

    /// The id for a result whose call is not in the turn before.
    fn known(&self, asked: &'a str) -> Id<'a> {
        match self.last.get(asked) {
            Some((_, id)) => id.clone(),
            None if self.rule.allows(asked) => asked.into(),
            None => self.rule.made(asked, 0).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ToolCall;

    fn calls(ids: &[&str]) -> Message {
        ids.iter().fold(Message::assistant(""), |turn, id| turn.tool_call(ToolCall::new(*id, "f", "{}")))
    }

    fn sent(history: &[Message]) -> Vec<String> {
        let ids = |turn: Turn<'_>| match turn {
            Turn::Assistant(spoken) => spoken.into_iter().flat_map(|spoken| spoken.ids).map(Cow::into_owned).collect(),
            Turn::User { .. } => Vec::new(),
        };
        turns(history, IdRule::up_to(40)).into_iter().flat_map(ids).collect()
    }

    #[test]
    fn legal_ids_stay_and_others_are_made_the_same_each_time() {
        let long = "x".repeat(41);
        let history = [calls(&["toolu_1", "a b", &long, ""]), Message::user("."), calls(&["toolu_1", "a b"])];
        let ids = sent(&history);
        assert_eq!(ids[0], "toolu_1");
        assert_eq!(ids[1], "call_72d5f737ae1842b2", "no release may change it");
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 6, "{ids:?}");
        assert_eq!(sent(&history[..1]), ids[..4], "a longer history keeps them");
    }

    #[test]
    fn an_id_that_looks_like_a_made_one_is_not_given_twice() {
        let made = sent(&[calls(&["a b"])]).remove(0);
        let ids = sent(&[calls(&[&made, "a b"])]);
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn results_find_their_calls_also_where_these_share_an_id() {
        let tool = |content: &str| Message::tool("", content);
        let history = [calls(&["", ""]), tool("one"), Message::user("?"), tool("two"), tool("more")];
        let turns = turns(&history, IdRule::up_to(40));
        let [Turn::Assistant(spoken), Turn::User { results, messages }] = turns.as_slice() else { panic!() };
        let told = |at: usize| results[at].results.iter().map(|result| result.content()).collect::<Vec<_>>();
        assert_eq!((told(0), told(1), messages.len()), (vec!["one"], vec!["two", "more"], 1));
        assert!(results.iter().map(|result| &result.id).eq(&spoken[0].ids));
    }
}
