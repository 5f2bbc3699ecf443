// The Vercel AI SDK, with its providers of both: only the base URL is another.
const assert = require('node:assert');
const path = require('node:path');
const fs = require('node:fs');
const modules = (name) => require(require.resolve(name, { paths: [path.dirname(process.env.SEAWALL_NODE_MODULES)] }));
const { APICallError, generateObject, generateText, stepCountIs, streamText, tool } = modules('ai');
const { createOpenAI } = modules('@ai-sdk/openai');
const { createAnthropic } = modules('@ai-sdk/anthropic');
const { z } = modules('zod');

const given = JSON.parse(fs.readFileSync(0, 'utf8'));
const openai = createOpenAI({ baseURL: `${given.base}/v1`, apiKey: 'none' });
const anthropic = createAnthropic({ baseURL: `${given.base}/v1`, apiKey: 'none' });
// What comes of Anthropic's form is handed on as it came, and the mock provider writes `citations: null`, as the official types have it
// and this provider does not.
const both = [(model) => openai.chat(model), ...(given.dialect === 'anthropic' ? [] : [(model) => anthropic(model)])];
const ask = { system: 'Be brief.', prompt: 'What colour is the sea?', maxRetries: 0, maxOutputTokens: 100 };
const TEXT = 'Blue, mostly. It depends.';
const weather = tool({ description: 'Of a place.', inputSchema: z.object({ place: z.string() }) });
const silent = { onError: () => {} };

const checks = {
  async plain() {
    for (const model of both) {
      const done = await generateText({ model: model('plain'), ...ask });
      assert.equal(done.text, TEXT);
      assert.equal(done.finishReason, 'stop');
      assert.ok(done.usage.outputTokens > 0);
    }
  },
  async streaming() {
    for (const model of both) {
      const done = streamText({ model: model('plain'), ...ask });
      let text = '';
      for await (const more of done.textStream) text += more;
      assert.equal(text, TEXT);
      assert.ok((await done.usage).outputTokens > 0);
    }
  },
  async tools() {
    for (const model of both) {
      const places = [{ place: 'Paris' }, { place: 'Rome' }];
      const done = await generateText({ model: model('tools'), tools: { weather }, ...ask });
      assert.deepEqual(done.toolCalls.map((call) => call.input), places);
      assert.equal(done.finishReason, 'tool-calls');
      const streamed = streamText({ model: model('tools'), tools: { weather }, ...ask });
      assert.deepEqual((await streamed.toolCalls).map((call) => call.input), places);
      const results = done.toolCalls.map(({ toolCallId, toolName }) => ({ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value: 'sunny' } }));
      const { prompt, ...rest } = ask;
      const messages = [{ role: 'user', content: prompt }, ...done.response.messages, { role: 'tool', content: results }];
      assert.equal((await generateText({ model: model('plain'), tools: { weather }, ...rest, messages })).text, TEXT);
    }
  },
  async structured() {
    const done = await generateObject({ model: openai.chat('json'), schema: z.object({ colour: z.string() }), ...ask });
    assert.deepEqual(done.object, { colour: 'blue' });
  },
  async images() {
    const { prompt, ...rest } = ask;
    const image = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    for (const model of both) {
      const messages = [{ role: 'user', content: [{ type: 'text', text: prompt }, { type: 'image', image, mediaType: 'image/png' }] }];
      assert.equal((await generateText({ model: model('plain'), ...rest, messages })).text, TEXT);
    }
  },
  async errors() {
    for (const model of both) {
      for (const [name, status] of [['refused', 400], ['limited', 429], ['broken', 502], ['overloaded', 503]]) {
        await assert.rejects(generateText({ model: model(name), ...ask }), (error) => APICallError.isInstance(error) && error.statusCode === status && !!error.data?.error?.message);
        if (name === 'limited') await new Promise((resolve) => setTimeout(resolve, 1600)); // until then it closes the account to every model
      }
    }
  },
  async cut() {
    for (const model of both) {
      const kinds = [];
      for await (const part of streamText({ model: model('cut'), ...ask, ...silent }).fullStream) kinds.push(part.type);
      assert.ok(kinds.includes('text-delta') && kinds.includes('error'), kinds.join());
    }
  },
};

(async () => {
  if (given.retry_after) {
    const start = performance.now();
    await generateText({ model: openai.chat('plain'), ...ask, maxRetries: 2 });
    assert.ok(performance.now() - start >= 1000, 'asked again too soon');
    console.log('"retry_after"');
    return;
  }
  for (const [name, check] of Object.entries(checks)) {
    await check();
    console.log(JSON.stringify(name));
  }
})();
