//! A history in the order in which providers take it: results right behind their calls, and each call with an id of its own.
use super::{
    Fit,
    check::at,
    ids::{IdRule, Ids},
};
use crate::{
    Change, Invalid, Mend,
    chat::{Kept, Message, Part, Request, Role, Tool, ToolCall, ToolResult},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, collections::HashMap};

/// A stretch of turns of one side.
pub(super) struct Turn<'a> {
    /// The index of its first message.
    pub(super) first: usize,
    pub(super) side: Side<'a>,
}

pub(super) enum Side<'a> {
    Assistant(Vec<Spoken<'a>>),
    User { results: Vec<Answered<'a>>, messages: Vec<&'a Message> },
}

/// A turn of the model's.
pub(super) struct Spoken<'a> {
    pub(super) message: &'a Message,
    pub(super) calls: Vec<Called<'a>>,
}

/// A call, with an id and a name that the provider takes.
pub(super) struct Called<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) id: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
}

/// A call's results: mostly one.
pub(super) struct Answered<'a> {
    /// The index of the message with the first.
    pub(super) index: usize,
    pub(super) id: Cow<'a, str>,
    pub(super) results: Vec<&'a ToolResult>,
}

impl<'a> Called<'a> {
    /// The call as this provider wrote it, where that says more and is still true.
    pub(super) fn native(&self, provider: &str) -> Option<&'a RawValue> {
        match (&self.id, &self.name) {
            (Cow::Borrowed(_), Cow::Borrowed(_)) => self.call.native()?.json_for(provider),
            _ => None,
        }
    }
}

impl<'a> Spoken<'a> {
    /// Where its encoding is kept, which is the same in every history.
    pub(super) fn kept(&self) -> Option<&'a Kept> {
        let came_so = |called: &Called<'_>| matches!((&called.id, &called.name), (Cow::Borrowed(_), Cow::Borrowed(_)));
        self.calls.iter().all(came_so).then(|| self.message.kept())
    }
}

impl<'a> Answered<'a> {
    /// Where its encoding is kept, which is the same in every history.
    pub(super) fn kept(&self) -> Option<&'a Kept> {
        match (&self.id, &*self.results) {
            (Cow::Borrowed(_), [result]) => Some(result.kept()),
            _ => None,
        }
    }
}

/// Splits a history into the turns of its two sides, with the ids of calls as `rule` has them.
///
/// # Errors
/// For a call without a result, and a result without a call: what they mean is not ours to guess.
pub(super) fn turns<'a>(request: &'a Request, rule: IdRule, fit: &mut Fit) -> Result<Vec<Turn<'a>>, Invalid> {
    let mut ids = Ids::new(rule);
    let mut turns = Vec::new();
    let (mut open, mut waiting) = (Vec::new(), HashMap::new());
    let mut first = 0;
    for messages in request.messages().chunk_by(|a, b| is_assistant(a) == is_assistant(b)) {
        let side = match is_assistant(&messages[0]) {
            true => {
                let speak = |message| Spoken { message, calls: called(message, request.tools(), &mut ids) };
                let spoken: Vec<_> = messages.iter().map(speak).collect();
                for (index, spoken) in (first..).zip(&spoken) {
                    let renamed = spoken.calls.iter().any(|called| matches!(called.name, Cow::Owned(_)));
                    if renamed {
                        fit.note(Change::Mended { message: index, how: Mend::Renamed });
                    }
                    let asked = |called: &Called<'a>| Open {
                        index,
                        call: called.call,
                        id: called.id.clone(),
                        answer: None,
                        twin: None,
                    };
                    open.extend(spoken.calls.iter().map(asked));
                }
                Side::Assistant(spoken)
            }
            false => {
                let results = answered(first, messages, &mut open, &mut waiting, fit)?;
                all_answered(&open)?;
                open.clear();
                Side::User {
                    results,
                    messages: messages.iter().filter(|message| message.role() != Role::Tool).collect(),
                }
            }
        };
        turns.push(Turn { first, side });
        first += messages.len();
    }
    all_answered(&open)?;
    Ok(turns)
}

fn is_assistant(message: &Message) -> bool {
    message.role() == Role::Assistant
}

fn called<'a>(message: &'a Message, tools: &[Tool], ids: &mut Ids<'a>) -> Vec<Called<'a>> {
    let mut all = Vec::with_capacity(message.tool_calls().count());
    all.extend(message.tool_calls().map(|call| Called {
        call,
        id: ids.of_call(call.id()),
        name: name(call.name(), tools),
    }));
    all
}

/// The longest name that every provider takes.
const LONGEST_NAME: usize = 64;

/// The name as the model wrote it where a tool is called so; else without what no tool's name may have, since models call tools
/// that there are not.
fn name<'a>(name: &'a str, tools: &[Tool]) -> Cow<'a, str> {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let is_legal = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(legal);
    if is_legal || tools.iter().any(|tool| tool.name() == name) {
        return name.into();
    }
    match name.is_empty() {
        true => Cow::Owned("unnamed".to_owned()),
        false => name.chars().take(LONGEST_NAME).map(|letter| if legal(letter) { letter } else { '_' }).collect(),
    }
}

/// A call of the last turn of the model's, and where its results are gathered.
struct Open<'a> {
    index: usize,
    call: &'a ToolCall,
    id: Cow<'a, str>,
    answer: Option<usize>,
    /// The next call with the same id.
    twin: Option<usize>,
}

fn all_answered(open: &[Open<'_>]) -> Result<(), Invalid> {
    match open.iter().find(|call| call.answer.is_none()) {
        Some(Open { index, call, .. }) => {
            let (id, name) = (shown(call.id()), shown(call.name()));
            Err(at(*index, &format!("the call {id} of the tool {name} has no result: add one with `tool_result`")))
        }
        None => Ok(()),
    }
}

/// Gives each result to its call. Of calls that share an id each has one, in their order, and what is left over goes to
/// the last.
fn answered<'a>(
    first: usize,
    messages: &'a [Message],
    open: &mut [Open<'a>],
    waiting: &mut HashMap<&'a str, usize>,
    fit: &mut Fit,
) -> Result<Vec<Answered<'a>>, Invalid> {
    let mut all: Vec<Answered<'a>> = Vec::with_capacity(open.len());
    waiting.clear();
    for at in (0..open.len()).rev() {
        open[at].twin = waiting.insert(open[at].call.id(), at);
    }
    for (index, result) in
        (first..).zip(messages).flat_map(|(index, message)| results(message).map(move |result| (index, result)))
    {
        let next = waiting.get_mut(result.call_id()).map(|next| {
            // The last of those that share an id stays, for what is left over.
            let at = *next;
            *next = open[at].twin.unwrap_or(at);
            at
        });
        match next.map(|at| &mut open[at]) {
            Some(Open { answer: Some(at), .. }) => {
                all[*at].results.push(result);
                fit.note(Change::Mended { message: index, how: Mend::Joined });
            }
            Some(Open { id, answer, .. }) => {
                *answer = Some(all.len());
                all.push(Answered { index, id: id.clone(), results: vec![result] });
            }
            None => {
                let reason = "answers no call of the turn before it: leave it out, or put it behind its call";
                return Err(at(index, &format!("the result for {} {reason}", shown(result.call_id()))));
            }
        }
    }
    Ok(all)
}

fn results(message: &Message) -> impl Iterator<Item = &ToolResult> {
    message.parts().iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    })
}

/// Words of a model in an error: not all that there may be.
fn shown(word: &str) -> String {
    const LONGEST: usize = 64;
    match word.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", word[..end].escape_debug()),
        None => format!("`{}`", word.escape_debug()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn calls(ids: &[&str]) -> Message {
        ids.iter().fold(Message::assistant(""), |turn, id| turn.tool_call(ToolCall::new(*id, "f", "{}")))
    }

    fn given(ids: &[&str]) -> Message {
        Message::new(Role::Tool, ids.iter().map(|id| Part::ToolResult(ToolResult::new(*id, "1"))))
    }

    fn sent(history: &[Message]) -> Vec<String> {
        let request = Request::new("m").history(history.to_vec());
        let ids = |turn: Turn<'_>| match turn.side {
            Side::Assistant(spoken) => {
                spoken.into_iter().flat_map(|spoken| spoken.calls).map(|called| called.id.into_owned()).collect()
            }
            Side::User { .. } => Vec::new(),
        };
        turns(&request, IdRule::up_to(40), &mut Fit::default()).unwrap().into_iter().flat_map(ids).collect()
    }

    #[test]
    fn legal_ids_stay_and_others_are_made_the_same_each_time() {
        let long = "x".repeat(41);
        let (first, second) = (["toolu_1", "a b", &long, ""], ["toolu_1", "a b"]);
        let history = [calls(&first), given(&first), calls(&second), given(&second)];
        let ids = sent(&history);
        assert_eq!(ids[0], "toolu_1");
        assert_eq!(ids[1], "call_72d5f737ae1842b2", "no release may change it");
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 6, "{ids:?}");
        assert_eq!(sent(&history[..2]), ids[..4], "a longer history keeps them");
    }

    #[test]
    fn an_id_that_looks_like_a_made_one_is_not_given_twice() {
        let made = sent(&[calls(&["a b"]), given(&["a b"])]).remove(0);
        let ids = sent(&[calls(&[&made, "a b"]), given(&[&made, "a b"])]);
        assert_ne!(ids[0], ids[1]);
    }

    #[test]
    fn results_find_their_calls_also_where_these_share_an_id() {
        let tool = |content: &str| Message::tool("", content);
        let history = [calls(&["", ""]), tool("one"), Message::user("?"), tool("two"), tool("more")];
        let (request, mut fit) = (Request::new("m").history(history), Fit::default());
        let turns = turns(&request, IdRule::up_to(40), &mut fit).unwrap();
        let [Side::Assistant(spoken), Side::User { results, messages }] =
            &*turns.into_iter().map(|turn| turn.side).collect::<Vec<_>>()
        else {
            panic!()
        };
        let told = |at: usize| results[at].results.iter().map(|result| result.content()).collect::<Vec<_>>();
        assert_eq!((told(0), told(1), messages.len()), (vec!["one"], vec!["two", "more"], 1));
        assert!(results.iter().map(|result| &result.id).eq(spoken[0].calls.iter().map(|called| &called.id)));
        assert_eq!(fit.changes(), [Change::Mended { message: 4, how: Mend::Joined }]);
    }
}
