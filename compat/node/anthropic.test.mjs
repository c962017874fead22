// Anthropic's official client, and the AI SDK with its provider for Anthropic,
// against a live gateway whose upstream is of some kind.

import assert from 'node:assert/strict';
import {describe, it} from 'node:test';

import {createAnthropic} from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import {APICallError, generateText, stepCountIs, streamText, tool} from 'ai';
import {z} from 'zod';

import {eventually, key, patience, start, startMock, watched} from './rig.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

const content = 'When does the office open?';
const ask = (more = {}) => ({model: 'chat', max_tokens: 500, messages: [{role: 'user', content}], ...more});
const tools = [{
  name: 'opening_hours',
  input_schema: {type: 'object', required: ['city', 'days'], properties: {city: {type: 'string'}, days: {type: 'integer'}}},
}];

const test = (what, body) => it(what, {timeout: 2 * patience}, body);
const root = (url) => url.replace(/\/v1$/, '');
const dial = (url, options = {}) => new Anthropic({baseURL: root(url), apiKey: key, maxRetries: 0, timeout: patience, ...options});
const ai = (url, {fetch, id = 'chat', apiKey = key} = {}) => createAnthropic({baseURL: url, apiKey, fetch})(id);
const said = (message) => message.content.filter((b) => b.type === 'text').map((b) => b.text).join('');

// One that is full: a request runs for about a second, another waits.
async function full(t, call) {
  const r = await start(t, {kind: 'anthropic', slots: 1, model: 'queue: {total: 1}', mock: {'per-output': '20ms'}});
  const calls = [call(r.url)];
  await eventually('a request runs', async () => (await r.stats()).started === 1);
  calls.push(call(r.url));
  await eventually('a request waits', async () => await r.queued() === 1);
  return {r, ended: Promise.all(calls)};
}

for (const kind of ['anthropic', 'openai', 'gemini']) {
  describe(`@anthropic-ai/sdk, a provider of kind ${kind}`, {concurrency: false}, () => {
    test('the same text whole and streamed, under the alias', async (t) => {
      const whole = await dial((await start(t, {kind})).url).messages.create(ask());
      const stream = dial((await start(t, {kind, mock: {'token-by-token': true}})).url).messages.stream(ask());
      let deltas = '';
      stream.on('text', (text) => { deltas += text; });
      const streamed = await stream.finalMessage();
      assert.ok(said(whole).length > 0);
      assert.equal(said(streamed), said(whole));
      assert.equal(deltas, said(whole));
      for (const m of [whole, streamed]) {
        assert.deepEqual([m.model, m.role, m.type, m.stop_reason], ['chat', 'assistant', 'message', 'end_turn']);
        assert.deepEqual([m.usage.input_tokens, m.usage.output_tokens], [7, 40]);
        assert.match(m.id, /^msg_/);
      }
      assert.match(whole._request_id, /^req_/);
      if (kind === 'anthropic') {
        const want = await dial(await startMock(t)).messages.create(ask());
        assert.deepEqual(whole.content, want.content);
      }
    });

    test('tools: streamed in fragments, and their result', async (t) => {
      const client = dial((await start(t, {kind, mock: {'token-by-token': true}})).url);
      const params = ask({tools, tool_choice: {type: 'any'}});
      const streamed = await client.messages.stream(params).finalMessage();
      const whole = await client.messages.create(params);
      for (const m of [streamed, whole]) {
        assert.equal(m.stop_reason, 'tool_use');
        const [use] = m.content.filter((b) => b.type === 'tool_use');
        assert.deepEqual([use.name, use.input], ['opening_hours', {city: 'Zürich 北', days: 1}]);
        const answer = await client.messages.create(ask({tools, messages: [
          ...ask().messages, {role: 'assistant', content: m.content},
          {role: 'user', content: [{type: 'tool_result', tool_use_id: use.id, content: '9 to 17'}]},
        ]}));
        assert.ok(said(answer).length > 0);
      }
    });

    test('a broken stream is an error, not a short answer', async (t) => {
      for (const fault of ['cut=6=1', 'error-event=6=1']) {
        const r = await start(t, {kind, mock: {'token-by-token': true, faults: fault}});
        let n = 0;
        await assert.rejects(async () => {
          for await (const e of await dial(r.url).messages.create(ask({stream: true}))) n += e ? 1 : 0;
        }, (e) => e instanceof Anthropic.APIError || assert.fail(`${fault}: ${e}`));
        assert.ok(n > 0, fault);
      }
    });
  });

  describe(`ai with @ai-sdk/anthropic, a provider of kind ${kind}`, {concurrency: false}, () => {
    test('generateText and streamText give the same text and usage', async (t) => {
      const whole = await generateText({model: ai((await start(t, {kind})).url), prompt: content});
      const streamed = streamText({model: ai((await start(t, {kind})).url), prompt: content, maxRetries: 0});
      assert.ok(whole.text.length > 0);
      assert.equal(await streamed.text, whole.text);
      assert.deepEqual([whole.finishReason, await streamed.finishReason], ['stop', 'stop']);
      for (const usage of [whole.usage, await streamed.usage]) assert.deepEqual([usage.inputTokens, usage.outputTokens], [7, 40]);
      assert.equal(whole.response.modelId, 'chat');
    });

    test('a tool is called, whole and streamed, and its result goes back', async (t) => {
      const model = ai((await start(t, {kind, mock: {'token-by-token': true}})).url);
      for (const streamed of [false, true]) {
        const asked = [];
        const options = {
          model, prompt: content, stopWhen: stepCountIs(2),
          tools: {opening_hours: tool({
            inputSchema: z.object({city: z.string(), days: z.number().int()}),
            execute: async (input) => { asked.push(input); return '9 to 17'; },
          })},
          prepareStep: ({stepNumber}) => ({toolChoice: stepNumber === 0 ? 'required' : 'auto'}),
        };
        const text = await (streamed ? streamText(options) : await generateText(options)).text;
        assert.deepEqual(asked, [{city: 'Zürich 北', days: 1}]);
        assert.ok(text.length > 0);
      }
    });
  });
}

describe('errors of the messages surface', {concurrency: false}, () => {
  test('have the client\'s own types, and none of these is tried again', async (t) => {
    const r = await start(t, {kind: 'anthropic', rest: 'limits: {body: 4KiB}'});
    for (const [type, status, word, options, params] of [
      [Anthropic.AuthenticationError, 401, 'authentication_error', {apiKey: 'sk-of-nobody'}, ask()],
      [Anthropic.NotFoundError, 404, 'not_found_error', {}, ask({model: 'none'})],
      [Anthropic.BadRequestError, 400, 'invalid_request_error', {}, ask({messages: []})],
      [Anthropic.APIError, 413, 'request_too_large', {}, ask({system: 'long '.repeat(2000)})],
    ]) {
      for (const stream of [false, true]) {
        const fetch = watched();
        await assert.rejects(dial(r.url, {...options, fetch, maxRetries: 2}).messages.create({...params, stream}), (e) => {
          assert.ok(e instanceof type, `${e.constructor.name}: ${e.message}`);
          assert.deepEqual([e.status, e.error.type, e.error.error.type], [status, 'error', word]);
          assert.match(e.requestID, /^req_/);
          return true;
        });
        assert.equal(fetch.list.length, 1, `${status}`);
      }
    }
    await assert.rejects(generateText({model: ai(r.url, {apiKey: 'sk-of-nobody'}), prompt: content}), (e) => {
      assert.ok(APICallError.isInstance(e), e);
      assert.equal(e.statusCode, 401);
      assert.equal(e.data.error.type, 'authentication_error'); // it reads the object
      return true;
    });
  });

  test('529 of a full queue: both clients wait as they were told', async (t) => {
    for (const client of ['sdk', 'ai']) {
      const {r: {url}, ended} = await full(t, (url) => dial(url).messages.create(ask()));
      const fetch = watched();
      const text = client === 'sdk'
        ? said(await dial(url, {fetch, maxRetries: 5}).messages.create(ask()))
        : (await generateText({model: ai(url, {fetch}), prompt: content, maxRetries: 5})).text;
      assert.ok(text.length > 0);
      await ended;
      const [first, second] = fetch.list;
      assert.equal(first.status, 529);
      assert.equal(fetch.list.at(-1).status, 200);
      assert.match(first.headers.get('retry-after'), /^([1-9]|[1-5]\d)$/);
      const ms = Number(first.headers.get('retry-after-ms'));
      assert.ok(ms > 0 && second.begun - first.at >= ms - 2, `${client} came back after ${second.begun - first.at} ms, asked to wait ${ms}`);
    }
  });

  test('429 of the tenant\'s own limit: x-should-retry stops the client', async (t) => {
    const r = await start(t, {kind: 'anthropic', tenant: 'limits: {rpm: 1}'});
    await dial(r.url).messages.create(ask());
    const fetch = watched();
    await assert.rejects(dial(r.url, {fetch, maxRetries: 2}).messages.create(ask()), (e) => {
      assert.ok(e instanceof Anthropic.RateLimitError, e);
      assert.equal(e.headers.get('anthropic-ratelimit-requests-limit'), '1');
      return true;
    });
    assert.deepEqual(fetch.list.map((x) => x.headers.get('x-should-retry')), ['false']);
  });

  test('tokens are counted, and models listed', async (t) => {
    const client = dial((await start(t, {kind: 'anthropic'})).url);
    const {input_tokens: n} = await client.messages.countTokens({model: 'chat', messages: ask().messages, tools});
    assert.ok(n > 5 && n < 100, `${n}`);
    const names = [];
    for await (const m of client.models.list()) names.push(m.id);
    assert.deepEqual(names, ['chat']);
    assert.equal((await client.models.retrieve('chat')).id, 'chat');
    await assert.rejects(client.models.retrieve('none'), Anthropic.NotFoundError);
  });
});
