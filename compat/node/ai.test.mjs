// The AI SDK of Vercel against a live gateway.

import assert from 'node:assert/strict';
import {it} from 'node:test';

import {createOpenAICompatible} from '@ai-sdk/openai-compatible';
import {APICallError, embedMany, generateText, stepCountIs, streamText, tool} from 'ai';
import {z} from 'zod';

import {ask, eventually, key, patience, start, startMock, startScript, stray, watched} from './rig.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

const prompt = ask().messages[0].content;

const test = (what, body) => it(what, {timeout: 2 * patience}, body);

/** A model behind the gateway, with a fault of the upstream if one is named. */
function dial(url, {fault, fetch, id = 'chat', apiKey = key} = {}) {
  const provider = createOpenAICompatible({
    name: 'spillway', baseURL: url, apiKey, fetch, includeUsage: true,
    transformRequestBody: (body) => (fault ? {...body, metadata: ask(fault).metadata} : body),
  });
  return provider(id);
}

/** Streams to the end: the parts, the errors among them, and what broke off the whole. */
async function read(options) {
  const result = streamText({prompt, maxRetries: 0, onError: () => {}, ...options});
  const parts = [];
  let broken;
  try {
    for await (const p of result.fullStream) parts.push(p);
  } catch (e) {
    broken = e;
  }
  return {
    broken,
    text: parts.filter((p) => p.type === 'text-delta').map((p) => p.text).join(''),
    errors: parts.filter((p) => p.type === 'error').map((p) => p.error),
    finish: parts.findLast((p) => p.type === 'finish'),
  };
}

test('generateText and streamText give the upstream\'s text and usage', async (t) => {
  const want = await generateText({model: dial(`${await startMock(t)}/v1`), prompt});
  const whole = await generateText({model: dial((await start(t)).url), prompt});
  const streamed = await read({model: dial((await start(t)).url)});
  assert.equal(whole.text, want.text);
  assert.equal(streamed.text, want.text);
  assert.deepEqual([streamed.errors, streamed.broken], [[], undefined]);
  assert.equal(streamed.finish.finishReason, 'stop');
  assert.equal(streamed.finish.totalUsage.totalTokens, want.usage.totalTokens);
  assert.equal(whole.response.modelId, 'chat');
});

test('a tool is called, whole and streamed, and its result goes back', async (t) => {
  const model = dial((await start(t, {mock: {'token-by-token': true}})).url);
  for (const streamed of [false, true]) {
    const asked = [];
    const options = {
      model, prompt, stopWhen: stepCountIs(2),
      tools: {
        opening_hours: tool({
          inputSchema: z.object({city: z.string(), days: z.number().int()}),
          execute: async (input) => { asked.push(input); return '9 to 17'; },
        }),
      },
      prepareStep: ({stepNumber}) => ({toolChoice: stepNumber === 0 ? 'required' : 'none'}),
    };
    const text = streamed ? (await read(options)).text : (await generateText(options)).text;
    assert.deepEqual(asked, [{city: 'Zürich 北', days: 1}]);
    assert.ok(text.length > 0);
  }
});

test('embeddings', async (t) => {
  const r = await start(t);
  const provider = createOpenAICompatible({name: 'spillway', baseURL: r.url, apiKey: key});
  const {embeddings, usage} = await embedMany({model: provider.textEmbeddingModel('chat'), values: ['a ship', 'a café']});
  assert.equal(embeddings.length, 2);
  assert.ok(embeddings[0].length > 0 && embeddings[0].every(Number.isFinite));
  assert.ok(usage.tokens > 0);
});

test('errors tell their message and status, and are not tried again', async (t) => {
  const r = await start(t);
  for (const [options, status, message] of [
    [{apiKey: 'sk-of-nobody'}, 401, /key/],
    [{id: 'gpt-unknown'}, 404, /gpt-unknown/],
    [{fault: '400'}, 400, /400/],
  ]) {
    const fetch = watched();
    await assert.rejects(generateText({model: dial(r.url, {...options, fetch}), prompt, maxRetries: 2}), (e) => {
      assert.ok(APICallError.isInstance(e), e);
      assert.equal(e.statusCode, status);
      assert.match(e.message, message);
      return true;
    });
    assert.equal(fetch.list.length, 1);
  }
});

// By itself this client comes back after two seconds.
test('Retry-After of a full queue is obeyed', async (t) => {
  const r = await start(t, {slots: 1, model: 'queue: {total: 1}', prior: '{first_token: 4s, per_output_token: 500us, output_tokens: 40}'});
  const release = await r.occupy();
  const waiting = generateText({model: dial(r.url), prompt});
  await eventually('a request waits', async () => await r.queued() === 1);
  const fetch = watched(release);
  const {text} = await generateText({model: dial(r.url, {fetch}), prompt, maxRetries: 2});
  assert.ok(text.length > 0);
  await waiting;
  const [first, second] = fetch.list;
  assert.deepEqual(fetch.list.map((x) => x.status), [429, 200]);
  const ms = Number(first.headers.get('retry-after-ms'));
  assert.ok(second.begun - first.at >= ms - 2, `came back after ${second.begun - first.at} ms, asked to wait ${ms}`);
  assert.ok(ms > 2_000, `asked to wait ${ms} ms: too short to tell`);
});

test('leaving within a stream frees the slot upstream', async (t) => {
  const r = await start(t, {mock: {'per-output': '10ms', 'output-mean': 30000, 'token-by-token': true}});
  const abort = new AbortController();
  const {fullStream} = streamText({model: dial(r.url), prompt, abortSignal: abort.signal, maxRetries: 0, onError: () => {}});
  const types = [];
  for await (const p of fullStream) {
    types.push(p.type);
    if (p.type === 'text-delta') abort.abort();
  }
  assert.equal(types.at(-1), 'abort');
  await r.idle();
  assert.equal(await r.metric('spillway_requests_total', 'outcome="left"'), 1);
});

test('a broken stream is an error, not a short answer', async (t) => {
  for (const fault of ['cut=3', 'error-event=3']) {
    const r = await start(t, {mock: {'token-by-token': true}});
    const {text, errors, broken, finish} = await read({model: dial(r.url, {fault})});
    assert.ok(text.length > 0, fault);
    assert.match(errors[0]?.message ?? String(errors[0]), /the upstream failed|the server had an error/i, fault);
    assert.ok(broken, `${fault}: the connection ended as if all had come`);
    assert.equal(finish, undefined, fault);
  }
});

test('whatever form the upstream\'s stream has, the text is the same', async (t) => {
  const want = (await generateText({model: dial(`${await startMock(t)}/v1`), prompt})).text;
  for (const fault of ['crlf', 'comments', 'bytewise', 'gzip', 'no-done']) { // B001, B007, B135
    const {text, errors, broken} = await read({model: dial((await start(t)).url, {fault})});
    assert.equal(text, want, fault);
    assert.deepEqual([errors, broken], [[], undefined], fault);
  }
  for (const [form, text] of Object.entries(stray)) { // B009, B010
    const got = await read({model: dial((await start(t, {upstream: await startScript(t, text)})).url)});
    assert.equal(got.text, 'one two', form);
    assert.deepEqual([got.errors, got.broken], [[], undefined], form);
    assert.equal(got.finish.finishReason, 'stop', form);
  }
});
