// The stream, and what is done when it breaks. Time is a list of what is due.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {backoff, follow, patience} from '../src/live.js';

/** A world of streams and timers that only moves when it is told to. */
function world(snapshot) {
  const w = {now: 0, due: [], streams: [], states: [], pictures: [], asked: 0};
  let id = 0;
  w.timers = {
    setTimeout: (run, ms) => (w.due.push({id: ++id, at: w.now + ms, run}), id),
    clearTimeout: (x) => { w.due = w.due.filter((d) => d.id !== x); },
  };
  const source = () => {
    const s = {closed: false, close: () => { s.closed = true; }, addEventListener: (_, f) => { s.tell = (data) => f({data}); }};
    w.streams.push(s);
    return s;
  };
  w.pass = async (ms) => {
    const end = w.now + ms;
    for (;;) {
      const next = w.due.filter((d) => d.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      w.now = next.at;
      w.due = w.due.filter((d) => d !== next);
      next.run();
      await new Promise(setImmediate);
    }
    w.now = end;
  };
  w.end = follow({source, snapshot: async () => (w.asked++, snapshot()), timers: w.timers}, {picture: (p) => w.pictures.push(p), state: (s) => w.states.push(s.mode)});
  return w;
}

const settled = () => new Promise(setImmediate);

test('pictures of the stream are passed on', () => {
  const w = world();
  w.streams[0].tell('{"n": 1}');
  w.streams[0].tell('{"n": ');
  w.streams[0].tell('{"n": 2}');
  assert.deepEqual(w.pictures, [{n: 1}, {n: 2}], 'half of one is left out');
  assert.equal(w.asked, 0);
  w.end();
  assert.deepEqual([w.streams[0].closed, w.due.length], [true, 0], 'nothing is left behind');
});

test('a stream that breaks is asked for at once, then each two seconds, and tried again', async () => {
  const w = world(() => ({n: 'asked'}));
  w.streams[0].tell('{"n": 1}');
  w.streams[0].onerror();
  await settled();
  assert.deepEqual(w.states, ['live', 'polling']);
  await w.pass(2000);
  assert.equal(w.asked, 2);
  assert.equal(w.streams.length, 2, 'tried again after about a second');
  w.streams[1].tell('{"n": 3}');
  const asked = w.asked;
  await w.pass(4000);
  assert.equal(w.asked, asked, 'nobody asks while the stream lives');
  assert.equal(w.states.at(-1), 'live');
  w.end();
});

test('a stream that says nothing is broken too', async () => {
  const w = world(() => ({}));
  w.streams[0].tell('{}');
  await w.pass(3 * patience);
  assert.ok(w.streams[0].closed);
  assert.equal(w.states.at(-1), 'polling');
  w.end();
});

test('nothing answers', async () => {
  const w = world(() => { throw new Error('gone'); });
  w.streams[0].onerror();
  await settled();
  assert.deepEqual(w.states, ['lost']);
  await w.pass(4000);
  assert.ok(w.asked >= 2, 'it goes on asking');
  w.end();
  const {asked} = w;
  await w.pass(60_000);
  assert.equal(w.asked, asked, 'until it is ended');
});

test('new tries come later and later, within half a minute, not all at once', () => {
  assert.deepEqual([0, 1, 4, 5, 50].map((n) => backoff(n, 0.5)), [1000, 2000, 16_000, 30_000, 30_000]);
  assert.deepEqual([backoff(0, 0), backoff(0, 1)], [750, 1250]);
});
