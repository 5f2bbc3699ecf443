//! Rows of a table, read from TOML.
use super::{capabilities::Row, known::Rows, name::LONGEST};
use crate::Invalid;
use std::sync::Arc;
use toml::{Table, Value};

const FIELDS: &str = "`names`, `context_window`, `max_output`, `refuses`, `refuses_while_reasoning`, `reasons`, `not_both` \
                      and `developer`";

/// What is never left out: without it an answer would mean something else.
const KEPT: [&str; 7] = ["model", "messages", "tools", "tool_choice", "response_format", "stream", "n"];

pub(super) fn rows(text: &str) -> Result<Rows, Invalid> {
    let table: Table = text.parse().map_err(|error| syntax(text, &error))?;
    let mut rows = Rows::new();
    for (key, value) in &table {
        let Value::Array(models) = value else { return Err(stray(key)) };
        if key != "model" {
            return Err(stray(key));
        }
        for (at, model) in models.iter().enumerate() {
            let Value::Table(fields) = model else { return Err(stray(key)) };
            let (names, row) = read(fields).map_err(|error| error.in_row(at + 1, fields))?;
            let row = Arc::new(row);
            rows.extend(names.into_iter().map(|name| (name, Arc::clone(&row))));
        }
    }
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    match rows.windows(2).find(|two| two[0].0 == two[1].0) {
        Some(twice) => Err(Invalid::new("models", format!("`{}` is named twice: keep one", twice[0].0))),
        None => Ok(rows),
    }
}

fn syntax(text: &str, error: &toml::de::Error) -> Invalid {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    Invalid::new("models", format!("line {line} is no TOML: {}", error.message()))
}

fn stray(key: &str) -> Invalid {
    Invalid::new("models", format!("`{key}` is none of a table's parts: begin each row with `[[model]]`"))
}

/// Which field of a row is to blame, and why.
struct Wrong(String, String);

impl Wrong {
    fn in_row(self, number: usize, fields: &Table) -> Invalid {
        let name = fields.get("names").and_then(Value::as_array).and_then(|names| names.first()?.as_str());
        let named = name.map(|name| format!(" ({name})")).unwrap_or_default();
        let Self(field, reason) = self;
        Invalid::new("models", format!("row {number}{named}: `{field}` {reason}"))
    }
}

fn read(fields: &Table) -> Result<(Vec<Box<str>>, Row), Wrong> {
    let mut names = Vec::new();
    let mut row = Row { is_known: true, ..Row::default() };
    for (field, value) in fields {
        let wrong = |reason: String| Wrong(field.clone(), reason);
        match field.as_str() {
            "names" => names = list(value, name).map_err(wrong)?,
            "context_window" => row.context_window = Some(tokens(value).map_err(wrong)?),
            "max_output" => row.max_output = Some(tokens(value).map_err(wrong)?),
            "refuses" => row.refuses = list(value, refused).map_err(wrong)?,
            "refuses_while_reasoning" => row.refuses_while_reasoning = list(value, refused).map_err(wrong)?,
            "not_both" => row.not_both = list(value, pair).map_err(wrong)?,
            "reasons" => row.reasons = switch(value).map_err(wrong)?,
            "developer" => row.developer = switch(value).map_err(wrong)?,
            _ => return Err(wrong(format!("is no field of a row: there are {FIELDS}"))),
        }
    }
    if names.is_empty() {
        return Err(Wrong("names".into(), "is missing, or empty: name the model".into()));
    }
    if row.max_output.is_some_and(|most| row.context_window.is_some_and(|window| window < u64::from(most))) {
        return Err(Wrong("max_output".into(), "is above `context_window`: correct one of them".into()));
    }
    Ok((names, row))
}

fn tokens<T: TryFrom<i64>>(value: &Value) -> Result<T, String> {
    let number = value.as_integer().filter(|number| *number > 0);
    let number = number.and_then(|number| number.try_into().ok());
    number.ok_or_else(|| "must be a whole number of tokens above 0".into())
}

fn switch(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "must be `true` or `false`".into())
}

fn list<T>(value: &Value, item: fn(&Value) -> Result<T, String>) -> Result<Vec<T>, String> {
    value.as_array().ok_or("must be a list")?.iter().map(item).collect()
}

/// Names differ in their case alone nowhere, so that they are kept in one.
fn name(value: &Value) -> Result<Box<str>, String> {
    let name = value.as_str().ok_or("must hold texts")?;
    if name.contains('/') {
        return Err(format!("has `{name}`: write what is behind the last `/`, which is what is looked for"));
    }
    if name.is_empty() || name.len() > LONGEST || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!("has {name:?}: a name has 1 to {LONGEST} letters, and no blanks"));
    }
    Ok(name.to_ascii_lowercase().into())
}

fn refused(value: &Value) -> Result<Box<str>, String> {
    let field = value.as_str().ok_or("must hold texts")?;
    if KEPT.contains(&field) {
        return Err(format!("has `{field}`, which is never left out: an answer without it would mean something else"));
    }
    if field.is_empty() || field.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        return Err(format!("has {field:?}: a setting's name has letters, digits and `_`"));
    }
    Ok(field.into())
}

fn pair(value: &Value) -> Result<(Box<str>, Box<str>), String> {
    match value.as_array().map(Vec::as_slice) {
        Some([first, second]) if first != second => Ok((refused(first)?, refused(second)?)),
        _ => Err("must hold pairs of two settings, such as `[\"temperature\", \"top_p\"]`".into()),
    }
}
