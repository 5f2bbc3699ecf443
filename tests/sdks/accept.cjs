// Receives every reply that the test serves, with both SDKs, and tells on one line each what came of it.
'use strict';
const { createRequire } = require('node:module');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const sdk = createRequire(join(process.env.SEAWALL_NODE_MODULES, 'seawall.js'));
const { OpenAI } = sdk('openai');
const { Anthropic } = sdk('@anthropic-ai/sdk');

function given(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value && value.length !== 0));
}

function askOpenAI(it) {
  const client = new OpenAI({ baseURL: it.base_url, apiKey: 'sk-test', maxRetries: 0 });
  if (it.path) return client.get(it.path);
  const request = {
    model: it.model,
    messages: [{ role: 'user', content: 'hello' }],
    tools: [{ type: 'function', function: { name: 'add', parameters: { type: 'object', properties: {} } } }],
    ...given({ max_completion_tokens: it.max_tokens, stop: it.stop }),
  };
  return it.stream ? joinedOpenAI(client, request) : client.chat.completions.create(request);
}

async function joinedOpenAI(client, request) {
  const thoughts = [];
  let first = null;
  const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
  stream.on('chunk', ({ choices: [choice] }) => {
    thoughts.push(choice?.delta.reasoning_content ?? '');
    first ??= choice?.delta.content ?? null;
  });
  const reply = await stream.finalChatCompletion();
  // It leaves an empty text out, and keeps the last piece of a field that it does not know.
  reply.choices[0].message.content ??= first;
  reply.choices[0].message.reasoning_content = thoughts.join('') || null;
  return reply;
}

function askAnthropic(it) {
  const client = new Anthropic({ baseURL: it.base_url.replace(/\/v1$/, ''), apiKey: 'sk-test', maxRetries: 0 });
  if (it.path) return client.get('/v1' + it.path);
  const request = {
    model: it.model,
    max_tokens: it.max_tokens || 1024,
    messages: [{ role: 'user', content: 'hello' }],
    tools: [{ name: 'add', input_schema: { type: 'object', properties: {} } }],
    ...given({ stop_sequences: it.stop }),
  };
  return it.stream ? client.messages.stream(request).finalMessage() : client.messages.create(request);
}

function openaiSeen(reply) {
  const { finish_reason, message } = reply.choices[0];
  return {
    finish: finish_reason,
    text: message.content,
    refusal: message.refusal,
    reasoning: message.reasoning_content ?? null,
    calls: (message.tool_calls ?? []).map((call) => [call.function.name, call.function.arguments]),
    tokens: [reply.usage.prompt_tokens_details.cached_tokens, reply.usage.completion_tokens_details.reasoning_tokens],
  };
}

function anthropicSeen(reply) {
  const of = (kind) => reply.content.filter((block) => block.type === kind);
  return {
    finish: reply.stop_reason,
    text: of('text').map((block) => block.text).join('') || null,
    refusal: reply.stop_details?.explanation ?? null,
    reasoning: of('thinking').filter((block) => block.signature).map((block) => block.thinking).join('') || null,
    calls: of('tool_use').map((block) => [block.name, JSON.stringify(block.input)]),
    tokens: [reply.usage.cache_read_input_tokens, reply.usage.output_tokens_details.thinking_tokens],
  };
}

const APIS = {
  openai: { sdk: OpenAI, ask: askOpenAI, seen: openaiSeen },
  anthropic: { sdk: Anthropic, ask: askAnthropic, seen: anthropicSeen },
};

async function told(it) {
  const { sdk, ask, seen } = APIS[it.api];
  try {
    let reply;
    for (let request = 0; request < it.requests; request++) reply = await ask(it);
    return { seen: seen(reply) };
  } catch (error) {
    if (!(error instanceof sdk.APIError)) throw error;
    if (!error.status && it.stream) return { stream_error: error.type };
    if (!error.status) throw error;
    return {
      error: error.constructor.name,
      status: error.status,
      type: error.type,
      code: error.code ?? null,
      request_id: error.requestID,
      retry_after: error.headers.get('retry-after'),
    };
  }
}

async function main() {
  for (const it of JSON.parse(readFileSync(0, 'utf8'))) {
    console.log(JSON.stringify({ case: it.name, ...(await told(it)) }));
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
