//! What a script lets the provider say, as a client of either form reads it.
use crate::{ask, guarded};
use seawall::{
    Error,
    chat::{self, FinishReason, Part, Reply, Tool},
    provider::{Anthropic, Client, OpenAi},
    sim::{Answer, Fault, InProcess, Script, When},
};
use tower::Service;

fn provider(answer: Answer) -> InProcess {
    InProcess::new(Script::seeded(7).answer(answer).keep_bodies(1 << 20)).unwrap()
}

fn both(answer: &Answer) -> (Client<OpenAi, InProcess>, Client<Anthropic, InProcess>) {
    (OpenAi::without_key().over(provider(answer.clone())), Anthropic::without_key().over(provider(answer.clone())))
}

async fn each(answer: &Answer, request: &chat::Request) -> [Reply; 2] {
    let (openai, anthropic) = both(answer);
    [told(&openai, request).await, told(&anthropic, request).await]
}

async fn told<S>(client: &S, request: &chat::Request) -> Reply
where
    S: Service<chat::Request, Response = Reply, Error = Error> + Clone,
{
    ask(client, request.clone()).await.unwrap()
}

fn question() -> chat::Request {
    chat::Request::new("m")
        .tool(Tool::new("add", "Adds."))
        .tool(Tool::new("now", "Tells the time."))
        .user("What is it?")
}

fn calls() -> Answer {
    Answer::default().tool_call("add", r#"{"b": 1.10,"a":4}"#).tool_call("now", "").text("It is five.")
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_with_calls_and_their_results_with_text() {
    guarded(async {
        let (openai, anthropic) = both(&calls());
        converse(&openai, ["call_", "call_"], [r#"{"b": 1.10,"a":4}"#, ""]).await;
        converse(&anthropic, ["toolu_01", "toolu_01"], [r#"{"b": 1.10,"a":4}"#, "{}"]).await;
    })
    .await;
}

async fn converse<S>(client: &S, fronts: [&str; 2], arguments: [&str; 2])
where
    S: Service<chat::Request, Response = Reply, Error = Error> + Clone,
{
    let mut request = question();
    let asked = told(client, &request).await;
    assert_eq!((asked.finish_reason(), asked.text().as_ref()), (Some(&FinishReason::ToolCalls), ""));
    let calls: Vec<_> = asked.tool_calls().cloned().collect();
    assert!(calls.iter().map(|call| (call.name(), call.arguments())).eq(["add", "now"].into_iter().zip(arguments)));
    assert!(calls.iter().zip(fronts).all(|(call, front)| call.id().starts_with(front)));
    assert_ne!(calls[0].id(), calls[1].id());
    request = request.message(asked.message().clone());
    for call in &calls {
        request = request.tool_result(call.id(), "5");
    }
    // Also with something said behind the results, as images of tools are.
    let answers = [told(client, &request).await, told(client, &request.clone().user("Look at this too.")).await];
    for answer in &answers {
        assert_eq!((answer.finish_reason(), answer.text().as_ref()), (Some(&FinishReason::Stop), "It is five."));
    }
    let again = told(client, &request.message(answers[0].message().clone()).user("And now?")).await;
    assert_eq!(again.tool_calls().count(), 2);
    assert!(again.tool_calls().all(|call| calls.iter().all(|old| old.id() != call.id())), "ids are each request's own");
}

#[tokio::test(start_paused = true)]
async fn tools_are_asked_for_only_where_the_request_has_them_and_lets_it() {
    guarded(async {
        let calls = calls();
        for request in [chat::Request::new("m").user("?"), question().tool_choice(chat::ToolChoice::Never)] {
            for reply in each(&calls, &request).await {
                assert_eq!((reply.tool_calls().count(), reply.text().as_ref()), (0, "It is five."));
            }
        }
        for reply in each(&calls, &question().parallel_tool_calls(false)).await {
            assert_eq!(reply.tool_calls().map(|call| call.name()).collect::<Vec<_>>(), ["add"]);
        }
        // Each call is six and one tokens: the second goes beyond the cap.
        for reply in each(&calls, &question().max_tokens(5)).await {
            assert_eq!((reply.tool_calls().count(), reply.finish_reason()), (1, Some(&FinishReason::Length)));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn arguments_that_are_no_json_go_out_as_each_form_can() {
    guarded(async {
        let [openai, anthropic] = each(&Answer::default().tool_call("add", r#"{"a":"#), &question()).await;
        assert_eq!(openai.tool_calls().next().unwrap().arguments(), r#"{"a":"#);
        assert_eq!(anthropic.tool_calls().next().unwrap().arguments(), r#"{"INVALID_JSON":"{\"a\":"}"#);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn thoughts_come_first_are_signed_and_count_against_the_cap() {
    guarded(async {
        let answer = calls().reasoning("I should add.");
        for reply in each(&answer, &question()).await {
            let parts = reply.message().parts();
            assert!(matches!(&parts[0], Part::Reasoning(thoughts) if thoughts.text() == "I should add."), "{parts:?}");
            assert_eq!((parts.len(), reply.usage().unwrap().reasoning), (3, 4));
        }
        let [_, anthropic] = each(&answer, &question()).await;
        let native = anthropic.message().reasoning().next().unwrap().native().json().get();
        assert!(native.contains(r#""signature":""#), "{native}");
        for reply in each(&answer, &question().max_tokens(2)).await {
            assert_eq!(reply.message().reasoning().next().unwrap().text(), "I should");
            assert_eq!((reply.message().parts().len(), reply.finish_reason()), (1, Some(&FinishReason::Length)));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_as_each_provider_does() {
    guarded(async {
        let [openai, anthropic] = each(&Answer::default().refusal("I will not."), &question()).await;
        assert_eq!((openai.message().refusal(), openai.text().as_ref()), (Some("I will not."), ""));
        assert_eq!(openai.finish_reason(), Some(&FinishReason::Stop));
        assert_eq!(
            (anthropic.message().parts(), anthropic.finish_reason()),
            (&[][..], Some(&FinishReason::ContentFilter))
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn text_ends_where_a_stop_text_begins() {
    guarded(async {
        let answer = Answer::default().text("One, two; three.");
        for reply in each(&answer, &question().stop("three").stop(",")).await {
            assert_eq!((reply.text().as_ref(), reply.finish_reason()), ("One", Some(&FinishReason::Stop)));
            assert_eq!(reply.usage().unwrap().output, 1);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_echo_says_the_last_text_of_the_users() {
    guarded(async {
        let asked = chat::Request::new("m").system("Be brief.").user("first").message(chat::Message::assistant("Yes?"));
        for reply in each(&Answer::default().echo(), &asked.clone().user("second \"one\"")).await {
            assert_eq!(reply.text(), "second \"one\"");
        }
        for reply in each(&calls_echoed(), &question()).await {
            let asked = question().message(reply.message().clone());
            let results = reply.tool_calls().fold(asked, |asked, call| asked.tool_result(call.id(), "5"));
            for reply in each(&calls_echoed(), &results).await {
                assert_eq!(reply.text(), "What is it?", "results of tools are no text of the user's");
            }
        }
    })
    .await;
    assert!(InProcess::new(Script::seeded(1).answer(Answer::default().echo().text("both"))).is_err());
}

fn calls_echoed() -> Answer {
    Answer::default().tool_call("now", "{}").echo()
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_a_part_of_the_prompt() {
    guarded(async {
        let usage = |reply: &Reply| reply.usage().unwrap();
        let plain = each(&Answer::default(), &question()).await;
        let cached = each(&Answer::default().cached(10).cache_written(u32::MAX), &question()).await;
        for (plain, cached) in plain.iter().map(usage).zip(cached.iter().map(usage)) {
            assert_eq!((plain.cached, plain.cache_write), (0, 0));
            assert_eq!((cached.input, cached.cached, cached.cache_write), (plain.input, 10, plain.input - 10));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_log_keeps_bodies_only_when_asked_and_within_its_bounds() {
    guarded(async {
        let bodies = async |bytes: usize| {
            let script = Script::seeded(1).keep_bodies(bytes).fault(When::nth(1), Fault::status(500));
            let provider = InProcess::new(script).unwrap();
            let client = OpenAi::without_key().over(provider.clone());
            for text in ["a question that is rather long", "short", "short"] {
                ask(&client, chat::Request::new("m").user(text)).await.ok();
            }
            let records = provider.log().records;
            records
                .into_iter()
                .map(|record| record.body.map(|body| body.len() as u64) == Some(record.body_len))
                .collect()
        };
        let kept: [Vec<bool>; 3] = [bodies(0).await, bodies(70).await, bodies(1000).await];
        assert_eq!(kept, [[false; 3].to_vec(), vec![false, true, false], [true; 3].to_vec()]);
    })
    .await;
}
