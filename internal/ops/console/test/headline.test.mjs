// What the page says is wrong, over pictures of incidents.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {announce, facts, headline} from '../src/headline.js';

const at = '2026-03-01T03:00:00Z';

/** A picture in which nothing is wrong, with what differs. */
const picture = (more = {}) => ({at, uptime_s: 60, active: 4, models: [model()], tenants: [], lanes: [], upstreams: [], budgets: [], ...more});

const model = (more = {}) => ({model: 'chat', slots: 40, running: 4, brownout: 1, queue_total: 200, classes: [], ...more});
const waits = (name, waiting, wait_s, more = {}) => ({class: name, waiting, wait_s, high_s: 0, level: 0, ...more});
const upstream = (breaker, more = {}) => ({name: 'gpu', breaker: {state: 'closed', share: 1, step: 0, ...breaker}, keys: [], ...more});

/** The same second ten times. */
const seconds = (more) => Array.from({length: 10}, (_, i) => ({at: 100 + i, offered: 10, ran: 10, queued: 0, degraded: 0, good: 10, late: 0, failed: 0, left: 0, started: 0, wait_s: 0, predicted_s: 0, worst_s: 0, ttft_s: 0, ...more}));

const plain = (text) => text?.replaceAll('\u00a0', ' ');
const says = (p, recent) => facts(p, recent).map((f) => plain(f.text));

test('nothing is wrong', () => {
  const head = headline(picture(), seconds());
  assert.equal(head.level, 0);
  assert.equal(head.text, 'Nothing is wrong: 4 requests run, nothing waits, nothing is refused.');
  assert.deepEqual(head.more, []);
  assert.equal(headline(picture({models: []})).text, 'Nothing is wrong: nothing runs, nothing waits.');
});

test('a queue, with the wait of the best class that waits', () => {
  const classes = [waits('interactive', 0, 0.2), waits('standard', 9, 4.2), waits('batch', 3, 40)];
  assert.deepEqual(says(picture({models: [model({running: 40, classes})]})), ['chat: 12 wait, predicted 4.2 s for standard.']);
});

test('a queue that is nearly full is wrong, one that is not is busy', () => {
  const full = (n) => headline(picture({models: [model({running: 40, classes: [waits('standard', n, 4.2)]})]}));
  assert.equal(full(159).level, 1);
  assert.equal(full(160).level, 2);
  assert.match(full(160).text, /the queue is 80\s% full/);
});

test('a predicted wait above its watermark is wrong', () => {
  const head = headline(picture({models: [model({classes: [waits('standard', 2, 6, {high_s: 5})]})]}));
  assert.equal(head.level, 2);
  assert.match(head.text, /above the watermark/);
});

test('slots that are all in use are named before anything waits', () => {
  assert.deepEqual(says(picture({models: [model({running: 40})]})), ['chat: all 40 slots are in use, nothing waits yet.']);
});

test('who is refused most is named, if it is most of them', () => {
  const recent = seconds({ran: 6, refused: {wait: 3, bound: 1}});
  const tenants = (a, b) => [{tenant: 'shop', refused_per_s: a}, {tenant: 'lab', refused_per_s: b}];
  assert.deepEqual(says(picture({tenants: tenants(81, 19)}), recent), ['40 % of requests are refused (4/s), most by wait: it would come too late; 81 % of refusals are of tenant shop.']);
  assert.deepEqual(says(picture({tenants: tenants(40, 60)}), recent)[0].includes('60 % of refusals are of tenant lab'), true);
  const many = [...tenants(4, 3), {tenant: 'mail', refused_per_s: 3}];
  assert.deepEqual(says(picture({tenants: many}), recent), ['40 % of requests are refused (4/s), most by wait: it would come too late.']);
  assert.equal(headline(picture(), seconds({refused: {wait: 1}})).level, 2, 'a tenth');
  assert.equal(headline(picture(), [...seconds().slice(1), seconds({refused: {wait: 1}})[0]]).level, 1, 'one in a hundred');
});

test('a tenant that meets its own limit is not wrong', () => {
  const level = (second) => headline(picture(), seconds(second)).level;
  assert.equal(level({ran: 2, refused: {requests: 8}}), 1);
  assert.equal(level({ran: 2, refused: {requests: 7, wait: 1}}), 2, 'a tenth by another stage');
});

test('refusals of a minute ago are over', () => {
  assert.deepEqual(says(picture(), [...seconds({refused: {wait: 9}}), ...seconds()]), []);
});

test('upstreams by what they can be trusted with', () => {
  const text = (u) => says(picture({upstreams: [u]}))[0];
  assert.equal(text(upstream({state: 'open', share: 0, reason: 'consecutive', until: '2026-03-01T03:00:12Z'})), 'Upstream gpu gets nothing after failures in a row; it is tried again in 12 s.');
  assert.equal(text(upstream({state: 'half_open', share: 0, reason: 'errors'})), 'Upstream gpu is being tried again after errors.');
  assert.equal(text(upstream({state: 'recovering', share: 0.4, step: 4, reason: 'errors'})), 'Upstream gpu is at 40 % and coming back after errors: step 4 of 10.');
  assert.equal(text(upstream({share: 0.8})), 'Upstream gpu is at 80 % after errors.');
  assert.equal(text(upstream({latency_warning: true})), 'Upstream gpu is slower than it should be.');
  assert.equal(text(upstream({})), undefined);
  assert.equal(text(upstream({state: 'open', share: 0}, {state: 'drained'})), 'Upstream gpu is drained: it gets no new calls.', 'somebody meant it');
  assert.equal(text(upstream({}, {state: 'enabled'})), undefined);
  assert.equal(text(upstream({}, {keys: [{refused_until: at}]})), 'Upstream gpu refuses its key: wrong, withdrawn or out of money.');
  assert.equal(text(upstream({}, {keys: [{refused_until: at}, {}]})), 'Upstream gpu refuses 1 of its 2 keys: wrong, withdrawn or out of money.');
  assert.equal(text(upstream({}, {keys: [{paused_until: '2026-03-01T03:00:30Z'}]})), 'Upstream gpu asked for a pause of 30 s.');
  assert.equal(text(upstream({}, {keys: [{paused_until: '2026-03-01T03:00:30Z'}, {}]})), undefined, 'the other key goes on');
});

test('an upstream much slower than the others of its model is named', () => {
  const of = (times_others_take, rest) => picture({upstreams: [upstream({}, {name: 'a', model: 'chat', times_others_take, ...rest})]});
  assert.deepEqual(says(of(4)), ['Upstream a takes 4.0 times as long as the others of chat.']);
  assert.equal(headline(of(3)).level, 2);
  assert.equal(headline(of(2)).level, 1);
  assert.deepEqual(says(of(1.9)), [], 'as upstreams are');
  assert.deepEqual(says(of(undefined)), [], 'it is alone');
  assert.deepEqual(says(of(undefined, {state: 'drained'})), ['Upstream a is drained: it gets no new calls.']);
});

test('many of a kind are counted, the worst are named', () => {
  const list = [...Array.from({length: 6}, (_, i) => upstream({share: 0.8}, {name: `g${i}`})), upstream({state: 'open', share: 0}, {name: 'last'})];
  const all = says(picture({upstreams: list}));
  assert.equal(all.length, 4);
  assert.match(all[0], /last gets nothing/);
  assert.equal(all[3], '4 more upstreams are in trouble.');
});

test('budgets that end', () => {
  const budget = (more) => ({scope: 'tenant', tenant: 'shop', span: 'day', limit_dollars: 500, spent_dollars: 100, held_dollars: 0, last_minute_dollars: 2, alarm: 'calm', ...more});
  const text = (b) => says(picture({budgets: [b]}))[0];
  assert.equal(text(budget({})), undefined);
  assert.equal(text(budget({spent_dollars: 498, held_dollars: 2})), 'The day budget of tenant shop is used up: $498.00 of $500.00.');
  assert.equal(text(budget({alarm: 'fast', lasts_s: 1800})), 'The day budget of tenant shop is spent too fast: $2.00 in the last minute, used up in 30 min.');
  assert.equal(text(budget({alarm: 'soft', spent_dollars: 450, tenant: '', scope: 'all'})), 'The day budget of all is at 90 %.');
  assert.equal(text(budget({alarm: 'soft', spent_dollars: 450, scope: 'key', name: 'ci'})), 'The day budget of key ci of tenant shop is at 90 %.');
  assert.equal(text(budget({alarm: 'soft', spent_dollars: 450, scope: 'model', name: 'chat', tenant: ''})), 'The day budget of model chat is at 90 %.');
});

test('brownout, ladder, late answers, failures, predictions, trust', () => {
  assert.deepEqual(says(picture({models: [model({brownout: 1.6})]})), ['chat: calls take 1.6 times as long as they should.']);
  assert.deepEqual(says(picture({models: [model({classes: [waits('batch', 0, 0, {level: 2})]})]})), ['chat: batch served in a cheaper form, level 2 of 3.']);
  assert.deepEqual(says(picture(), seconds({late: 1, good: 9})), ['10 % of answers come after their deadline.']);
  assert.deepEqual(says(picture(), seconds({failed: 5, good: 5})), ['50 % of what was served failed.']);
  assert.deepEqual(says(picture(), seconds({started: 5, wait_s: 6, predicted_s: 2})), ['Waits are 3.0 times what was predicted: 6.0 s, not 2.0 s.']);
  assert.deepEqual(says(picture(), seconds({started: 5, wait_s: 3, predicted_s: 2})), [], 'one and a half is as good as predictions are');
  assert.deepEqual(says(picture({tenants: [{tenant: 'lab', refused_per_s: 0, distrusted: true}]})), ['Predictions refused too much of lab, and are not believed there for the moment.']);
});

test('the worst comes first, whatever order the rules have', () => {
  const p = picture({draining: true, models: [model({running: 40})], upstreams: [upstream({state: 'open', share: 0})]});
  assert.match(headline(p).text, /is stopping/);
  assert.deepEqual(facts(p).map((f) => f.level), [2, 2, 1]);
});

test('a picture with nothing in it is no error', () => {
  assert.equal(headline({at}).level, 0);
});

test('what is read aloud: changes of kind after ten seconds, the same after a minute', () => {
  const head = (text, level = 1) => ({level, text});
  const first = announce(undefined, head('chat: 12 wait, predicted 4.2 s.'), 0);
  assert.equal(first.text, 'busy: chat: 12 wait, predicted 4.2 s.');
  assert.equal(announce(first, head('chat: 15 wait, predicted 5 s.'), 11_000), first, 'only figures moved');
  assert.equal(announce(first, head('gpu gets nothing.', 2), 9_000), first, 'too soon');
  assert.equal(announce(first, head('gpu gets nothing.', 2), 10_000).text, 'wrong: gpu gets nothing.');
  assert.equal(announce(first, head('chat: 15 wait, predicted 5 s.'), 60_000).text, 'busy: chat: 15 wait, predicted 5 s.');
});
