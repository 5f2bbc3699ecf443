"""OpenAI's own SDK: only the base URL is another."""
import base64
import json
import sys
import time

import openai
from pydantic import BaseModel

given = json.load(sys.stdin)
client = openai.OpenAI(base_url=given["base"] + "/v1", api_key="none", max_retries=0, timeout=20)
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a place.",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
}
ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What colour is the sea?"}]


def plain():
    done = client.chat.completions.create(model="plain", messages=ASK, user="u-1", max_completion_tokens=50)
    choice = done.choices[0]
    assert choice.message.content == "Blue, mostly. It depends.", done
    assert choice.finish_reason == "stop" and done.object == "chat.completion" and done.id and done.created > 0
    assert done.model == "plain" and done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens > 0


def streaming():
    chunks = list(client.chat.completions.create(model="plain", messages=ASK, stream=True, stream_options={"include_usage": True}))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "Blue, mostly. It depends."
    assert chunks[-1].usage.completion_tokens > 0 and not chunks[-1].choices
    assert len({c.id for c in chunks}) == 1
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    chunks = list(client.chat.completions.create(model="plain", messages=ASK, stream=True))
    assert all(c.choices and not c.usage for c in chunks), "usage that nobody asked for"


def helper():
    with client.chat.completions.stream(model="plain", messages=ASK) as stream:
        kinds = {event.type for event in stream}
        assert stream.get_final_completion().choices[0].message.content == "Blue, mostly. It depends."
    assert "content.delta" in kinds and "content.done" in kinds, kinds


def calls_of(message):
    calls = [(c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls]
    assert calls == [("weather", {"place": "Paris"}), ("weather", {"place": "Rome"})], calls
    assert len({c.id for c in message.tool_calls}) == 2


def tools():
    done = client.chat.completions.create(model="tools", messages=ASK, tools=[TOOL], tool_choice="auto", parallel_tool_calls=True)
    assert done.choices[0].finish_reason == "tool_calls"
    message = done.choices[0].message
    calls_of(message)
    results = [{"role": "tool", "tool_call_id": c.id, "content": "sunny"} for c in message.tool_calls]
    done = client.chat.completions.create(model="plain", messages=[*ASK, message, *results], tools=[TOOL])
    assert done.choices[0].message.content


def streamed_tools():
    with client.chat.completions.stream(model="tools", messages=ASK, tools=[TOOL]) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    calls_of(final.choices[0].message)
    assert final.choices[0].finish_reason == "tool_calls"


def structured():
    class Colour(BaseModel):
        colour: str

    done = client.chat.completions.parse(model="json", messages=ASK, response_format=Colour)
    assert done.choices[0].message.parsed == Colour(colour="blue")


def images():
    data = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    for url in ["https://example.com/sea.png", data]:
        content = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url, "detail": "low"}}]
        assert client.chat.completions.create(model="plain", messages=[{"role": "user", "content": content}]).choices[0].message.content


def raises(kind, status, **asked):
    try:
        client.chat.completions.create(**{"model": "plain", "messages": ASK, **asked})
    except kind as error:
        assert error.status_code == status, error
        assert "sk-upstream" not in str(error) and "org-upstream" not in str(error), error
        return error
    raise AssertionError(f"{asked.get('model')}: nothing was raised")


def errors():
    error = raises(openai.BadRequestError, 400, messages=[{"role": "user", "content": 7}])
    assert error.param == "messages[0].content", error.body
    raises(openai.BadRequestError, 400, model="refused")
    raises(openai.NotFoundError, 404, model="unknown")
    raises(openai.APIStatusError, 413, messages=[{"role": "user", "content": "x" * 3_000_000}])
    error = raises(openai.RateLimitError, 429, model="limited")
    assert error.response.headers["retry-after"] == "2", error.response.headers
    time.sleep(1.6)  # until then the limit closes the account to every model
    raises(openai.InternalServerError, 502, model="unauthorized")
    raises(openai.InternalServerError, 502, model="broken")
    raises(openai.InternalServerError, 503, model="overloaded")
    raises(openai.InternalServerError, 504, model="silent")


def cut():
    said = ""
    try:
        for chunk in client.chat.completions.create(model="cut", messages=ASK, stream=True):
            said += chunk.choices[0].delta.content or ""
    except openai.APIError:
        assert said
        return
    raise AssertionError("a cut stream ended as if it were whole")


def retry_after():
    start = time.monotonic()
    patient = client.with_options(max_retries=2)
    assert patient.chat.completions.create(model="plain", messages=ASK).choices[0].message.content
    assert time.monotonic() - start >= 1, "asked again too soon"


checks = [retry_after] if given["retry_after"] else [plain, streaming, helper, tools, streamed_tools, structured, images, errors, cut]
for check in checks:
    check()
    print(json.dumps(check.__name__))
