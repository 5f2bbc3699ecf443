"""Anthropic's own SDK: only the base URL is another."""
import base64
import json
import sys
import time

import anthropic

given = json.load(sys.stdin)
client = anthropic.Anthropic(base_url=given["base"], api_key="none", max_retries=0, timeout=20)
TOOL = {
    "name": "weather",
    "description": "The weather of a place.",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    "cache_control": {"type": "ephemeral"},
}
ASK = {
    "max_tokens": 100,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [{"role": "user", "content": "What colour is the sea?"}],
}


def plain():
    done = client.messages.create(model="plain", **ASK)
    assert [b.text for b in done.content] == ["Blue, mostly. It depends."], done
    assert done.stop_reason == "end_turn" and done.type == "message" and done.role == "assistant" and done.id
    assert done.model == "plain" and done.usage.input_tokens > 0 and done.usage.output_tokens > 0


def streaming():
    events = list(client.messages.create(model="plain", stream=True, **ASK))
    kinds = [e.type for e in events]
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop" and kinds.count("message_delta") == 1, kinds
    assert "".join(e.delta.text for e in events if e.type == "content_block_delta") == "Blue, mostly. It depends."
    with client.messages.stream(model="plain", **ASK) as stream:
        assert "".join(stream.text_stream) == "Blue, mostly. It depends."
        final = stream.get_final_message()
    assert final.stop_reason == "end_turn" and final.usage.output_tokens > 0


def calls_of(message):
    calls = [b for b in message.content if b.type == "tool_use"]
    assert [(c.name, c.input) for c in calls] == [("weather", {"place": "Paris"}), ("weather", {"place": "Rome"})], calls
    assert message.stop_reason == "tool_use" and len({c.id for c in calls}) == 2
    return calls


def tools():
    done = client.messages.create(model="tools", tools=[TOOL], tool_choice={"type": "auto"}, **ASK)
    results = [{"type": "tool_result", "tool_use_id": c.id, "content": "sunny"} for c in calls_of(done)]
    results.append({"type": "text", "text": "And?", "cache_control": {"type": "ephemeral"}})
    messages = [*ASK["messages"], {"role": "assistant", "content": done.content}, {"role": "user", "content": results}]
    assert client.messages.create(model="plain", tools=[TOOL], **{**ASK, "messages": messages}).content
    with client.messages.stream(model="tools", tools=[TOOL], **ASK) as stream:
        calls_of(stream.get_final_message())


def thinking():
    done = client.messages.create(model="thinking", **ASK)
    assert [b.type for b in done.content] == ["thinking", "text"], done
    messages = [*ASK["messages"], {"role": "assistant", "content": done.content}, {"role": "user", "content": "Why?"}]
    assert client.messages.create(model="plain", **{**ASK, "messages": messages}).content
    with client.messages.stream(model="thinking", **ASK) as stream:
        assert [b.type for b in stream.get_final_message().content] == ["thinking", "text"]


def structured():
    schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"], "additionalProperties": False}
    done = client.messages.create(model="json", output_config={"format": {"type": "json_schema", "schema": schema}}, **ASK)
    assert json.loads(done.content[0].text) == {"colour": "blue"}


def images():
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
    for source in [
        {"type": "url", "url": "https://example.com/sea.png"},
        {"type": "base64", "media_type": "image/png", "data": data},
    ]:
        messages = [{"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": "What is it?"}]}]
        assert client.messages.create(model="plain", **{**ASK, "messages": messages}).content


def raises(kind, status, **asked):
    try:
        client.messages.create(**{"model": "plain", **ASK, **asked})
    except kind as error:
        assert error.status_code == status, error
        assert "sk-upstream" not in str(error) and "org-upstream" not in str(error), error
        return error
    raise AssertionError(f"{asked.get('model')}: nothing was raised")


def errors():
    error = raises(anthropic.BadRequestError, 400, messages=[{"role": "user", "content": 7}])
    assert "messages[0].content" in str(error), error
    raises(anthropic.BadRequestError, 400, model="refused")
    raises(anthropic.NotFoundError, 404, model="unknown")
    raises(anthropic.APIStatusError, 413, messages=[{"role": "user", "content": "x" * 3_000_000}])
    error = raises(anthropic.RateLimitError, 429, model="limited")
    assert error.response.headers["retry-after"] == "2", error.response.headers
    time.sleep(1.6)  # until then the limit closes the account to every model
    assert error.body["error"]["type"] == "rate_limit_error"
    raises(anthropic.InternalServerError, 502, model="unauthorized")
    raises(anthropic.InternalServerError, 502, model="broken")
    raises(anthropic.APIStatusError, 503, model="overloaded")
    raises(anthropic.APIStatusError, 504, model="silent")


def cut():
    said = ""
    try:
        with client.messages.stream(model="cut", **ASK) as stream:
            for text in stream.text_stream:
                said += text
    except anthropic.APIError:
        assert said
        return
    raise AssertionError("a cut stream ended as if it were whole")


def retry_after():
    start = time.monotonic()
    assert client.with_options(max_retries=2).messages.create(model="plain", **ASK).content
    assert time.monotonic() - start >= 1, "asked again too soon"


checks = [retry_after] if given["retry_after"] else [plain, streaming, tools, thinking, structured, images, errors, cut]
for check in checks:
    check()
    print(json.dumps(check.__name__))
