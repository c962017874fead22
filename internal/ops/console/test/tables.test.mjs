// Order and search of tables; settings as they are typed and compared.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {compare, edited, parse, pieces} from '../src/knobs.js';
import {matches, sorted} from '../src/order.js';

test('rows that are alike keep their order; what has no figure comes last either way', () => {
  const rows = [{n: 'a', v: 1}, {n: 'b'}, {n: 'c', v: 3}, {n: 'd', v: 1}];
  const names = (down) => sorted(rows, (r) => r.v, down).map((r) => r.n).join('');
  assert.equal(names(false), 'adcb');
  assert.equal(names(true), 'cadb');
  assert.deepEqual(sorted([{n: 'gpu-10'}, {n: 'gpu-9'}], (r) => r.n, false).map((r) => r.n), ['gpu-9', 'gpu-10']);
  assert.equal(rows[0].n, 'a', 'the rows themselves stay as they are');
});

test('a search finds all of its words, in any order', () => {
  assert.ok(matches('models.chat.queue.total', 'queue Chat'));
  assert.ok(!matches('models.chat.queue.total', 'queue embed'));
  assert.ok(matches('anything', '  '));
});

test('paths in a text lead to their setting', () => {
  assert.deepEqual(pieces('models.chat.deployments[].concurrency, for classes.batch.max_wait'), [
    {text: 'models.chat.deployments[].concurrency', search: 'models.chat.deployments .concurrency'}, {text: ', for '},
    {text: 'classes.batch.max_wait', search: 'classes.batch.max_wait'},
  ]);
  assert.deepEqual(pieces('tenants[a shop].models.chat.rpm').map((p) => p.search), ['tenants[a shop].models.chat.rpm']);
  assert.deepEqual(pieces('retry'), [{text: 'retry'}]);
});

test('what is typed is a value, or says what it should be', () => {
  const of = (type, value, more) => ({type, value, ...more});
  const words = {enum: ['observe', 'enforce']};
  for (const [setting, text, value] of [
    [of('number', 3), ' 40 ', 40], [of('decimal', 1), '0.5', 0.5], [of('dollars', 1), '12.5', 12.5], [of('duration', '2s'), '90s', '90s'],
    [of('size', '64KiB'), '128KiB', '128KiB'], [of('size', 1), '2048', 2048], [of('percent', 5), '7%', '7%'], [of('time', null), '2026-12-24T00:00:00Z', '2026-12-24T00:00:00Z'],
    [of('text', 'a'), '42', '42'], [of('switch', true), 'false', false], [of('text', 'enforce', words), 'observe', 'observe'],
    [of('list', ['a']), '["a", "b"]', ['a', 'b']], [of('list', ['observe'], words), '["enforce"]', ['enforce']], [of('object', {}), '{"a": 1}', {a: 1}],
  ]) {
    assert.deepEqual(parse(setting, text), {value}, `${setting.type} ${text}`);
    if (setting.value !== null) assert.deepEqual(parse(setting, edited(setting.value)), {value: setting.value}, `${setting.type}: what is shown can be sent as it is`);
  }
  for (const [setting, text] of [
    [of('number', 3), ''], [of('number', 3), '4.5'], [of('number', 3), 'many'], [of('decimal', 1), 'half'], [of('switch', true), 'no'],
    [of('text', 'enforce', words), 'watch'], [of('list', []), '["a", '], [of('object', {}), 'a'], [of('duration', '2s'), ' '],
  ]) assert.ok(parse(setting, text).error, `${setting.type} ${text}`);
  assert.equal(edited(null), '');
});

test('now beside then: better, worse, the same', () => {
  const rows = compare({on_time: 100, refused: 10, offered: 110, wait_p99_s: 4}, {on_time: 120, refused: 12, offered: 115, wait_p99_s: 4.001}, {on_time: 98});
  const of = (key) => rows.find((r) => r.key === key);
  assert.equal(of('on_time').change, 'better');
  assert.equal(of('on_time').measured, 98);
  assert.equal(of('refused').change, 'worse');
  assert.equal(of('offered').change, 'differs');
  assert.equal(of('wait_p99_s').change, 'same', 'half a per cent is nothing');
  assert.equal(of('cost_dollars'), undefined, 'nobody told it');
});
