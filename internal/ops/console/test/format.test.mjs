import assert from 'node:assert/strict';
import {test} from 'node:test';

import {amount, count, dollars, moment, seconds, share, value} from '../src/format.js';

test('seconds', () => {
  for (const [s, want] of [
    [0, '0 s'], [0.0001, '< 1 ms'], [0.34, '340 ms'], [0.9994, '999 ms'], [0.9996, '1.0 s'], [4.2, '4.2 s'], [9.94, '9.9 s'], [9.96, '10 s'],
    [119.4, '119 s'], [119.6, '2 min'], [200, '3 min 20 s'], [7199, '119 min 59 s'], [7200, '2 h'], [7500, '2 h 5 min'], [172800, '2 d'], [180000, '2 d 2 h'],
    [-3, '-3.0 s'], [NaN, '–'], [undefined, '–'], [Infinity, '–'],
  ]) assert.equal(seconds(s), want, `${s}`);
});

test('amounts keep three digits', () => {
  for (const [n, want] of [[0, '0'], [7, '7'], [0.123, '0.12'], [1.5, '1.5'], [42.34, '42.3'], [99.96, '100'], [1234, '1234'], [12_345, '12.3 k'], [1_500_000, '1.5 M'], [2e9, '2 G'], [-0.001, '0'], [NaN, '–']]) {
    assert.equal(amount(n), want, `${n}`);
  }
});

test('a share that is not nothing is not 0 %', () => {
  for (const [x, want] of [[0, '0 %'], [0.004, '< 1 %'], [0.5, '50 %'], [0.999, '> 99 %'], [1, '100 %'], [NaN, '–']]) assert.equal(share(x), want.replaceAll(' ', '\u00a0'), 'it does not break');
});

test('dollars', () => {
  for (const [d, want] of [[0, '$0'], [0.0042, '$0.0042'], [1.5, '$1.50'], [1234.5, '$1,235'], [-2, '-$2.00'], [undefined, '–']]) assert.equal(dollars(d), want);
});

test('counts, moments and values', () => {
  assert.equal(count(1, 'request'), '1 request');
  assert.equal(count(0, 'request'), '0 requests');
  const now = new Date(2026, 2, 1, 12, 0, 0);
  assert.equal(moment(new Date(2026, 2, 1, 3, 4, 5), now), '03:04:05');
  assert.equal(moment(new Date(2026, 1, 28, 3, 4, 5), now), '2026-02-28 03:04:05');
  assert.equal(moment('not a time', now), '–');
  assert.deepEqual([null, '', '2s', 3, false, ['a']].map(value), ['not set', 'empty', '2s', '3', 'false', '["a"]']);
});
