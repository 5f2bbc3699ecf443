// Checks bodies as literals against the SDKs' types, excess properties included, and tells each error with its body's name.
'use strict';
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const modules = process.env.SEAWALL_NODE_MODULES;
const ts = createRequire(join(modules, 'seawall.js'))('typescript');

const TYPES = `import type { OpenAI } from 'openai';
import type { Anthropic } from '@anthropic-ai/sdk';
type Reply = { openai: OpenAI.Chat.ChatCompletion; anthropic: Anthropic.Message };
type Event = { openai: OpenAI.Chat.ChatCompletionChunk; anthropic: Anthropic.RawMessageStreamEvent };
type Failure = { openai: { error: OpenAI.ErrorObject }; anthropic: Anthropic.ErrorResponse };
`;
const bodies = JSON.parse(readFileSync(0, 'utf8'));
const literals = bodies.map(
  ({ api, type, body }, index) =>
    `export const body${index}: ${type}['${api}'] = ${JSON.stringify(body)};\n`,
);

// A file that is nowhere but here, as if it lay beside the SDKs.
const file = join(modules, '..', 'bodies.mts');
const options = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
};
const host = ts.createCompilerHost(options);
const { fileExists, getSourceFile } = host;
host.fileExists = (name) => name === file || fileExists(name);
host.getSourceFile = (name, version, ...rest) =>
  name === file
    ? ts.createSourceFile(name, TYPES + literals.join(''), version)
    : getSourceFile.call(host, name, version, ...rest);

const above = TYPES.split('\n').length - 1;
for (const found of ts.getPreEmitDiagnostics(ts.createProgram([file], options, host))) {
  const text = ts.flattenDiagnosticMessageText(found.messageText, '\n');
  const line = found.file?.fileName === file ? found.file.getLineAndCharacterOfPosition(found.start).line - above : -1;
  console.log(JSON.stringify({ case: bodies[line]?.name ?? found.file?.fileName ?? null, error: text }));
}
console.log(JSON.stringify({ checked: bodies.length }));
