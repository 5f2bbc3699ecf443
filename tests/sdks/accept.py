"""Receives every reply that the test serves, with both SDKs, and tells on one line each what came of it.

The SDKs build their objects without looking, so that each body is validated here by the SDK's own models: strictly, and
with every field known.
"""

import json
import sys

import anthropic
import openai
import pydantic
from anthropic.lib.streaming import MessageStream
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.shared import ErrorResponse
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.shared import ErrorObject


class OpenAIErrorResponse(pydantic.BaseModel):
    error: ErrorObject


def ask_openai(case):
    client = openai.OpenAI(base_url=case["base_url"], api_key="sk-test", max_retries=0)
    if case.get("path"):
        return client.get(case["path"], cast_to=object)
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
    options = {"max_completion_tokens": case["max_tokens"], "stop": case["stop"]}
    if case["stream"]:
        options |= {"stream": True, "stream_options": {"include_usage": True}}
    return client.chat.completions.with_raw_response.create(
        model=case["model"],
        messages=[{"role": "user", "content": "hello"}],
        tools=[tool],
        **{name: value for name, value in options.items() if value},
    )


def ask_anthropic(case):
    client = anthropic.Anthropic(base_url=case["base_url"].removesuffix("/v1"), api_key="sk-test", max_retries=0)
    if case.get("path"):
        return client.get("/v1" + case["path"], cast_to=object)
    options = {"stop_sequences": case["stop"], "stream": case["stream"]}
    return client.messages.with_raw_response.create(
        model=case["model"],
        max_tokens=case["max_tokens"] or 1024,
        messages=[{"role": "user", "content": "hello"}],
        tools=[{"name": "add", "input_schema": {"type": "object", "properties": {}}}],
        **{name: value for name, value in options.items() if value},
    )


def openai_joined(stream):
    state = ChatCompletionStreamState()
    for chunk in stream:
        state.handle_chunk(chunk)
    # The final one raises where the cap ended it.
    return state.current_completion_snapshot


def anthropic_joined(stream):
    return MessageStream(stream, anthropic.NOT_GIVEN).get_final_message()


def openai_seen(reply):
    choice = reply.choices[0]
    calls = [[call.function.name, call.function.arguments] for call in choice.message.tool_calls or []]
    return {
        "finish": choice.finish_reason,
        "text": choice.message.content,
        "refusal": choice.message.refusal,
        "reasoning": getattr(choice.message, "reasoning_content", None),
        "calls": calls,
        "tokens": [reply.usage.prompt_tokens_details.cached_tokens, reply.usage.completion_tokens_details.reasoning_tokens],
    }


def anthropic_seen(reply):
    def of(kind):
        return [block for block in reply.content if block.type == kind]

    return {
        "finish": reply.stop_reason,
        "text": "".join(block.text for block in of("text")) or None,
        "refusal": reply.stop_details.explanation if reply.stop_details else None,
        "reasoning": "".join(block.thinking for block in of("thinking") if block.signature) or None,
        "calls": [[block.name, json.dumps(block.input, separators=(",", ":"), ensure_ascii=False)] for block in of("tool_use")],
        "tokens": [reply.usage.cache_read_input_tokens, reply.usage.output_tokens_details.thinking_tokens],
    }


APIS = {
    "openai": (openai, ask_openai, openai_joined, openai_seen, ChatCompletion, ChatCompletionChunk, OpenAIErrorResponse),
    "anthropic": (anthropic, ask_anthropic, anthropic_joined, anthropic_seen, Message, RawMessageStreamEvent, ErrorResponse),
}


def problems(model, body):
    """What the SDK's own model finds wrong with a body."""
    try:
        return list(unknown(pydantic.TypeAdapter(model).validate_json(body, strict=True), getattr(model, "__name__", "event")))
    except pydantic.ValidationError as error:
        places = (".".join(map(str, problem["loc"])) + ": " + problem["type"] for problem in error.errors())
        return sorted(set(places))


def problems_of_events(model, error_model, body):
    found = []
    for event in body.split("\n\n"):
        data = "\n".join(line.removeprefix("data: ") for line in event.split("\n") if line.startswith("data: "))
        # What the SDKs know without a model.
        if data not in ("", "[DONE]", '{"type":"ping"}'):
            found += problems(error_model if "error" in json.loads(data) else model, data)
    return sorted(set(found))


def unknown(value, place):
    if isinstance(value, pydantic.BaseModel):
        for name in value.model_extra or {}:
            yield f"{place}.{name}: unknown"
        for name in type(value).model_fields:
            yield from unknown(getattr(value, name), f"{place}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown(item, f"{place}.{index}")


def told(case):
    sdk, ask, joined, seen, model, event_model, error_model = APIS[case["api"]]
    try:
        for _ in range(case["requests"]):
            raw = ask(case)
    except sdk.APIStatusError as error:
        return {
            "error": type(error).__name__,
            "status": error.status_code,
            "type": error.type,
            "code": getattr(error, "code", None),
            "request_id": error.request_id,
            "retry_after": error.response.headers.get("retry-after"),
            "problems": problems(error_model, error.response.text),
        }
    if not case["stream"]:
        body = raw.http_response.text
        return {"seen": seen(raw.parse()), "problems": problems(model, body)}
    # Read ahead of the SDK, which then reads the same.
    raw.http_response.read()
    found = problems_of_events(event_model, error_model, raw.http_response.text)
    try:
        return {"seen": seen(joined(raw.parse())), "problems": found}
    except sdk.APIError as error:
        return {"stream_error": error.type, "problems": found}


for case in json.load(sys.stdin):
    print(json.dumps({"case": case["name"], **told(case)}), flush=True)
