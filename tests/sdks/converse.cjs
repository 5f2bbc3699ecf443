// Plays one conversation as the SDK's own documentation does: each reply object goes into the history as it came.
// Usage: converse.cjs openai|anthropic settings|thinking BASE_URL < conversation.json
'use strict';
const { createRequire } = require('node:module');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const sdk = createRequire(join(process.env.SEAWALL_NODE_MODULES, 'seawall.js'));
const [api, mode, baseURL] = process.argv.slice(2);
const talk = JSON.parse(readFileSync(0, 'utf8'));
const thinking = mode === 'thinking';

async function converseOpenAI() {
  const { OpenAI } = sdk('openai');
  const client = new OpenAI({ baseURL, apiKey: 'sk-test', maxRetries: 0 });
  const dataUrl = ({ media_type, data }) => `data:${media_type};base64,${data}`;
  const image = (media) => ({ type: 'image_url', image_url: { url: dataUrl(media) } });
  const tool = ({ name, description, schema, strict }) => ({
    type: 'function',
    function: { name, description, parameters: schema, ...(strict && { strict }) },
  });
  const { name, schema } = talk.format;

  async function ask(tool_choice, parallel_tool_calls) {
    const settings = thinking
      ? { max_tokens: talk.max_tokens }
      : {
          max_completion_tokens: talk.max_tokens,
          temperature: talk.temperature,
          stop: talk.stop,
          seed: talk.seed,
          response_format: { type: 'json_schema', json_schema: { name, schema, strict: true } },
          tool_choice,
        };
    const tools = talk.tools.map(tool);
    const reply = await client.chat.completions.create({ model: 'gpt-4o', messages, tools, parallel_tool_calls, ...settings });
    messages.push(reply.choices[0].message);
    return reply.choices[0].message.tool_calls;
  }

  const messages = [
    { role: 'system', content: talk.system },
    {
      role: 'user',
      content: [
        { type: 'text', text: talk.question },
        image(talk.image),
        { type: 'file', file: { filename: talk.document.name, file_data: dataUrl(talk.document) } },
      ],
    },
  ];
  const [weather, plot] = await ask('required', true);
  messages.push({ role: 'tool', tool_call_id: weather.id, content: talk.failure });
  messages.push({ role: 'tool', tool_call_id: plot.id, content: talk.plot });
  messages.push({ role: 'user', content: [image(talk.plot_image)] });
  await ask(undefined, true);
  messages.push({ role: 'user', content: talk.next_question });
  const [again] = await ask({ type: 'function', function: { name: 'weather' } }, false);
  messages.push({ role: 'tool', tool_call_id: again.id, content: talk.weather });
  await ask('none', false);
}

async function converseAnthropic() {
  const { Anthropic } = sdk('@anthropic-ai/sdk');
  const client = new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ''), apiKey: 'sk-test', maxRetries: 0 });
  const base64 = ({ media_type, data }) => ({ type: 'base64', media_type, data });
  const image = (media) => ({ type: 'image', source: base64(media) });
  const tool = ({ name, description, schema, strict }) => ({
    name,
    description,
    input_schema: schema,
    ...(strict && { strict }),
  });

  async function ask(tool_choice, choice_thinking) {
    const settings = thinking
      ? { thinking: talk.thinking, tool_choice: choice_thinking }
      : {
          temperature: talk.temperature,
          stop_sequences: talk.stop,
          output_config: { format: { type: 'json_schema', schema: talk.format.schema } },
          tool_choice,
        };
    const reply = await client.messages.create({
      model: 'claude-sonnet-4-5',
      max_tokens: talk.max_tokens,
      system: talk.system,
      messages,
      tools: talk.tools.map(tool),
      ...settings,
    });
    messages.push({ role: 'assistant', content: reply.content });
    return reply.content.filter((block) => block.type === 'tool_use');
  }

  const question = [
    { type: 'text', text: talk.question },
    image(talk.image),
    { type: 'document', source: base64(talk.document), title: talk.document.name },
  ];
  const messages = [{ role: 'user', content: question }];
  const [weather, plot] = await ask({ type: 'any' });
  const plotted = [{ type: 'text', text: talk.plot }, image(talk.plot_image)];
  const results = [
    { type: 'tool_result', tool_use_id: weather.id, content: talk.failure, is_error: true },
    { type: 'tool_result', tool_use_id: plot.id, content: plotted },
  ];
  messages.push({ role: 'user', content: results });
  await ask(undefined);
  messages.push({ role: 'user', content: talk.next_question });
  const alone = { type: 'auto', disable_parallel_tool_use: true };
  const [again] = await ask({ type: 'tool', name: 'weather', disable_parallel_tool_use: true }, alone);
  const told = [{ type: 'tool_result', tool_use_id: again.id, content: talk.weather }];
  messages.push({ role: 'user', content: told });
  await ask({ type: 'none' }, alone);
}

({ openai: converseOpenAI, anthropic: converseAnthropic })[api]().catch((error) => {
  console.error(error);
  process.exit(1);
});
