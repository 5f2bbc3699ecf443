//! Reads a page as Prometheus does: a line that is none fails the test.
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
pub struct Line {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

pub fn lines(page: &str) -> Vec<Line> {
    page.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")).map(line).collect()
}

fn line(line: &str) -> Line {
    let name: String = line.chars().take_while(|&c| is_word(c)).collect();
    let (mut rest, mut labels) = (&line[name.len()..], BTreeMap::new());
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, behind) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            assert!(label.chars().all(is_word), "{line}");
            let (value, behind) = quoted(behind).unwrap_or_else(|| panic!("{line}"));
            labels.insert(label.to_owned(), value);
            rest = behind.strip_prefix(',').unwrap_or(behind);
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{line}"));
    Line { name, labels, value }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    loop {
        match chars.next()? {
            (at, '"') => return Some((value, &text[at + 1..])),
            (_, '\\') => value.push(match chars.next()?.1 {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                _ => return None,
            }),
            (_, c) => value.push(c),
        }
    }
}

/// The metrics of the table in the docs of `observe`, as Prometheus spells them.
pub fn documented() -> BTreeSet<String> {
    let docs = include_str!("../../src/layers/observe/mod.rs");
    let rows = docs.lines().skip_while(|line| !line.starts_with("//! # Metrics")).skip(1);
    let rows = rows.take_while(|line| !line.starts_with("//! # ")).filter_map(|line| line.strip_prefix("//! | `"));
    let spelled = |row: &str| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let (name, kind, unit) = (cells[0].trim_end_matches('`').replace('.', "_"), cells[1], cells[2]);
        let unit = if unit == "s" { "_seconds" } else { "" };
        format!("{name}{unit}{}", if kind.starts_with("counter") { "_total" } else { "" })
    };
    rows.map(spelled).collect()
}

/// The metrics of a page, without what stands behind the name of a histogram.
pub fn metrics(page: &str) -> BTreeSet<String> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

/// The sum of all lines of this name with these labels.
pub fn sum(lines: &[Line], name: &str, labels: &[(&str, &str)]) -> f64 {
    let has = |line: &&Line| {
        line.name == name
            && labels.iter().all(|(label, value)| line.labels.get(*label).map_or("", |value| value) == *value)
    };
    lines.iter().filter(has).map(|line| line.value).sum()
}
