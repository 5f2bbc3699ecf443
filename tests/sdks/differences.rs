//! Where the requests differ, and why they mean the same all the same.
use crate::{cases::Api, converse::Talk};
use serde_json::Value;
use std::collections::BTreeSet;

/// A place in a request, with `*` for a number of a list, and what stands there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    path: String,
    theirs: String,
    ours: String,
}

const ABSENT: &str = "(absent)";

/// A difference that is known, and in which conversations it must occur.
#[derive(Debug)]
struct Row {
    form: Form,
    path: &'static str,
    /// `…` at the end stands for anything.
    theirs: &'static str,
    ours: &'static str,
    /// How often, in all requests of a conversation: a turn that comes back each time is met each time.
    times: usize,
    /// Why it means the same.
    #[expect(dead_code, reason = "for whoever reads the table, here or in a failure")]
    why: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    OpenAi,
    /// OpenAI's with thoughts.
    DeepSeek,
    Anthropic,
}

const TABLE: [Row; 10] = [
    Row {
        form: Form::OpenAi,
        path: "messages[*].content",
        theirs: "null",
        ours: r#""""#,
        times: 4,
        why: "a turn that calls tools without a word: OpenAI takes both, other servers refuse null; see `OpenAi::no_text`",
    },
    Row {
        form: Form::OpenAi,
        path: "messages[*].refusal",
        theirs: "null",
        ours: ABSENT,
        times: 6,
        why: "nothing was refused; a refusal does go back",
    },
    Row {
        form: Form::OpenAi,
        path: "messages[*].annotations",
        theirs: "[]",
        ours: ABSENT,
        times: 6,
        why: "a field of answers, which the API has in no request, and it is empty",
    },
    Row {
        form: Form::OpenAi,
        path: "messages[*].content[*]",
        theirs: ABSENT,
        ours: r#"{"text":"From the tool call call_…"#,
        times: 3,
        why: "an image that a tool gave stands in a user turn, and ours says of which call it is",
    },
    Row {
        form: Form::DeepSeek,
        path: "messages[*].reasoning_content",
        theirs: r#""I should look.""#,
        ours: ABSENT,
        times: 2,
        why: "thoughts of a turn that calls nothing: DeepSeek asks for those of calls, and leaves these out of account",
    },
    Row {
        form: Form::Anthropic,
        path: "messages[*].content",
        theirs: r#""And tomorrow?""#,
        ours: r#"[{"text":"And tomorrow?","type":"text"}]"#,
        times: 2,
        why: "a string is short for one block of text",
    },
    Row {
        form: Form::Anthropic,
        path: "messages[*].content[*].content",
        theirs: r#""Rain.""#,
        ours: r#"[{"text":"Rain.","type":"text"}]"#,
        times: 1,
        why: "the same in the result of a tool",
    },
    Row {
        form: Form::Anthropic,
        path: "messages[*].content[*].content",
        theirs: r#""There is no such city.""#,
        ours: r#"[{"text":"There is no such city.","type":"text"}]"#,
        times: 3,
        why: "the same in one that failed",
    },
    Row {
        form: Form::Anthropic,
        path: "messages[*].content[*].caller",
        theirs: r#"{"type":"direct"}"#,
        ours: ABSENT,
        times: 7,
        why: "optional in a request: a call of the model's own, and not of code that it runs",
    },
    Row {
        form: Form::Anthropic,
        path: "messages[*].content[*].citations",
        theirs: "null",
        ours: ABSENT,
        times: 2,
        why: "the text cites nothing; citations do go back",
    },
];

impl Form {
    fn is(self, talk: Talk) -> bool {
        match self {
            Self::OpenAi => talk.api == Api::OpenAi,
            Self::DeepSeek => talk.api == Api::OpenAi && talk.thinking,
            Self::Anthropic => talk.api == Api::Anthropic,
        }
    }
}

impl Row {
    fn fits(&self, one: &Difference) -> bool {
        one.path == self.path && matches(self.theirs, &one.theirs) && matches(self.ours, &one.ours)
    }
}

/// Holds what was found to the table.
pub fn expect(talk: Talk, language: &str, found: &[Difference]) {
    let listed: Vec<_> = TABLE.iter().filter(|row| row.form.is(talk)).collect();
    let unlisted: Vec<_> = found.iter().filter(|one| !listed.iter().any(|row| row.fits(one))).collect();
    let times = |row: &Row| found.iter().filter(|one| row.fits(one)).count();
    let miscounted: Vec<_> =
        listed.iter().map(|row| (times(row), row)).filter(|(times, row)| *times != row.times).collect();
    assert!(
        unlisted.is_empty() && miscounted.is_empty(),
        "{language}, {talk:?}\nnot listed: {unlisted:#?}\nlisted, and not as often: {miscounted:#?}"
    );
}

fn matches(listed: &str, found: &str) -> bool {
    listed.strip_suffix('…').map_or(listed == found, |front| found.starts_with(front))
}

pub fn between(theirs: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", Some(theirs), Some(ours), &mut found);
    found
}

fn compare(path: &str, theirs: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    match (theirs, ours) {
        (Some(Value::Object(theirs)), Some(Value::Object(ours))) => {
            for name in theirs.keys().chain(ours.keys()).collect::<BTreeSet<_>>() {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare(&path, theirs.get(name), ours.get(name), found);
            }
        }
        (Some(Value::Array(theirs)), Some(Value::Array(ours))) => lists(&format!("{path}[*]"), theirs, ours, found),
        (theirs, ours) if theirs == ours => {}
        (theirs, ours) => {
            let told = |value: Option<&Value>| value.map_or_else(|| ABSENT.to_owned(), Value::to_string);
            found.push(Difference { path: path.to_owned(), theirs: told(theirs), ours: told(ours) });
        }
    }
}

/// Lists of different lengths are laid side by side from both ends.
fn lists(path: &str, theirs: &[Value], ours: &[Value], found: &mut Vec<Difference>) {
    let (mut theirs, mut ours) = (theirs, ours);
    if theirs.len() != ours.len() {
        while let ([first, rest @ ..], [first_of_ours, rest_of_ours @ ..]) = (theirs, ours)
            && first == first_of_ours
        {
            (theirs, ours) = (rest, rest_of_ours);
        }
        while let ([rest @ .., last], [rest_of_ours @ .., last_of_ours]) = (theirs, ours)
            && last == last_of_ours
        {
            (theirs, ours) = (rest, rest_of_ours);
        }
    }
    for at in 0..theirs.len().max(ours.len()) {
        compare(path, theirs.get(at), ours.get(at), found);
    }
}
