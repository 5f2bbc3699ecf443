"""LangChain's models of both providers: only the base URL is another."""
import json
import sys
import time

import anthropic
import openai
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

given = json.load(sys.stdin)
ASK = [SystemMessage("Be brief."), HumanMessage("What colour is the sea?")]


def gpt(model, retries=0):
    return ChatOpenAI(model=model, base_url=given["base"] + "/v1", api_key="none", max_retries=retries, timeout=20, stream_usage=True)


def claude(model, retries=0):
    return ChatAnthropic(model=model, base_url=given["base"], api_key="none", max_retries=retries, timeout=20, max_tokens=100)


@tool
def weather(place: str) -> str:
    """The weather of a place."""
    return "sunny"


class Colour(BaseModel):
    colour: str


def said(message):
    return message.content if isinstance(message.content, str) else "".join(b.get("text", "") for b in message.content)


def plain():
    for model in [gpt, claude]:
        done = model("plain").invoke(ASK)
        assert said(done) == "Blue, mostly. It depends." and done.usage_metadata["output_tokens"] > 0, done


def streaming():
    for model in [gpt, claude]:
        whole = None
        for chunk in model("plain").stream(ASK):
            whole = chunk if whole is None else whole + chunk
        assert said(whole) == "Blue, mostly. It depends." and whole.usage_metadata["output_tokens"] > 0, whole


def tools():
    for model in [gpt, claude]:
        done = model("tools").bind_tools([weather]).invoke(ASK)
        assert [call["args"] for call in done.tool_calls] == [{"place": "Paris"}, {"place": "Rome"}], done
        results = [ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"]) for call in done.tool_calls]
        assert said(model("plain").bind_tools([weather]).invoke([*ASK, done, *results]))
        whole = None
        for chunk in model("tools").bind_tools([weather]).stream(ASK):
            whole = chunk if whole is None else whole + chunk
        assert [call["args"] for call in whole.tool_calls] == [{"place": "Paris"}, {"place": "Rome"}], whole


def structured():
    done = gpt("json").with_structured_output(Colour, method="json_schema").invoke(ASK)
    assert done == Colour(colour="blue"), done


def images():
    content = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "https://example.com/sea.png"}}]
    for model in [gpt, claude]:
        assert said(model("plain").invoke([HumanMessage(content)]))


def errors():
    for model, sdk in [(gpt, openai), (claude, anthropic)]:
        for name, kind in [("refused", sdk.BadRequestError), ("limited", sdk.RateLimitError), ("broken", sdk.InternalServerError)]:
            try:
                model(name).invoke(ASK)
            except kind:
                time.sleep(1.6 if name == "limited" else 0)  # until then the limit closes the account to every model
                continue
            raise AssertionError(f"{name}: nothing was raised")


def cut():
    for model, sdk in [(gpt, openai), (claude, anthropic)]:
        try:
            for _ in model("cut").stream(ASK):
                pass
        except sdk.APIError:
            continue
        raise AssertionError("a cut stream ended as if it were whole")


def retry_after():
    start = time.monotonic()
    assert said(gpt("plain", retries=2).invoke(ASK))
    assert time.monotonic() - start >= 1, "asked again too soon"


checks = [retry_after] if given["retry_after"] else [plain, streaming, tools, structured, images, errors, cut]
for check in checks:
    check()
    print(json.dumps(check.__name__))
