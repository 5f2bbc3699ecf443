//! Streams as servers write them, each beside the whole reply that the same answer would have been.
use super::*;
use seawall::Kind;
use std::{fs, path::Path};

struct Recorded {
    name: String,
    speaks: Speaks,
    stream: String,
    reply: String,
}

/// Of each dialect all, by the name of whoever wrote it.
fn recorded() -> Vec<Recorded> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/streams");
    let mut all = Vec::new();
    for (dialect, speaks) in [("openai", openai()), ("anthropic", anthropic())] {
        let mut files: Vec<_> =
            fs::read_dir(folder.join(dialect)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "sse")) {
            let read = |end: &str| fs::read_to_string(file.with_extension(end)).unwrap();
            let name = format!("{dialect}/{}", file.file_stem().unwrap().to_str().unwrap());
            all.push(Recorded { name, speaks: speaks.clone(), stream: read("sse"), reply: read("json") });
        }
    }
    assert!(all.len() >= 20, "{} streams", all.len());
    all
}

#[tokio::test]
async fn a_stream_is_put_together_to_the_answer_that_it_would_have_been_whole() {
    for Recorded { name, speaks, stream, reply } in recorded() {
        let read = speaks.whole(&stream).await;
        assert_eq!(read.answer, speaks.decoded(&reply), "{name}: {:#?}", read.items);
        assert_eq!(read.skipped, 0, "{name}");
        assert!(read.answer.usage().is_some_and(|usage| !usage.estimated), "{name}");
        let place = |is_it: fn(&Item) -> bool| read.items.iter().position(is_it);
        let last = |is_it: fn(&Item) -> bool| read.items.iter().rposition(is_it);
        let started = place(|item| matches!(item, Item::Started { .. }));
        assert_eq!(started, Some(0), "{name}: who answers is said first");
        assert_eq!(last(|item| matches!(item, Item::Started { .. })), Some(0), "{name}: and once");
        let finished = place(|item| matches!(item, Item::Finish(_)));
        let whole = last(|item| matches!(item, Item::ToolCall(_) | Item::Thought(_) | Item::Native(_)));
        assert!(finished.is_some() && whole < finished, "{name}: what is whole comes before the end");
    }
}

#[tokio::test]
async fn however_a_stream_is_cut_into_chunks_its_items_are_the_same() {
    for Recorded { name, speaks, stream, .. } in recorded() {
        let whole = speaks.whole(&stream).await;
        for size in 1..=stream.len() {
            let read = speaks.read(chunks(stream.as_bytes(), size)).await;
            assert!(read.error.is_none() && read.skipped == 0, "{name} in chunks of {size}: {:?}", read.error);
            assert_eq!(read.items, whole.items, "{name} in chunks of {size}");
        }
    }
}

#[tokio::test]
async fn whatever_ends_the_lines_of_a_stream_its_items_are_the_same() {
    for Recorded { name, speaks, stream, .. } in recorded() {
        let whole = speaks.whole(&stream).await;
        for end in ["\r\n", "\r"] {
            let other = stream.replace('\n', end);
            for size in [1, 2, 3, 5, 7, 64, other.len()] {
                let read = speaks.read(chunks(other.as_bytes(), size)).await;
                assert_eq!(read.items, whole.items, "{name} with {end:?} in chunks of {size}");
            }
        }
        let unspaced = stream.replace("data: ", "data:");
        assert_eq!(speaks.whole(&unspaced).await.items, whole.items, "{name}");
        assert_eq!(speaks.whole(stream.trim_end()).await.items, whole.items, "{name} without its last blank line");
    }
}

/// Where the answer is all there, by its protocol.
fn ending(stream: &str) -> usize {
    let mut at = 0;
    for line in stream.split_inclusive('\n') {
        at += line.len();
        let event: Value = serde_json::from_str(line.trim_end().trim_start_matches("data: ")).unwrap_or_default();
        let reason = &event["choices"][0]["finish_reason"];
        if event["type"] == "message_stop" || reason.as_str().is_some_and(|reason| !reason.is_empty()) {
            return at - 1;
        }
    }
    panic!("no end in {stream}")
}

#[tokio::test]
async fn a_recorded_stream_that_is_cut_before_its_ending_is_never_a_success() {
    for Recorded { name, speaks, stream, .. } in recorded() {
        let whole = speaks.whole(&stream).await;
        let end = ending(&stream);
        for cut in (0..stream.len()).filter(|cut| cut.abs_diff(end) < 100 || cut % 7 == 0) {
            let read = speaks.read(vec![Bytes::copy_from_slice(&stream.as_bytes()[..cut])]).await;
            let told = read.answer.message().text();
            assert!(whole.answer.message().text().starts_with(&*told), "{name} cut at {cut}: {told}");
            match read.error {
                Some(error) => {
                    assert_eq!(error.kind(), Kind::Transport, "{name} cut at {cut}");
                    assert!(cut < end, "{name} cut at {cut}, behind its ending");
                }
                None => assert!(cut >= end, "{name} cut at {cut}"),
            }
        }
    }
}

/// Those that speak neither dialect are for others.
#[tokio::test]
async fn the_streams_of_the_corpus_end_in_their_errors_however_they_are_cut() {
    let lines: Vec<_> = [crate::corpus::corpus(), crate::corpus::fixtures()].concat();
    let streams = lines.iter().map(|line| &line.0).filter(|line| line["surface"] == "stream");
    let mut count = 0;
    for line in streams {
        let (id, provider, body) = (&line["id"], line["provider"].as_str().unwrap(), line["body"].as_str().unwrap());
        let speaks = match provider {
            "anthropic" => Speaks::Anthropic(provider::Anthropic::without_key().name(provider.to_owned())),
            "bedrock" | "ollama" => continue,
            _ => Speaks::OpenAi(provider::OpenAi::without_key().name(provider.to_owned())),
        };
        count += 1;
        for size in (1..=body.len().max(1)).filter(|size| *size <= 64 || size % 97 == 0) {
            let error = speaks.read(chunks(body.as_bytes(), size)).await.error;
            let error = error.unwrap_or_else(|| panic!("{id} in chunks of {size} is a success"));
            assert_eq!(error.kind().as_str(), line["expect"]["kind"], "{id} in chunks of {size}");
            let wait = error.retry_after().map(|wait| u64::try_from(wait.as_millis()).unwrap());
            assert_eq!(wait, line["expect"]["retry_after_ms"].as_u64(), "{id} in chunks of {size}");
        }
    }
    println!("{count} streams");
    assert!(count >= 30, "{count} streams");
}
