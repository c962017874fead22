// Keys as rows, and what is typed about them.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {end, nameFault, open, place, rows, term, wish} from '../src/credentials.js';
import {sorted} from '../src/order.js';

const noon = new Date('2030-05-01T12:00:00Z');

test('a key is a row with its tenant; without keys anybody may call', () => {
  const tenants = [{name: 'shop', keys: [{id: 'ci'}, {id: 'old'}]}, {name: 'lab', keys: [{id: 'ci'}]}];
  assert.deepEqual(rows(tenants).map((k) => `${k.tenant} ${k.id}`), ['shop ci', 'shop old', 'lab ci']);
  assert.ok(!open(tenants));
  assert.ok(open([{name: 'open', keys: []}]), 'the one that stands for all callers has none');
});

test('what ends next comes first, what has ended last', () => {
  const keys = [{id: 'ended', ended: true, until: '2030-04-01T00:00:00Z'}, {id: 'forever'}, {id: 'late', until: '2030-09-01T12:00:00Z'}, {id: 'soon', until: '2030-05-03T12:00:00Z'}];
  assert.deepEqual(sorted(keys, (k) => term(k, noon).at, false).map((k) => k.id), ['soon', 'late', 'forever', 'ended']);
  assert.equal(term(keys[3], noon).level, 1, 'two days are few');
  assert.equal(term(keys[2], noon).level, 0);
  assert.match(term(keys[3], noon).text, /^until .* for 2 d$/);
  assert.match(term(keys[0], noon).text, /^ended /);
  assert.equal(term(keys[1], noon).text, 'until revoked');
});

test('a name that the gateway or an address would not take is said before it is sent', () => {
  for (const good of ['ci', 'a/b', 'ключ', '', '...', 'x'.repeat(128)]) assert.equal(nameFault(good, ['other']), undefined, good);
  for (const bad of ['two words', '.', '..', 'taken', 'x'.repeat(129)]) assert.ok(nameFault(bad, ['taken']), bad);
});

test('an end is a time to come, or none', () => {
  assert.deepEqual(end('', noon), {});
  assert.equal(Date.parse(end('2030-12-24T10:00', noon).value), new Date(2030, 11, 24, 10).getTime(), 'by the clock of this machine');
  assert.match(end('2030-12-24T10:00', noon).value, /:00Z$/);
  assert.ok(end('2029-12-24T10:00', noon).error);
  assert.ok(end('soon', noon).error);
});

test('names cannot leave their place in an address, and nothing empty is sent', () => {
  assert.equal(place('a/b', 'keys', 'ci?x#y', 'rotate'), 'tenants/a%2Fb/keys/ci%3Fx%23y/rotate');
  assert.deepEqual(wish({name: '', until: undefined, grace: '0s'}), {grace: '0s'});
});
