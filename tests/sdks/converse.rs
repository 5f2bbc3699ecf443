//! One conversation, played by an SDK and by us: what do the two send?
use crate::{
    cases::Api,
    child::{self, Sdk},
    differences::{self, Difference},
};
use seawall::{
    Error,
    chat::{Media, Message, Part, Reply, Request, ResponseFormat, Role, Tool, ToolChoice, ToolResult},
    provider::{Anthropic, OpenAi},
    sim::{Answer, InProcess, Log, MockProvider, Script},
};
use serde_json::Value;
use std::fs;
use tokio::runtime::Runtime;
use tower::{Service, ServiceExt};

/// A form, and whether the model thinks. Where it does, Anthropic takes neither a temperature nor a forced call, and OpenAI's
/// form is that of DeepSeek.
#[derive(Clone, Copy, Debug)]
pub struct Talk {
    pub api: Api,
    pub thinking: bool,
}

pub const TALKS: [Talk; 4] = [
    Talk { api: Api::OpenAi, thinking: false },
    Talk { api: Api::OpenAi, thinking: true },
    Talk { api: Api::Anthropic, thinking: false },
    Talk { api: Api::Anthropic, thinking: true },
];

/// Requests of a conversation: question, results, another question, its result.
const TURNS: usize = 4;

impl Talk {
    fn mode(self) -> &'static str {
        if self.thinking { "thinking" } else { "settings" }
    }

    fn script(self) -> Script {
        let answer = Answer::default()
            .tool_call("weather", r#"{"days": 3, "city": "Ghent", "wind": 1.50}"#)
            .tool_call("plot", r#"{"numbers": [1, 2.5]}"#)
            .text(r#"{"answer": "It rains."}"#);
        let answer = if self.thinking { answer.reasoning("I should look.") } else { answer };
        Script::seeded(7).answer(answer).keep_bodies(1 << 20)
    }
}

pub fn same_meaning(runtime: &Runtime, sdk: &dyn Sdk, talk: Talk) {
    let provider = runtime.block_on(MockProvider::start(talk.script())).unwrap();
    let text = fs::read_to_string(child::folder().join("conversation.json")).unwrap();
    let words: Value = serde_json::from_str(&text).unwrap();
    let mut command = sdk.command("converse");
    command.args([talk.api.name(), talk.mode(), &provider.base_url()]);
    child::lines(command, &words);
    let theirs = bodies(runtime.block_on(provider.shutdown()));
    let provider = InProcess::new(talk.script()).unwrap();
    runtime.block_on(ours(talk, &words, provider.clone()));
    let ours = bodies(provider.log());
    assert_eq!((theirs.len(), ours.len()), (TURNS, TURNS));
    let found: Vec<Difference> =
        theirs.iter().zip(&ours).flat_map(|(theirs, ours)| differences::between(theirs, ours)).collect();
    differences::expect(talk, sdk.name(), &found);
}

fn bodies(log: Log) -> Vec<Value> {
    log.records.into_iter().map(|record| serde_json::from_slice(&record.body.unwrap()).unwrap()).collect()
}

async fn ours(talk: Talk, words: &Value, provider: InProcess) {
    match (talk.api, talk.thinking) {
        (Api::OpenAi, false) => converse(OpenAi::without_key().over(provider), talk, "gpt-4o", words).await,
        (Api::OpenAi, true) => {
            let deepseek = OpenAi::without_key().name("deepseek").base_url("https://api.deepseek.com").send_reasoning();
            converse(deepseek.over(provider), talk, "gpt-4o", words).await;
        }
        (Api::Anthropic, _) => {
            converse(Anthropic::without_key().over(provider), talk, "claude-sonnet-4-5", words).await;
        }
    }
}

/// The same as converse.py and converse.cjs.
async fn converse<S>(client: S, talk: Talk, model: &str, words: &Value)
where
    S: Service<Request, Response = Reply, Error = Error> + Clone,
{
    let text = |name: &str| words[name].as_str().unwrap();
    let question = Message::user(text("question"))
        .part(Part::Image(media(&words["image"])))
        .part(Part::Document(media(&words["document"]).name(words["document"]["name"].as_str().unwrap())));
    let request = settings(talk, Request::new(model), words).message(question);
    let ask = async |request: &Request, choice: ToolChoice| {
        let choice = if talk.thinking { ToolChoice::Auto } else { choice };
        client.clone().oneshot(request.clone().tool_choice(choice)).await.unwrap().message().clone()
    };

    let called = ask(&request, ToolChoice::Required).await;
    let ids: Vec<_> = called.tool_calls().map(|call| call.id().to_owned()).collect();
    let failed = ToolResult::new(&*ids[0], text("failure")).error();
    let plotted = ToolResult::new(&*ids[1], text("plot")).image(media(&words["plot_image"]));
    let results = Message::new(Role::Tool, [failed, plotted].map(Part::ToolResult));
    let request = request.message(called).message(results);
    let answer = ask(&request, ToolChoice::Auto).await;
    let request = request.message(answer).user(text("next_question")).parallel_tool_calls(false);
    let called = ask(&request, ToolChoice::Named("weather".into())).await;
    let id = called.tool_calls().next().unwrap().id().to_owned();
    let request = request.message(called).tool_result(id, text("weather"));
    ask(&request, ToolChoice::Never).await;
}

fn settings(talk: Talk, request: Request, words: &Value) -> Request {
    let texts = |name: &str| words[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    let request = words["tools"].as_array().unwrap().iter().fold(request, |request, told| {
        let of = |name: &str| told[name].as_str().unwrap();
        let tool = Tool::new(of("name"), of("description")).parameters(told["schema"].clone());
        request.tool(if told["strict"] == true { tool.strict() } else { tool })
    });
    let request = request
        .system(words["system"].as_str().unwrap())
        .max_tokens(u32::try_from(words["max_tokens"].as_u64().unwrap()).unwrap())
        .parallel_tool_calls(true);
    if talk.thinking {
        return request.extra("anthropic", "thinking", words["thinking"].clone());
    }
    let format =
        ResponseFormat::json_schema(words["format"]["name"].as_str().unwrap(), words["format"]["schema"].clone());
    let request = texts("stop").fold(request, Request::stop);
    request
        .temperature(words["temperature"].as_f64().unwrap())
        .seed(words["seed"].as_i64().unwrap())
        .response_format(format.strict())
}

fn media(told: &Value) -> Media {
    Media::base64(told["media_type"].as_str().unwrap(), told["data"].as_str().unwrap())
}
