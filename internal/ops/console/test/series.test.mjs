import assert from 'node:assert/strict';
import {test} from 'node:test';

import {add, bins, decisions, endings, figures, keep, merge, placed, refused, stages, sum, waits, words} from '../src/series.js';

const second = (at, more = {}) => ({at, offered: 4, ran: 2, queued: 1, degraded: 0, refused: {wait: 1}, good: 3, late: 0, failed: 0, left: 0, started: 1, wait_s: 2, predicted_s: 3, worst_s: 2, ttft_s: 0, ...more});

test('seconds are added in order, once, and forgotten after a quarter of an hour', () => {
  let list = [];
  for (let at = 1; at <= keep + 10; at++) list = add(list, second(at));
  assert.equal(list.length, keep);
  assert.deepEqual([list[0].at, list.at(-1).at], [11, keep + 10]);
  assert.equal(add(list, second(5)), list, 'one from before');
  const again = add(list, second(keep + 10, {ran: 9}));
  assert.deepEqual([again.length, again.at(-1).ran], [keep, 9]);
  assert.equal(add(list, undefined), list);
  assert.equal(add(list, {at: 0}), list, 'no second is over');
});

test('history and what came live meanwhile are one list', () => {
  const all = merge([second(1), second(2), second(3, {ran: 1})], [second(3, {ran: 7}), second(4)]);
  assert.deepEqual(all.map((s) => [s.at, s.ran]), [[1, 2], [2, 2], [3, 7], [4, 2]]);
});

test('mean waits are over requests, not over seconds', () => {
  const s = sum([second(1, {started: 9, wait_s: 1, predicted_s: 1}), second(2, {started: 1, wait_s: 11, predicted_s: 2, refused: {wait: 1, bound: 2}}), second(3, {started: 0, wait_s: 0})]);
  assert.deepEqual([s.wait_s, s.predicted_s, s.refused, refused(s)], [2, 1.1, {wait: 3, bound: 2}, 5]);
  assert.ok(Number.isNaN(sum([second(1, {started: 0})]).wait_s));
});

test('bins begin at multiples of their width; what is missing is a gap', () => {
  const list = [];
  for (let at = 1000; at < 1900; at++) if (at < 1500 || at >= 1520) list.push(second(at));
  const b = bins(list, 900);
  assert.ok(b.every((x) => x.at % 5 === 0));
  assert.equal(b.length, 180);
  assert.deepEqual(b.filter((x) => x.seconds === 0).map((x) => x.at), [1500, 1505, 1510, 1515]);
  assert.equal(decisions(b, []).lines[0].values[100], null);
  assert.equal(bins(list, 120).length, 120, 'a second each');
  assert.deepEqual(bins([], 120), []);
  assert.equal(sum(bins(list, 900)).offered, 4 * list.length, 'every second is in one bin');
});

test('areas stand on each other and end at the sum', () => {
  const b = bins([second(1000, {refused: {wait: 3, bound: 1, spend: 1}})], 120);
  const names = stages(b, 2);
  assert.deepEqual(names, ['wait', 'bound']);
  const {lines} = decisions(b, names);
  assert.deepEqual(lines.map((l) => [l.label, l.own[0], l.values[0]]), [
    ['run at once', 2, 2], ['queued', 1, 3], ['refused: wait', 3, 6], ['refused: bound', 1, 7], ['refused: other', 1, 8],
  ]);
});

test('a stage keeps its place, and so its colour, while it is shown', () => {
  let places = placed([], ['wait', 'bound']);
  assert.deepEqual(places, ['wait', 'bound']);
  places = placed(places, ['requests', 'bound']);
  assert.deepEqual(places, ['requests', 'bound'], 'in the place that is free');
  places = placed(places, ['bound']);
  assert.deepEqual(places, [undefined, 'bound']);
  assert.deepEqual(decisions(bins([second(1000, {refused: {bound: 1}})], 120), places).lines.map((l) => [l.label, l.hue]), [
    ['run at once', undefined], ['queued', undefined], ['refused: bound', 3], ['refused: other', 6],
  ]);
  assert.deepEqual(placed(places, ['spend', 'bound', 'wait']), ['spend', 'bound', 'wait']);
});

test('a second in which nothing started has no wait, not one of 0', () => {
  const b = bins([second(1000, {started: 0, wait_s: 0})], 120);
  assert.deepEqual(waits(b).lines.map((l) => l.values[0]), [null, null, null]);
  assert.equal(endings(b).lines[0].values[0], 3);
});

test('each chart in a sentence', () => {
  const w = words([second(1), second(2)]);
  assert.equal(w.decisions, '4/s offered: 2/s run at once, 1/s queued, 1/s refused (wait 1/s), 0/s in a cheaper form.');
  assert.equal(w.waits, '2 requests came out of a queue after 2.0 s; 3.0 s had been predicted. Longest 2.0 s.');
  assert.equal(w.endings, '3/s in time, 0/s late, 0/s failed, 0/s left.');
  assert.equal(words([]).waits, 'No second is over yet.');
  assert.equal(words([second(1, {started: 0, offered: 0, refused: {}})]).decisions, 'Nothing was offered in the last ten seconds.');
});

test('a chart as a table has at most twelve rows, newest first, of what each line is itself', () => {
  const list = [];
  for (let at = 1000; at < 1100; at++) list.push(second(at));
  const t = figures(decisions(bins(list, 120), ['wait']));
  assert.ok(t.rows.length <= 12);
  assert.deepEqual([t.rows[0].at, t.rows[0].values], [1099, [2, 1, 1, 0]]);
});
