// The official client of npm, in two major versions, against a live gateway.

import assert from 'node:assert/strict';
import {describe, it} from 'node:test';

import * as openai6 from 'openai6';
import * as openai7 from 'openai7';

import {ask, eventually, key, patience, start, startMock, startScript, stray, watched} from './rig.mjs';

const tool = {
  type: 'function',
  function: {
    name: 'opening_hours',
    parameters: {type: 'object', required: ['city', 'days'], properties: {city: {type: 'string'}, days: {type: 'integer'}}},
  },
};

for (const [name, sdk] of Object.entries({openai6, openai7})) {
  const dial = (url, options = {}) => new sdk.OpenAI({baseURL: url, apiKey: key, maxRetries: 0, timeout: patience, ...options});
  const direct = async (t, flags) => dial(`${await startMock(t, flags)}/v1`);
  const test = (what, body) => it(what, {timeout: 2 * patience}, body);

  /** Drains a stream into text, with its chunks. */
  const read = async (stream) => {
    const chunks = [];
    for await (const c of stream) chunks.push(c);
    return {chunks, text: chunks.map((c) => c.choices[0]?.delta.content ?? '').join('')};
  };

  describe(name, {concurrency: false}, () => {
    test('chat: the same text whole, streamed and straight from the upstream', async (t) => {
      const r = await start(t);
      const streamed = await read(await dial(r.url).chat.completions.create({...ask(), stream: true, stream_options: {include_usage: true}}));
      const want = await (await direct(t)).chat.completions.create(ask());
      assert.equal(streamed.text, want.choices[0].message.content);
      assert.ok(streamed.chunks.every((c) => c.model === 'chat'));
      assert.deepEqual(streamed.chunks.at(-1).usage, want.usage); // B031
      assert.equal(streamed.chunks.filter((c) => c.choices.length === 0).length, 1);

      const whole = await dial((await start(t)).url).chat.completions.create(ask());
      assert.deepEqual(whole.choices, want.choices);
      assert.equal(whole.model, 'chat');
      assert.match(whole._request_id, /^req_/);
    });

    test('usage that was not asked for is not shown, and counted (B025)', async (t) => {
      const r = await start(t);
      const {chunks} = await read(await dial(r.url).chat.completions.create({...ask(), stream: true}));
      assert.ok(chunks.every((c) => c.choices.length === 1));
      await r.idle();
      assert.equal(await r.metric('spillway_tokens_total', 'direction="output"'), 40);
    });

    test('tools: streamed in fragments, and their result', async (t) => {
      const r = await start(t, {mock: {'token-by-token': true}});
      const client = dial(r.url);
      let fragments = 0;
      const stream = client.chat.completions.stream({...ask(), tools: [tool], tool_choice: 'required'});
      stream.on('chunk', (c) => { fragments += c.choices[0]?.delta.tool_calls?.[0]?.function.arguments ? 1 : 0; });
      const streamed = await stream.finalChatCompletion();
      const whole = await client.chat.completions.create({...ask(), tools: [tool], tool_choice: 'required'});
      assert.ok(fragments > 1, `${fragments} fragments`);
      for (const {finish_reason: reason, message} of [streamed.choices[0], whole.choices[0]]) {
        assert.equal(reason, 'tool_calls');
        assert.equal(message.tool_calls[0].function.name, 'opening_hours');
        assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments), {city: 'Zürich 北', days: 1});
      }
      const {message} = whole.choices[0];
      const answer = await client.chat.completions.create({
        ...ask(), tools: [tool], messages: [...ask().messages, message, {role: 'tool', tool_call_id: message.tool_calls[0].id, content: '9 to 17'}],
      });
      assert.ok(answer.choices[0].message.content.length > 0);
    });

    test('logprobs, and several choices', async (t) => {
      const client = dial((await start(t)).url);
      const params = {...ask(), n: 2, logprobs: true, top_logprobs: 2};
      const streamed = await client.chat.completions.stream(params).finalChatCompletion();
      const whole = await client.chat.completions.create(params);
      for (const {choices} of [streamed, whole]) {
        assert.equal(choices.length, 2);
        assert.notEqual(choices[0].message.content, choices[1].message.content);
        for (const c of choices) {
          assert.equal(c.logprobs.content.map((l) => l.token).join(''), c.message.content);
          assert.equal(c.logprobs.content[0].top_logprobs.length, 2);
        }
      }
    });

    test('responses: whole, streamed, with a tool, from providers of several kinds', async (t) => {
      const input = ask().messages[0].content;
      for (const kind of ['openai', 'anthropic', 'gemini', 'azure']) {
        const flags = {kind, mock: {'token-by-token': true}};
        const whole = await dial((await start(t, flags)).url).responses.create({model: 'chat', input, store: false});
        const stream = await dial((await start(t, flags)).url).responses.stream({model: 'chat', input, store: false});
        let deltas = '';
        stream.on('response.output_text.delta', (e) => { deltas += e.delta; });
        const streamed = await stream.finalResponse();
        assert.ok(whole.output_text.length > 0, kind);
        assert.equal(deltas, whole.output_text, kind);
        assert.equal(streamed.output[0].content[0].text, whole.output_text, kind); // 6 adds no output_text here
        for (const {id, model, status, usage} of [whole, streamed]) {
          assert.match(id, /^resp_/);
          assert.deepEqual([model, status, usage.input_tokens, usage.output_tokens], ['chat', 'completed', 7, 40], kind);
        }
        const client = dial((await start(t, flags)).url);
        const tools = [{type: 'function', strict: false, ...tool.function}];
        const asked = {model: 'chat', store: false, tools, tool_choice: 'required', input: [{role: 'user', content: input}]};
        for (const answer of [await client.responses.create(asked), await client.responses.stream(asked).finalResponse()]) {
          const [call] = answer.output.filter((o) => o.type === 'function_call');
          assert.equal(call.name, 'opening_hours');
          assert.deepEqual(JSON.parse(call.arguments), {city: 'Zürich 北', days: 1}, kind);
          const next = await client.responses.create({
            ...asked, tool_choice: 'auto', input: [...asked.input, ...answer.output, {type: 'function_call_output', call_id: call.call_id, output: '9 to 17'}],
          });
          assert.ok(next.output_text.length > 0, kind);
        }
      }
    });

    test('responses: errors, and what is not kept', async (t) => {
      const client = dial((await start(t)).url);
      await assert.rejects(client.responses.create({model: 'none', input: 'a'}), sdk.NotFoundError);
      await assert.rejects(client.responses.create({model: 'chat', input: 'a', previous_response_id: 'resp_1'}), (e) => {
        assert.ok(e instanceof sdk.BadRequestError, e);
        assert.deepEqual([e.code, e.param], ['unsupported_parameter', 'previous_response_id']);
        assert.match(e.requestID, /^req_/);
        return true;
      });
      await assert.rejects(client.responses.retrieve('resp_1'), sdk.NotFoundError);
      const broken = dial((await start(t, {mock: {'token-by-token': true, faults: 'cut=6=1'}})).url);
      await assert.rejects(async () => {
        for await (const e of await broken.responses.create({model: 'chat', input: 'a', stream: true})) assert.ok(e);
      }, (e) => e instanceof sdk.APIError || e.message === 'terminated' || assert.fail(`${e}`)); // 6 raises no error events here
    });

    test('embeddings: base64, as the client asks by itself, and floats (B154)', async (t) => {
      const params = {model: 'chat', input: ['a ship', 'a café'], dimensions: 8};
      const packed = await dial((await start(t)).url).embeddings.create(params);
      const floats = await dial((await start(t)).url).embeddings.create({...params, encoding_format: 'float'});
      assert.equal(packed.data.length, 2);
      assert.deepEqual(packed.data.map((d) => [...d.embedding]), floats.data.map((d) => d.embedding.map(Math.fround)));
      assert.equal(packed.model, 'chat');
    });

    test('completions', async (t) => {
      const params = {model: 'chat', prompt: 'Once upon a time', max_tokens: 12};
      let text = '';
      for await (const c of await dial((await start(t)).url).completions.create({...params, stream: true})) text += c.choices[0].text;
      const whole = await (await direct(t)).completions.create(params);
      assert.equal(text, whole.choices[0].text);
    });

    test('models', async (t) => {
      const client = dial((await start(t)).url);
      const names = [];
      for await (const m of client.models.list()) names.push(m.id);
      assert.deepEqual(names, ['chat']);
      assert.equal((await client.models.retrieve('chat')).id, 'chat');
      await assert.rejects(client.models.retrieve('no-such-model'), sdk.NotFoundError);
    });

    test('errors have the client\'s own types, and none of these is tried again', async (t) => {
      for (const [type, code, options, params] of [
        [sdk.AuthenticationError, 'invalid_api_key', {apiKey: 'sk-of-nobody'}, ask()],
        [sdk.NotFoundError, 'model_not_found', {}, {...ask(), model: 'gpt-unknown'}],
        [sdk.BadRequestError, undefined, {}, {...ask(), n: 'two'}],
        [sdk.BadRequestError, 'context_length_exceeded', {}, ask('400')], // B061
        [sdk.InternalServerError, 'upstream_unauthorized', {}, ask('401')],
      ]) {
        for (const stream of [false, true]) {
          const r = await start(t); // a key that was refused is not used again
          const fetch = watched();
          await assert.rejects(dial(r.url, {...options, fetch, maxRetries: 2}).chat.completions.create({...params, stream}), (e) => {
            assert.ok(e instanceof type, `${e.constructor.name}: ${e.message}`);
            if (code) assert.equal(e.code, code);
            assert.match(e.requestID, /^req_/);
            assert.equal(typeof e.type, 'string');
            return true;
          });
          assert.equal(fetch.list.length, 1);
        }
      }
    });

    test('Retry-After of a full queue is obeyed (B074)', async (t) => {
      const r = await start(t, {slots: 1, model: 'queue: {total: 1}'});
      const release = await r.occupy();
      const waiting = dial(r.url).chat.completions.create(ask());
      await eventually('a request waits', async () => await r.queued() === 1);
      const fetch = watched(release); // there is room once the first try was refused
      const answer = await dial(r.url, {fetch, maxRetries: 2}).chat.completions.create(ask());
      assert.ok(answer.choices[0].message.content.length > 0);
      await waiting;
      const [first, second] = fetch.list;
      assert.deepEqual(fetch.list.map((x) => [x.status, x.count]), [[429, '0'], [200, '1']]);
      assert.match(first.headers.get('retry-after'), /^([1-9]|[1-5]\d)$/);
      const ms = Number(first.headers.get('retry-after-ms'));
      assert.ok(ms >= 200 && ms <= 1000 * Number(first.headers.get('retry-after')), `retry-after-ms is ${ms}`);
      assert.ok(second.begun - first.at >= ms - 2, `came back after ${second.begun - first.at} ms, asked to wait ${ms}`);
      assert.equal(await r.metric('spillway_retries_total', 'by="caller"', 'result="allowed"'), 1);
    });

    test('retries beyond the budget are stopped by x-should-retry', async (t) => {
      const r = await start(t, {slots: 1, rest: 'retry: {percent: 0, reserve: 1}'});
      const release = await r.occupy();
      const headers = {'x-stainless-retry-count': '1'};
      const within = dial(r.url).chat.completions.create(ask(), {headers});
      await eventually('the first retry waits', async () => await r.queued() === 1);
      const fetch = watched();
      await assert.rejects(dial(r.url, {fetch, maxRetries: 5}).chat.completions.create(ask(), {headers}), (e) => {
        assert.ok(e instanceof sdk.RateLimitError);
        assert.equal(e.error.stage, 'retry');
        return true;
      });
      assert.deepEqual(fetch.list.map((x) => x.headers.get('x-should-retry')), ['false']);
      release();
      await within;
      for (const result of ['allowed', 'refused']) {
        assert.equal(await r.metric('spillway_retries_total', 'by="caller"', `result="${result}"`), 1);
      }
    });

    test('the timeout of a call is its deadline', async (t) => {
      const r = await start(t, {slots: 1, prior: '{first_token: 2s, per_output_token: 500us, output_tokens: 40}'});
      const release = await r.occupy(); // for two seconds, as the gateway believes
      const fetch = watched();
      await assert.rejects(dial(r.url, {fetch}).chat.completions.create(ask(), {timeout: 1_000}), (e) => {
        assert.equal(e.code, 'overloaded');
        assert.equal(e.error.stage, 'wait');
        return true;
      });
      assert.deepEqual(fetch.list.map((x) => x.timeout), ['1']);
      const patient = dial(r.url).chat.completions.create(ask(), {timeout: patience});
      await eventually('the patient request waits', async () => await r.queued() === 1);
      release();
      await patient;
      assert.equal((await r.stats()).started, 2); // who was there first, and who could wait
    });

    test('leaving within a stream frees the slot upstream (B032)', async (t) => {
      const r = await start(t, {slots: 1, mock: {slots: 1, 'per-output': '10ms', 'output-mean': 30000, 'token-by-token': true}});
      const abort = new AbortController();
      const stream = await dial(r.url).chat.completions.create({...ask(), stream: true}, {signal: abort.signal});
      let n = 0;
      const drained = (async () => { for await (const c of stream) if (++n === 5) { assert.ok(c); abort.abort(); } })();
      await drained.catch((e) => assert.ok(e instanceof sdk.APIUserAbortError, e));
      assert.ok(n >= 5);
      await r.idle();
      assert.equal(await r.metric('spillway_requests_total', 'outcome="left"'), 1);
      // Ending the loop is leaving as well, and the slot was given back.
      for await (const c of await dial(r.url).chat.completions.create({...ask(), stream: true})) { assert.ok(c); break; }
      await r.idle();
      assert.equal(await r.metric('spillway_requests_total', 'outcome="left"'), 2);
    });

    test('leaving the queue is not sent upstream, leaving before the first token ends it (B034)', async (t) => {
      const r = await start(t, {slots: 1});
      const first = new AbortController();
      const second = new AbortController();
      const aborted = (call) => assert.rejects(call, sdk.APIUserAbortError);
      const calls = [aborted(dial(r.url).chat.completions.create(ask('late=60s'), {signal: first.signal}))];
      await eventually('a request runs', async () => (await r.stats()).started === 1);
      calls.push(aborted(dial(r.url).chat.completions.create({...ask(), stream: true}, {signal: second.signal})));
      await eventually('a request waits', async () => await r.queued() === 1);
      second.abort();
      await eventually('who waited is missed', async () => await r.metric('spillway_requests_total', 'outcome="left"') === 1);
      first.abort();
      await Promise.all(calls);
      await r.idle();
      assert.equal((await r.stats()).started, 1);
      assert.equal(await r.metric('spillway_requests_total', 'outcome="left"'), 2);
    });

    test('after a timeout the first try holds no slot when the second comes (B058)', async (t) => {
      const r = await start(t);
      const fetch = watched();
      const client = dial(r.url, {fetch, timeout: 300, maxRetries: 1}); // the timeout of a client is not sent
      await assert.rejects(client.chat.completions.create(ask('late=60s')), sdk.APIConnectionTimeoutError);
      assert.deepEqual(fetch.list.map((x) => [x.count, x.timeout]), [['0', null], ['1', null]]);
      await r.idle();
      const {started, max_inflight: most} = await r.stats();
      assert.deepEqual([started, most], [2, 1]);
    });

    test('a broken stream is an error, not a short answer', async (t) => {
      for (const fault of ['cut=3', 'error-event=3']) {
        const r = await start(t, {mock: {'token-by-token': true}});
        const stream = await dial(r.url).chat.completions.create({...ask(fault), stream: true});
        let n = 0;
        await assert.rejects(async () => { for await (const c of stream) n += c ? 1 : 0; }, (e) => {
          assert.ok(e instanceof sdk.APIError && !(e instanceof sdk.APIConnectionError), e);
          assert.match(e.message, /the upstream failed|the server had an error/i);
          return true;
        });
        assert.equal(n, 3, fault);
      }
    });

    test('a failure before the first token has a status', async (t) => {
      for (const [fault, status] of Object.entries({reset: 502, html: 502, empty: 502, 500: 500, 503: 503, 429: 503, 'error-event=0': 502})) {
        const r = await start(t); // one that failed is not asked again at once
        await assert.rejects(dial(r.url).chat.completions.create({...ask(fault), stream: true}), (e) => e.status === status || assert.fail(`${fault}: ${e.status} ${e.message}`));
      }
    });

    test('whatever form the upstream\'s stream has, the text is the same', async (t) => {
      const want = (await (await direct(t)).chat.completions.create(ask())).choices[0].message.content;
      for (const fault of ['crlf', 'comments', 'bytewise', 'gzip', 'no-done', 'no-finish']) { // B001, B007, B135
        const {text} = await read(await dial((await start(t)).url).chat.completions.create({...ask(fault), stream: true}));
        assert.equal(text, want, fault);
      }
      for (const [form, text] of Object.entries(stray)) { // B009, B010
        const r = await start(t, {upstream: await startScript(t, text)});
        const got = await read(await dial(r.url).chat.completions.create({...ask(), stream: true}));
        assert.equal(got.text, 'one two', form);
        assert.equal(got.chunks.at(-1).choices[0].finish_reason, 'stop', form);
      }
    });

    test('an event of 1.2 MB (B017)', async (t) => {
      const {text} = await read(await dial((await start(t)).url).chat.completions.create({...ask('big=1200000'), stream: true}));
      assert.ok(text.length > 1_200_000);
    });
  });
}
