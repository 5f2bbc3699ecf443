use super::*;
use std::{fs, path::Path};

#[test]
fn every_name_of_the_table_is_found_in_any_case_and_by_way_of_a_front() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/models/models.toml");
    let text = fs::read_to_string(file).unwrap();
    let table = Models::parse(&text).unwrap();
    let names: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .collect();
    let models: Vec<_> = names.into_iter().filter(|name| name.contains('-') && !name.contains('_')).collect();
    assert!(models.len() > 100, "{}", models.len());
    for name in models {
        let row = table.get(name);
        assert!(row.is_known(), "{name}");
        for spelled in [name.to_uppercase(), format!("a/b/{name}"), format!("{name}:free"), format!("{name}:nitro")] {
            assert_eq!(table.get(&spelled), row, "{spelled}");
        }
        assert_eq!(Models::default().get(name), row, "{name}");
    }
}

#[test]
fn a_snapshot_is_the_same_model_and_nothing_else_is() {
    let models =
        Models::parse("[[model]]\nnames = [\"sea-5\", \"sea-5-2024-05-13\", \"shore:8b\"]\nreasons = true").unwrap();
    for name in [
        "sea-5",
        "Sea-5",
        "front/sea-5",
        "front/sea-5:free",
        "sea-5-latest",
        "sea-5-20250929",
        "sea-5@20250929",
        "sea-5-2024-08-06",
        "sea-5-2024-05-13",
        "front/sea-5-2024-08-06:floor",
        "shore:8b",
    ] {
        assert!(models.get(name).is_known(), "{name}");
    }
    for name in [
        "",
        "sea",
        "sea-5.9",
        "sea-5-mini",
        "sea-5-20251301",
        "sea-5-20250132",
        "sea-5-19990101",
        "sea-5-2025092",
        "sea-5-2024-8-6",
        "sea-5-2024-08-06-2024-08-06",
        "sea-5:thinking",
        "sea-5:8b",
        "sea-5/",
        "sea-5/other",
        "my-sea-5",
        "shore",
        "shore:70b",
        "-latest",
        "@20250929",
        "-2024-08-06",
        ":free",
        "sea-5-²0250929",
        "é20250929",
    ] {
        assert!(!models.get(name).is_known(), "{name}");
    }
}

#[test]
fn a_snapshot_may_have_a_row_of_its_own() {
    let models = Models::default();
    assert_eq!(models.get("gpt-4o-2024-05-13").max_output(), Some(4_096));
    assert_eq!(models.get("gpt-4o-2024-08-06").max_output(), Some(16_384));
    assert_eq!(models.get("gpt-5-chat-latest"), models.get("gpt-5-chat"));
    assert_ne!(models.get("gpt-5-chat-latest"), models.get("gpt-5"));
}

#[test]
fn a_row_tells_what_it_says() {
    let models = Models::parse(
        r#"
        [[model]]
        names = ["sea-5"]
        context_window = 200_000
        max_output = 64_000
        refuses = ["seed", "prefill"]
        refuses_while_reasoning = ["top_p"]
        reasons = true
        not_both = [["temperature", "top_k"]]
        developer = true
        "#,
    );
    let sea = models.unwrap().get("sea-5");
    assert_eq!((sea.context_window(), sea.max_output()), (Some(200_000), Some(64_000)));
    assert!(sea.refuses("seed") && sea.refuses("prefill") && !sea.refuses("top_p"));
    assert!(sea.refuses_while_reasoning("top_p") && sea.reasons() && sea.wants_developer());
    assert_eq!(sea.not_both().collect::<Vec<_>>(), [("temperature", "top_k")]);
    assert_eq!(Models::none().get("o3"), seawall::Capabilities::default());
    assert_eq!(Models::parse("").unwrap().get("o3"), seawall::Capabilities::default());
}

#[test]
fn a_table_that_makes_no_sense_says_which_row_and_which_field() {
    let row = |rest: &str| format!("[[model]]\nnames = [\"good\"]\n\n[[model]]\nnames = [\"sea-5\"]\n{rest}\n");
    for (text, told) in [
        ("[[model]]\nnames = [\"a\"\nmax", "models: line 3 is no TOML: "),
        ("names = [\"a\"]", "models: `names` is none of a table's parts: begin each row with `[[model]]`"),
        ("[[models]]\nnames = [\"a\"]", "models: `models` is none of a table's parts"),
        ("[model]\nnames = [\"a\"]", "models: `model` is none of a table's parts"),
        ("[[model]]\nmax_output = 4", "models: row 1: `names` is missing, or empty: name the model"),
        ("[[model]]\nnames = []", "models: row 1: `names` is missing"),
        ("[[model]]\nnames = \"a\"", "models: row 1: `names` must be a list"),
        (
            "[[model]]\nnames = [\"o/sea\"]",
            "models: row 1 (o/sea): `names` has `o/sea`: write what is behind the last `/`",
        ),
        ("[[model]]\nnames = [\"a b\"]", "models: row 1 (a b): `names` has \"a b\": a name has 1 to 256 letters"),
        ("[[model]]\nnames = [\"a\", \"A\"]", "models: `a` is named twice: keep one"),
        (&row("max_outputs = 4"), "models: row 2 (sea-5): `max_outputs` is no field of a row: there are `names`, "),
        (&row("max_output = 0"), "models: row 2 (sea-5): `max_output` must be a whole number of tokens above 0"),
        (&row("max_output = 4294967296"), "models: row 2 (sea-5): `max_output` must be"),
        (&row("context_window = \"200k\""), "models: row 2 (sea-5): `context_window` must be a whole number"),
        (&row("context_window = 4\nmax_output = 5"), "models: row 2 (sea-5): `max_output` is above `context_window`"),
        (&row("refuses = \"seed\""), "models: row 2 (sea-5): `refuses` must be a list"),
        (&row("refuses = [7]"), "models: row 2 (sea-5): `refuses` must hold texts"),
        (&row("refuses = [\"top p\"]"), "models: row 2 (sea-5): `refuses` has \"top p\": a setting's name has letters"),
        (&row("refuses = [\"tools\"]"), "models: row 2 (sea-5): `refuses` has `tools`, which is never left out"),
        (&row("not_both = [\"top_p\"]"), "models: row 2 (sea-5): `not_both` must hold pairs of two settings"),
        (&row("not_both = [[\"top_p\", \"top_p\"]]"), "models: row 2 (sea-5): `not_both` must hold pairs"),
        (&row("developer = 1"), "models: row 2 (sea-5): `developer` must be `true` or `false`"),
    ] {
        let error = Models::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(told), "{text}\n{error}");
    }
}

#[test]
fn any_text_is_read_or_refused() {
    use proptest::prelude::*;
    proptest!(|(text in ".{0,200}", model in ".{0,300}")| {
        let _ = Models::parse(&text);
        let _ = Models::default().get(&model);
    });
}
