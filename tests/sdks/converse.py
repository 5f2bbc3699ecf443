"""Plays one conversation as the SDK's own documentation does: each reply object goes into the history as it came.

Usage: converse.py openai|anthropic settings|thinking BASE_URL < conversation.json
"""

import json
import sys

import anthropic
import openai

API, MODE, BASE_URL = sys.argv[1:]
TALK = json.load(sys.stdin)
THINKING = MODE == "thinking"


def given(**options):
    return {name: value for name, value in options.items() if value is not None}


def converse_openai():
    client = openai.OpenAI(base_url=BASE_URL, api_key="sk-test", max_retries=0)

    def data_url(media):
        return f"data:{media['media_type']};base64,{media['data']}"

    def image(media):
        return {"type": "image_url", "image_url": {"url": data_url(media)}}

    def tool(described):
        strict = {"strict": True} if described["strict"] else {}
        function = {"name": described["name"], "description": described["description"]}
        return {"type": "function", "function": {**function, "parameters": described["schema"], **strict}}

    def ask(choice, parallel):
        settings = {} if THINKING else {
            "temperature": TALK["temperature"],
            "stop": TALK["stop"],
            "seed": TALK["seed"],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": TALK["format"]["name"], "schema": TALK["format"]["schema"], "strict": True},
            },
            **given(tool_choice=choice),
        }
        reply = client.chat.completions.create(
            model="gpt-4o",
            messages=messages,
            tools=[tool(described) for described in TALK["tools"]],
            parallel_tool_calls=parallel,
            **{"max_tokens" if THINKING else "max_completion_tokens": TALK["max_tokens"]},
            **settings,
        )
        messages.append(reply.choices[0].message)
        return reply.choices[0].message.tool_calls

    document = TALK["document"]
    messages = [
        {"role": "system", "content": TALK["system"]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": TALK["question"]},
                image(TALK["image"]),
                {"type": "file", "file": {"filename": document["name"], "file_data": data_url(document)}},
            ],
        },
    ]
    weather, plot = ask("required", True)
    messages.append({"role": "tool", "tool_call_id": weather.id, "content": TALK["failure"]})
    messages.append({"role": "tool", "tool_call_id": plot.id, "content": TALK["plot"]})
    messages.append({"role": "user", "content": [image(TALK["plot_image"])]})
    ask(None, True)
    messages.append({"role": "user", "content": TALK["next_question"]})
    (again,) = ask({"type": "function", "function": {"name": "weather"}}, False)
    messages.append({"role": "tool", "tool_call_id": again.id, "content": TALK["weather"]})
    ask("none", False)


def converse_anthropic():
    client = anthropic.Anthropic(base_url=BASE_URL.removesuffix("/v1"), api_key="sk-test", max_retries=0)

    def image(media):
        return {"type": "image", "source": {"type": "base64", **media}}

    def tool(described):
        strict = {"strict": True} if described["strict"] else {}
        names = {"name": described["name"], "description": described["description"]}
        return {**names, "input_schema": described["schema"], **strict}

    def ask(choice, choice_thinking=None):
        settings = {"thinking": TALK["thinking"], **given(tool_choice=choice_thinking)} if THINKING else {
            # No parameter of this SDK any more, and this is how it lets one through.
            "extra_body": {"temperature": TALK["temperature"]},
            "stop_sequences": TALK["stop"],
            "output_config": {"format": {"type": "json_schema", "schema": TALK["format"]["schema"]}},
            **given(tool_choice=choice),
        }
        reply = client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=TALK["max_tokens"],
            system=TALK["system"],
            messages=messages,
            tools=[tool(described) for described in TALK["tools"]],
            **settings,
        )
        messages.append({"role": "assistant", "content": reply.content})
        return [block for block in reply.content if block.type == "tool_use"]

    document = TALK["document"]
    pdf = {"type": "base64", "media_type": document["media_type"], "data": document["data"]}
    question = [
        {"type": "text", "text": TALK["question"]},
        image(TALK["image"]),
        {"type": "document", "source": pdf, "title": document["name"]},
    ]
    messages = [{"role": "user", "content": question}]
    weather, plot = ask({"type": "any"})
    plotted = [{"type": "text", "text": TALK["plot"]}, image(TALK["plot_image"])]
    results = [
        {"type": "tool_result", "tool_use_id": weather.id, "content": TALK["failure"], "is_error": True},
        {"type": "tool_result", "tool_use_id": plot.id, "content": plotted},
    ]
    messages.append({"role": "user", "content": results})
    ask(None)
    messages.append({"role": "user", "content": TALK["next_question"]})
    alone = {"type": "auto", "disable_parallel_tool_use": True}
    (again,) = ask({"type": "tool", "name": "weather", "disable_parallel_tool_use": True}, alone)
    results = [{"type": "tool_result", "tool_use_id": again.id, "content": TALK["weather"]}]
    messages.append({"role": "user", "content": results})
    ask({"type": "none"}, alone)


{"openai": converse_openai, "anthropic": converse_anthropic}[API]()
