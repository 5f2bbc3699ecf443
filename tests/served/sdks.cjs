// The official SDKs of both providers for Node: only the base URL is another.
const assert = require('node:assert');
const path = require('node:path');
const fs = require('node:fs');
const modules = (name) => require(require.resolve(name, { paths: [path.dirname(process.env.SEAWALL_NODE_MODULES)] }));
const OpenAI = modules('openai');
const Anthropic = modules('@anthropic-ai/sdk');

const given = JSON.parse(fs.readFileSync(0, 'utf8'));
const options = { apiKey: 'none', maxRetries: given.retry_after ? 2 : 0, timeout: 20000 };
const openai = new OpenAI({ baseURL: `${given.base}/v1`, ...options });
const anthropic = new Anthropic({ baseURL: given.base, ...options });

const messages = [{ role: 'user', content: 'What colour is the sea?' }];
const gpt = { model: 'plain', messages: [{ role: 'developer', content: 'Be brief.' }, ...messages] };
const claude = { model: 'plain', max_tokens: 100, system: 'Be brief.', messages };
const parameters = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
const gptTools = [{ type: 'function', function: { name: 'weather', description: 'Of a place.', parameters } }];
const claudeTools = [{ name: 'weather', description: 'Of a place.', input_schema: parameters }];
const TEXT = 'Blue, mostly. It depends.';
const PLACES = [{ place: 'Paris' }, { place: 'Rome' }];

const checks = {
  async plain() {
    const a = await openai.chat.completions.create(gpt);
    assert.equal(a.choices[0].message.content, TEXT);
    assert.ok(a.usage.total_tokens > 0);
    const b = await anthropic.messages.create(claude);
    assert.equal(b.content[0].text, TEXT);
    assert.equal(b.stop_reason, 'end_turn');
  },
  async streaming() {
    let text = '';
    for await (const chunk of await openai.chat.completions.create({ ...gpt, stream: true })) text += chunk.choices[0].delta.content ?? '';
    assert.equal(text, TEXT);
    const a = await openai.chat.completions.stream(gpt).finalChatCompletion();
    assert.equal(a.choices[0].message.content, TEXT);
    const b = await anthropic.messages.stream(claude).finalMessage();
    assert.equal(b.content[0].text, TEXT);
    assert.ok(b.usage.output_tokens > 0);
  },
  async tools() {
    const asked = { ...gpt, model: 'tools', tools: gptTools };
    const a = (await openai.chat.completions.create(asked)).choices[0].message;
    assert.deepEqual(a.tool_calls.map((call) => JSON.parse(call.function.arguments)), PLACES);
    const results = a.tool_calls.map((call) => ({ role: 'tool', tool_call_id: call.id, content: 'sunny' }));
    await openai.chat.completions.create({ ...gpt, messages: [...gpt.messages, a, ...results], tools: gptTools });
    const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
    assert.deepEqual(streamed.choices[0].message.tool_calls.map((call) => JSON.parse(call.function.arguments)), PLACES);

    const b = await anthropic.messages.stream({ ...claude, model: 'tools', tools: claudeTools }).finalMessage();
    const calls = b.content.filter((block) => block.type === 'tool_use');
    assert.deepEqual(calls.map((call) => call.input), PLACES);
    const back = calls.map((call) => ({ type: 'tool_result', tool_use_id: call.id, content: [{ type: 'text', text: 'sunny' }] }));
    const history = [...messages, { role: 'assistant', content: b.content }, { role: 'user', content: back }];
    await anthropic.messages.create({ ...claude, messages: history, tools: claudeTools });
  },
  async structured() {
    const schema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'], additionalProperties: false };
    const response_format = { type: 'json_schema', json_schema: { name: 'colour', schema, strict: true } };
    const a = await openai.chat.completions.create({ ...gpt, model: 'json', response_format });
    assert.deepEqual(JSON.parse(a.choices[0].message.content), { colour: 'blue' });
  },
  async images() {
    const image_url = { url: 'https://example.com/sea.png' };
    await openai.chat.completions.create({ ...gpt, messages: [{ role: 'user', content: [{ type: 'image_url', image_url }] }] });
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
    await anthropic.messages.create({ ...claude, messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
  },
  async errors() {
    for (const [model, name, status] of [
      ['refused', 'BadRequestError', 400],
      ['unknown', 'NotFoundError', 404],
      ['limited', 'RateLimitError', 429],
      ['unauthorized', 'InternalServerError', 502],
      ['broken', 'InternalServerError', 502],
      ['overloaded', 'InternalServerError', 503],
      ['silent', 'InternalServerError', 504],
    ]) {
      for (const [sdk, ask] of [[OpenAI, () => openai.chat.completions.create({ ...gpt, model })], [Anthropic, () => anthropic.messages.create({ ...claude, model })]]) {
        await assert.rejects(async () => ask(), (error) => error instanceof sdk[name] && error.status === status && !/sk-upstream|org-upstream/.test(String(error)));
        if (model === 'limited') await new Promise((resolve) => setTimeout(resolve, 1600)); // until then it closes the account to every model
      }
    }
  },
  async cut() {
    let said = '';
    await assert.rejects(async () => {
      for await (const chunk of await openai.chat.completions.create({ ...gpt, model: 'cut', stream: true })) said += chunk.choices[0].delta.content ?? '';
    }, OpenAI.APIError);
    assert.ok(said);
    await assert.rejects(anthropic.messages.stream({ ...claude, model: 'cut' }).finalMessage(), Anthropic.APIError);
  },
};

(async () => {
  if (given.retry_after) {
    const start = performance.now();
    await openai.chat.completions.create(gpt);
    assert.ok(performance.now() - start >= 1000, 'asked again too soon');
    console.log('"retry_after"');
    return;
  }
  for (const [name, check] of Object.entries(checks)) {
    await check();
    console.log(JSON.stringify(name));
  }
})();
