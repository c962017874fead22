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
  const int = {type: 'integer', value: 3}, time = {type: 'duration', value: '2s'}, list = {type: 'list', value: ['a']};
  assert.deepEqual(parse(int, ' 40 '), {value: 40});
  for (const wrong of ['', '4.5', 'many']) assert.ok(parse(int, wrong).error, wrong);
  assert.deepEqual(parse({type: 'number'}, '0.5'), {value: 0.5});
  assert.deepEqual(parse(time, '90s'), {value: '90s'});
  assert.deepEqual(parse({type: 'boolean'}, 'false'), {value: false});
  assert.ok(parse({type: 'boolean'}, 'no').error);
  assert.deepEqual(parse({enum: ['observe', 'enforce']}, 'observe'), {value: 'observe'});
  assert.ok(parse({enum: ['observe', 'enforce']}, 'watch').error);
  assert.deepEqual(parse(list, '["a", "b"]'), {value: ['a', 'b']});
  assert.ok(parse(list, '["a", ').error);
  for (const s of [int, time, list]) assert.deepEqual(parse(s, edited(s.value)), {value: s.value}, 'what is shown can be sent as it is');
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
