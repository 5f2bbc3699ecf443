//! Who may import whom, and what a layer is made of. It reads the sources as text, so macros hide nothing.
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

const WORDS: [&str; 15] = [
    "change", "context", "ending", "error", "event", "gate", "invalid", "keyed", "models", "rng", "secret", "shape",
    "sse", "time", "usage",
];
/// The only layers that a provider's client is built of.
const FOR_PROVIDERS: [&str; 2] = ["classify", "authorize"];
const LONGEST: usize = 300;

#[test]
fn every_import_goes_down() {
    let names = Names::of(&read("lib.rs"));
    let wrong: Vec<_> = sources().iter().flat_map(|file| forbidden(file, &code(file), &names)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_forbidden_import_is_noticed_however_it_is_written() {
    let names = Names::of("pub use error::{Error, Kind as Sort}; pub use layers::{retry, timeout}; pub use a::b;");
    let wrong = |file: &str, text: &str| forbidden(Path::new(file), &code_of(text), &names);
    for (file, text) in [
        ("error/mod.rs", "use crate::chat::Reply;"),
        ("gate.rs", "use crate::{time::{self, Instant}, retry::{RetryLayer}};"),
        ("layers/timeout/layer.rs", "use crate::{Error, layers::{timeout::Timer, retry::Backoff}};"),
        ("layers/timeout/layer.rs", "fn f() -> crate::retry::Budget { }"),
        ("layers/timeout/mod.rs", "use super::retry::Budget;"),
        ("layers/timeout/attempt/mod.rs", "use super::super::retry;"),
        ("layers/timeout/layer.rs", "mod inner { use super::super::super::retry; }"),
        ("layers/retry/layer.rs", "pin_project! { struct A { b: crate::chat::Reply } }"),
        ("layers/retry/layer.rs", "use crate::*;"),
        ("layers/retry/layer.rs", "use crate::{self as whole};"),
        ("chat/mod.rs", "use crate::provider::Dialect;"),
        ("provider/openai/mod.rs", "use crate::{Error, retry::RetryLayer};"),
        ("agent/mod.rs", "use crate::timeout::DeadlineLayer;"),
        ("stack.rs", "use crate::sim::Script;"),
        ("sim/mod.rs", "use crate::adapters::axum;"),
        ("newcomer.rs", "use crate::chat::Reply;"),
        ("stack.rs", "use crate::newcomer::Thing;"),
    ] {
        assert!(!wrong(file, text).is_empty(), "{file}: {text}");
    }
    for (file, text) in [
        (
            "layers/timeout/attempt/future.rs",
            "use crate::{Error, Sort, layers::timeout::timer::Timer}; use super::Idle;",
        ),
        (
            "layers/timeout/layer.rs",
            "// use crate::chat;\n/* crate::chat */ const A: &str = \"crate::chat\"; fn f<'a>() {}",
        ),
        ("layers/timeout/layer.rs", "#[cfg(test)]\nmod tests { use crate::retry; }"),
        ("provider/client.rs", "use crate::{chat::Request, layers::classify::Classify};"),
        ("stack.rs", "use crate::{chat, provider, retry::RetryLayer, Error};"),
        ("bin/seawall/main.rs", "mod explain; use crate::explain::run; use seawall::sim::Script;"),
    ] {
        assert_eq!(wrong(file, text), Vec::<String>::new(), "{file}: {text}");
    }
}

#[test]
fn a_layers_mod_rs_holds_docs_and_re_exports() {
    for folder in layers() {
        let file = folder.join("mod.rs");
        let code = code(&file);
        let items = code.split(';').map(str::trim).filter(|item| !item.is_empty());
        let wrong: Vec<_> = items.filter(|item| !is_declaration(item)).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", file.display());
        assert!(read(&file).starts_with("//! "), "{}: no docs", file.display());
    }
}

#[test]
fn no_file_is_a_drawer() {
    for file in sources() {
        let name = file.file_stem().unwrap().to_str().unwrap();
        assert!(!["utils", "util", "helpers", "common", "types", "misc"].contains(&name), "{}", file.display());
    }
}

#[test]
fn no_file_is_long() {
    // Written by a program, from a file that has its own length.
    for file in sources().into_iter().filter(|file| !file.ends_with("generated.rs")) {
        let lines = without_tests(&read(&file)).lines().count();
        assert!(lines <= LONGEST, "{} has {lines} lines", file.display());
    }
}

#[test]
fn clocks_are_read_in_one_place() {
    let clocks = [
        "Instant::now",
        "SystemTime::now",
        "thread::sleep",
        "tokio::time::sleep",
        "tokio::time::sleep_until",
        "tokio::time::timeout",
        "tokio::time::timeout_at",
        "tokio::time::interval",
        "tokio::time::interval_at",
    ];
    for file in sources().into_iter().filter(|file| file != Path::new("time.rs")) {
        for Import { path, .. } in imports(&tokens(&code(&file))) {
            let path = path.join("::");
            let clock = clocks.iter().find(|&&clock| path == *clock || path.ends_with(&format!("::{clock}")));
            assert!(clock.is_none(), "{}: {path}", file.display());
        }
    }
}

/// A wall clock steps: it may not hold a circuit open, or end a cool-down.
#[test]
fn the_clock_on_the_wall_is_read_only_to_understand_dates_and_to_write_them() {
    let reads = |file: &PathBuf| tokens(&code(file)).windows(3).any(|three| three == ["time", "::", "wall"]);
    let readers: Vec<_> = sources().into_iter().filter(reads).collect();
    assert_eq!(readers, ["layers/classify/classifier.rs", "serve/openai/encode.rs"].map(Path::new));
}

#[test]
fn layers_box_no_future_and_have_no_async_block() {
    for file in sources().into_iter().filter(|file| file.starts_with("layers")) {
        let tokens = tokens(&code(&file));
        let boxed = tokens.windows(3).any(|three| three == ["Box", "::", "pin"]);
        let word = tokens.iter().find(|&token| ["async", "await", "BoxFuture"].contains(&&**token));
        assert!(!boxed && word.is_none(), "{}: {}", file.display(), word.map_or("Box::pin", |word| word));
    }
}

#[test]
fn nobody_calls_a_clone_that_was_not_made_ready() {
    let called = |text: &str| tokens(text).join(" ").contains(". clone ( ) . call (");
    assert!(called("self.inner\n    .clone()\n    .call(request)"));
    for file in sources() {
        assert!(!called(&code(&file)), "{}", file.display());
    }
}

/// What a file imports from above it, or from beside it.
fn forbidden(file: &Path, code: &str, names: &Names) -> Vec<String> {
    let module = module_of(file);
    if module.is_empty() {
        return Vec::new(); // lib.rs declares everything
    }
    let inside = imports(&tokens(code)).into_iter().filter_map(|import| names.resolve(&module, &import));
    let wrong = inside.filter(|path| !may_import(&module, path));
    wrong.map(|path| format!("{} imports crate::{}", file.display(), path.join("::"))).collect()
}

fn may_import(from: &[String], to: &[String]) -> bool {
    let at = |path: &[String], n: usize| path.get(n).cloned().unwrap_or_default();
    let (floor, onto) = (at(from, 0), at(to, 0));
    if onto == floor && floor != "layers" || WORDS.contains(&&*onto) {
        return true;
    }
    let layer = at(to, 1);
    match &*floor {
        "layers" => onto == "layers" && (at(from, 1).is_empty() || at(from, 1) == layer),
        "provider" => onto == "chat" || onto == "layers" && FOR_PROVIDERS.contains(&&*layer),
        "agent" | "serve" => onto == "chat",
        "stack" => ["layers", "chat", "provider", "agent"].contains(&&*onto),
        "adapters" | "sim" => ["layers", "chat", "provider", "agent", "serve", "stack"].contains(&&*onto),
        _ => false, // words, chat, and what has no floor yet
    }
}

/// What the names at the root of the crate stand for.
struct Names(BTreeMap<String, Vec<String>>);

impl Names {
    fn of(lib: &str) -> Self {
        let uses = imports(&tokens(&code_of(lib)));
        Self(uses.into_iter().map(|import| (import.name, import.path)).collect())
    }

    /// The path from the root of the crate; `None` where it leads out of the crate, or into a child.
    fn resolve(&self, module: &[String], import: &Import) -> Option<Vec<String>> {
        let mut here = [module, &import.within].concat();
        let mut path = import.path.as_slice();
        match &*path[0] {
            "crate" if module[0] == "bin" => here.truncate(1), // a binary is a crate of its own
            "crate" => here.clear(),
            "self" => {}
            "super" => {
                while path.first().is_some_and(|first| first == "super") {
                    here.pop();
                    path = &path[1..];
                }
                return Some(self.absolute([here.as_slice(), path].concat()));
            }
            _ => return None,
        }
        Some(self.absolute([here.as_slice(), &path[1..]].concat()))
    }

    fn absolute(&self, path: Vec<String>) -> Vec<String> {
        match path.first().and_then(|first| self.0.get(first)) {
            Some(target) => [target.as_slice(), &path[1..]].concat(),
            None => path,
        }
    }
}

/// A path that the code names, in a `use` or in place.
struct Import {
    path: Vec<String>,
    name: String,
    /// The modules, written in the same file, that it stands in.
    within: Vec<String>,
}

fn imports(tokens: &[String]) -> Vec<Import> {
    let (mut found, mut within, mut depth, mut at) = (Vec::new(), Vec::<(String, u32)>::new(), 0, 0);
    while at < tokens.len() {
        let before = at.checked_sub(1).map_or("", |before| &tokens[before]);
        let next = tokens.get(at + 1).map_or("", |next| next);
        match &*tokens[at] {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                within.retain(|(_, opened)| *opened <= depth);
            }
            "mod" if tokens.get(at + 2).is_some_and(|brace| brace == "{") => within.push((next.to_owned(), depth + 1)),
            word if is_word(word) && (before == "use" || next == "::" && before != "::") => {
                let modules: Vec<_> = within.iter().map(|(name, _)| name.clone()).collect();
                at = tree(tokens, at, &[], &modules, &mut found);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads one `a::{b, c::d as e}`, and tells where it ends.
fn tree(tokens: &[String], mut at: usize, prefix: &[String], within: &[String], found: &mut Vec<Import>) -> usize {
    let mut path = prefix.to_vec();
    let token = |at: usize| tokens.get(at).map_or("", |token| token);
    loop {
        match token(at) {
            "{" => {
                at += 1;
                while !["}", ""].contains(&token(at)) {
                    at = if token(at) == "," { at + 1 } else { tree(tokens, at, &path, within, found).max(at + 1) };
                }
                return at + 1;
            }
            "self" if !path.is_empty() => {}
            word if is_word(word) || word == "*" => path.push(word.to_owned()),
            _ => break, // a turbofish
        }
        at += 1;
        if token(at) != "::" {
            break;
        }
        at += 1;
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if token(at) == "as" {
        name = token(at + 1).to_owned();
        at += 2;
    }
    found.push(Import { path, name, within: within.to_vec() });
    at
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn is_declaration(item: &str) -> bool {
    match item.split_whitespace().find(|word| !word.starts_with("pub")) {
        Some("use") => true,
        Some("mod") => !item.contains('{'),
        _ => false,
    }
}

/// Words, `::`, and single marks.
fn tokens(code: &str) -> Vec<String> {
    let (mut tokens, mut rest) = (Vec::new(), code.trim_start());
    while let Some(first) = rest.chars().next() {
        let end = match first {
            c if c.is_alphanumeric() || c == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        tokens.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    tokens
}

fn code(file: &Path) -> String {
    code_of(&read(file))
}

/// The text without its tests, comments, strings and attributes.
fn code_of(text: &str) -> String {
    let text = without_tests(text);
    let (mut code, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let skipped = skipped(rest);
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

/// How much of the text, from here on, is no code.
fn skipped(text: &str) -> usize {
    let until = |open: usize, end: &str| text[open..].find(end).map_or(text.len(), |at| open + at + end.len());
    if text.starts_with("//") {
        return until(2, "\n");
    }
    if text.starts_with("/*") {
        return until(2, "*/");
    }
    if text.starts_with("r\"") || text.starts_with("r#") {
        let marks = text[1..].bytes().take_while(|&byte| byte == b'#').count();
        let is_string = text[1 + marks..].starts_with('"');
        return if is_string { until(2 + marks, &format!("\"{}", "#".repeat(marks))) } else { 0 };
    }
    if let Some(inner) = text.strip_prefix('"') {
        let mut escaped = false;
        let end = inner.find(|c| match (escaped, c) {
            (false, '"') => true,
            (escape, c) => {
                escaped = !escape && c == '\\';
                false
            }
        });
        return end.map_or(text.len(), |end| end + 2);
    }
    // A character, and not a lifetime.
    if let Some(inner) = text.strip_prefix('\'') {
        let mut chars = inner.chars();
        return match (chars.next(), chars.next()) {
            (Some('\\'), Some(_)) => 3 + inner[2..].find('\'').map_or(0, |at| at + 1),
            (Some(one), Some('\'')) => 2 + one.len_utf8(),
            _ => 0,
        };
    }
    if text.starts_with("#[") || text.starts_with("#![") { until(2, "]") } else { 0 }
}

fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod ").map_or(text, |at| &text[..at])
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn read(file: impl AsRef<Path>) -> String {
    let file = root().join(file);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Every file, by its path below `src`.
fn sources() -> Vec<PathBuf> {
    let (mut files, mut left) = (Vec::new(), vec![root()]);
    while let Some(folder) = left.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => left.push(path),
                false if path.extension().is_some_and(|extension| extension == "rs") => {
                    files.push(path.strip_prefix(root()).unwrap().to_owned());
                }
                false => {}
            }
        }
    }
    files.sort();
    assert!(files.len() > 20, "reads the wrong folder");
    files
}

/// The folder of each layer.
fn layers() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("layers")).unwrap().map(|entry| entry.unwrap().path());
    let folders = entries.filter(|path| path.is_dir());
    folders.map(|path| path.strip_prefix(root()).unwrap().to_owned()).collect()
}

fn module_of(file: &Path) -> Vec<String> {
    let mut module: Vec<_> = file.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if ["mod", "lib", "main"].contains(&&**module.last().unwrap()) {
        module.pop();
    }
    module
}
