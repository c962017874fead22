// The AI SDK's own provider for OpenAI, which speaks responses unless told otherwise.

import assert from 'node:assert/strict';
import {describe, it} from 'node:test';

import {createOpenAI} from '@ai-sdk/openai';
import {APICallError, generateText, stepCountIs, streamText, tool} from 'ai';
import {z} from 'zod';

import {key, patience, start} from './rig.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

const prompt = 'When does the office open?';
const test = (what, body) => it(what, {timeout: 2 * patience}, body);
const provider = (url) => createOpenAI({baseURL: url, apiKey: key});
const options = {openai: {store: false}}; // nothing is stored here, so items travel whole

for (const kind of ['openai', 'anthropic', 'gemini']) {
  for (const surface of ['responses', 'chat']) {
    describe(`ai with @ai-sdk/openai, ${surface}, a provider of kind ${kind}`, {concurrency: false}, () => {
      const dial = (url) => provider(url)[surface]('chat');

      test('generateText and streamText give the same text and usage', async (t) => {
        const whole = await generateText({model: dial((await start(t, {kind})).url), prompt, providerOptions: options});
        const streamed = streamText({model: dial((await start(t, {kind})).url), prompt, providerOptions: options, maxRetries: 0});
        assert.ok(whole.text.length > 0);
        assert.equal(await streamed.text, whole.text);
        assert.deepEqual([whole.finishReason, await streamed.finishReason], ['stop', 'stop']);
        for (const usage of [whole.usage, await streamed.usage]) assert.deepEqual([usage.inputTokens, usage.outputTokens], [7, 40]);
        assert.equal(whole.response.modelId, 'chat');
      });

      test('a tool is called, whole and streamed, and its result goes back', async (t) => {
        const model = dial((await start(t, {kind, mock: {'token-by-token': true}})).url);
        for (const streamed of [false, true]) {
          const asked = [];
          const call = {
            model, prompt, providerOptions: options, stopWhen: stepCountIs(2),
            tools: {opening_hours: tool({
              inputSchema: z.object({city: z.string(), days: z.number().int()}),
              execute: async (input) => { asked.push(input); return '9 to 17'; },
            })},
            prepareStep: ({stepNumber}) => ({toolChoice: stepNumber === 0 ? 'required' : 'auto'}),
          };
          const text = await (streamed ? streamText(call) : await generateText(call)).text;
          assert.deepEqual(asked, [{city: 'Zürich 北', days: 1}]);
          assert.ok(text.length > 0);
        }
      });

      test('a broken stream is an error, not a short answer', async (t) => {
        const r = await start(t, {kind, mock: {'token-by-token': true, faults: 'cut=6=1'}});
        const result = streamText({model: dial(r.url), prompt, providerOptions: options, maxRetries: 0, onError: () => {}});
        const errors = [];
        try {
          for await (const p of result.fullStream) if (p.type === 'error') errors.push(p.error);
        } catch (e) {
          errors.push(e);
        }
        assert.ok(errors.length > 0);
      });
    });
  }
}

// Told nothing else, the provider takes answers for stored and names their items
// instead of sending them.
test('an item of an answer that is not stored is refused, and the error says what to do', async (t) => {
  const r = await start(t, {kind: 'anthropic'});
  const model = provider(r.url).responses('chat');
  const {response} = await generateText({model, prompt, maxRetries: 0});
  const call = generateText({model, maxRetries: 0, messages: [{role: 'user', content: prompt}, ...response.messages, {role: 'user', content: prompt}]});
  await assert.rejects(call, (e) => (APICallError.isInstance(e) && e.statusCode === 400 && !e.isRetryable && /send the item itself/.test(e.message)) || assert.fail(`${e.statusCode} ${e.message}`));
});
