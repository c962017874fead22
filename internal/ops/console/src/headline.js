// What is wrong now, in words, by plain rules over a picture. Each rule gives
// facts; the worst comes first and is the headline. Nothing here knows of the page.

import {amount, count, dollars, rate, seconds, share} from './format.js';
import {refused, sum} from './series.js';

/** How bad a fact is. The word is shown beside the colour. */
export const levels = ['fine', 'busy', 'wrong'];

const fine = 0, busy = 1, wrong = 2;

/** Of refusals, from which share on one tenant is named. */
const bulk = 0.5;

/**
 * Facts of a picture, worst first; of equals, in the order of the rules, which go
 * from cause to effect. recent are the last seconds, oldest first.
 */
export function facts(picture, recent = []) {
  const last = recent.slice(-10);
  const found = [
    ...draining(picture), ...upstreams(picture), ...queues(picture), ...refusals(picture, last), ...budgets(picture),
    ...answers(last), ...predictions(last), ...distrust(picture),
  ];
  return found.map((f, i) => [f, i]).sort(([a, i], [b, j]) => b.level - a.level || (b.weight ?? 0) - (a.weight ?? 0) || i - j).map(([f]) => f);
}

/** The headline: a level, a sentence, and the facts after the first. */
export function headline(picture, recent = []) {
  const all = facts(picture, recent);
  if (!all.length) return {level: fine, text: quiet(picture), more: []};
  return {level: all[0].level, text: all[0].text, to: all[0].to, more: all.slice(1)};
}

function quiet(p) {
  const running = (p.models ?? []).reduce((n, m) => n + m.running, 0);
  if (!running) return 'Nothing is wrong: nothing runs, nothing waits.';
  return `Nothing is wrong: ${count(running, 'request')} ${running === 1 ? 'runs' : 'run'}, nothing waits, nothing is refused.`;
}

function draining(p) {
  return p.draining ? [{level: wrong, weight: 1, text: `The gateway is stopping: it takes no new requests, ${amount(p.active)} are still at work.`, to: 'models'}] : [];
}

/** Why a breaker opened, in words. */
export const reasons = {
  errors: 'errors', consecutive: 'failures in a row', out_of_memory: 'running out of memory', slow_first_token: 'slow first tokens', slow_tokens: 'slow tokens', slow_calls: 'slow calls',
};
const because = (b) => (b.reason ? ` after ${reasons[b.reason] ?? b.reason}` : '');

function upstreams(p) {
  const found = [];
  const now = Date.parse(p.at);
  const ahead = (t) => seconds(Math.max(0, (Date.parse(t) - now) / 1000));
  for (const u of p.upstreams ?? []) {
    const b = u.breaker ?? {};
    const to = 'upstreams';
    if (u.state && u.state !== 'enabled') { // on purpose: its breaker does not matter
      found.push({level: busy, text: `Upstream ${u.name} is ${u.state}: it gets no new calls.`, to});
      continue;
    }
    if (b.state === 'open') {
      found.push({level: wrong, text: `Upstream ${u.name} gets nothing${because(b)}${b.until ? `; it is tried again in ${ahead(b.until)}` : ''}.`, to});
    } else if (b.state === 'half_open') {
      found.push({level: wrong, text: `Upstream ${u.name} is being tried again${because(b)}.`, to});
    } else if (b.state === 'recovering') {
      found.push({level: busy, text: `Upstream ${u.name} is at ${share(b.share)} and coming back${because(b)}: step ${b.step} of 10.`, to});
    } else if (b.share < 0.995) {
      found.push({level: b.share < 0.5 ? wrong : busy, text: `Upstream ${u.name} is at ${share(b.share)} after errors.`, to});
    }
    const keys = u.keys ?? [];
    const denied = keys.filter((k) => k.refused_until).length, paused = keys.filter((k) => k.paused_until);
    if (denied) found.push({level: denied === keys.length ? wrong : busy, text: `Upstream ${u.name} refuses ${denied === keys.length ? 'its key' : `${denied} of its ${keys.length} keys`}${denied === keys.length && denied > 1 ? 's' : ''}: wrong, withdrawn or out of money.`, to});
    if (paused.length && paused.length === keys.length) found.push({level: busy, text: `Upstream ${u.name} asked for a pause of ${ahead(paused.map((k) => k.paused_until).sort()[0])}.`, to});
    const slow = u.times_others_take;
    if (slow >= 2) found.push({level: slow >= 3 ? wrong : busy, text: `Upstream ${u.name} takes ${slow.toFixed(1)} times as long as the others of ${u.model}.`, to});
    if (b.latency_warning) found.push({level: busy, text: `Upstream ${u.name} is slower than it should be.`, to});
  }
  return grouped(found, 3, 'upstreams', 'more upstreams are in trouble');
}

function queues(p) {
  const found = [];
  for (const m of p.models ?? []) {
    const waiting = (m.classes ?? []).filter((c) => c.waiting > 0);
    const n = waiting.reduce((all, c) => all + c.waiting, 0);
    const low = (m.classes ?? []).filter((c) => c.level > 0);
    if (n) {
      const first = waiting[0];
      const full = m.queue_total > 0 ? n / m.queue_total : 0;
      const over = waiting.some((c) => c.high_s > 0 && c.wait_s >= c.high_s);
      found.push({
        level: full >= 0.8 || over ? wrong : busy, weight: n,
        text: `${m.model}: ${amount(n)} wait, predicted ${seconds(first.wait_s)} for ${first.class}${full >= 0.8 ? `; the queue is ${share(full)} full` : over ? ', above the watermark' : ''}.`, to: 'models',
      });
    } else if (m.slots > 0 && m.running >= m.slots) {
      found.push({level: busy, text: `${m.model}: all ${amount(m.slots)} slots are in use, nothing waits yet.`, to: 'models'});
    }
    if (m.brownout >= 1.3) found.push({level: m.brownout >= 2 ? wrong : busy, text: `${m.model}: calls take ${m.brownout.toFixed(1)} times as long as they should.`, to: 'models'});
    if (low.length) found.push({level: busy, text: `${m.model}: ${low.map((c) => c.class).join(', ')} served in a cheaper form, level ${Math.max(...low.map((c) => c.level))} of 3.`, to: 'models'});
  }
  const order = found.map((f, i) => [f, i]).sort(([a, i], [b, j]) => b.level - a.level || (b.weight ?? 0) - (a.weight ?? 0) || i - j).map(([f]) => ({...f, weight: 0}));
  return grouped(order, 3, 'models', 'more about models');
}

/** Stages that refuse because somebody wrote a limit for a tenant: they do what they are there for. */
const own = ['concurrency', 'requests', 'tokens', 'spend', 'pace'];

function refusals(p, last) {
  if (!last.length) return [];
  const s = sum(last), n = refused(s);
  if (!n) return [];
  const stage = Object.keys(s.refused).sort((a, b) => s.refused[b] - s.refused[a])[0];
  const part = n / Math.max(s.offered, n);
  const unwanted = (n - own.reduce((sum, stage) => sum + (s.refused[stage] ?? 0), 0)) / Math.max(s.offered, n);
  const tenants = p.tenants ?? [];
  const all = tenants.reduce((sum, t) => sum + t.refused_per_s, 0);
  const top = tenants.reduce((a, b) => (b.refused_per_s > (a?.refused_per_s ?? 0) ? b : a), undefined);
  const whose = top && all > 0 && tenants.length > 1 && top.refused_per_s / all >= bulk ? `; ${share(top.refused_per_s / all)} of refusals are of tenant ${top.tenant}` : '';
  return [{
    level: unwanted >= 0.1 ? wrong : busy,
    text: `${share(part)} of requests are refused (${rate(n / s.seconds)}), most by ${stage}: ${why[stage] ?? stage}${whose}.`, to: 'refusals',
  }];
}

/** What each stage means, in few words. */
export const why = {
  unknown: 'tenant, model or class is not configured', deadline: 'no time was left on arrival', capacity: 'nothing upstream is usable',
  concurrency: 'a tenant has too many at once', requests: 'a tenant is over its requests a minute', tokens: 'a tenant is over its tokens a minute',
  spend: 'a budget is spent', pace: 'money is spent too fast', retry: 'too many retries', shed: 'the class is held back at this wait',
  wait: 'it would come too late', bound: 'the queue is full', late: 'the wait was longer than predicted', evicted: 'a better request took the place',
  cancelled: 'the caller left', free: 'no slot was free', ladder: 'no cheaper form fits', queue: 'it waited', dispatch: 'it could not start', again: 'no attempt was left',
};

/** A budget in words: whose and of what. */
export function budgetOf(b) {
  if (b.scope === 'all') return `${b.span} budget of all`;
  const whose = b.tenant ? `tenant ${b.tenant}` : '';
  if (b.scope === 'tenant') return `${b.span} budget of ${whose}`;
  return `${b.span} budget of ${b.scope} ${b.name}${whose && ` of ${whose}`}`;
}

function budgets(p) {
  const found = [];
  for (const b of p.budgets ?? []) {
    const used = b.limit_dollars > 0 ? (b.spent_dollars + b.held_dollars) / b.limit_dollars : 0;
    if (b.alarm === 'exhausted' || used >= 1) found.push({level: wrong, text: `The ${budgetOf(b)} is used up: ${dollars(b.spent_dollars)} of ${dollars(b.limit_dollars)}.`, to: 'budgets'});
    else if (b.alarm === 'fast') found.push({level: busy, text: `The ${budgetOf(b)} is spent too fast: ${dollars(b.last_minute_dollars)} in the last minute${b.lasts_s >= 0 ? `, used up in ${seconds(b.lasts_s)}` : ''}.`, to: 'budgets'});
    else if (b.alarm === 'soft') found.push({level: busy, text: `The ${budgetOf(b)} is at ${share(used)}.`, to: 'budgets'});
  }
  return grouped(found, 2, 'budgets', 'more budgets are near their end');
}

function answers(last) {
  const s = sum(last);
  const ended = s.good + s.late + s.failed;
  if (ended < 5) return [];
  const found = [];
  if (s.failed / ended >= 0.02) found.push({level: s.failed / ended >= 0.2 ? wrong : busy, text: `${share(s.failed / ended)} of what was served failed.`, to: 'endings'});
  if (s.late / ended >= 0.02) found.push({level: s.late / ended >= 0.2 ? wrong : busy, text: `${share(s.late / ended)} of answers come after their deadline.`, to: 'endings'});
  return found;
}

function predictions(last) {
  const s = sum(last);
  if (s.started < 10 || !(s.wait_s > 0.5) || !(s.predicted_s > 0)) return [];
  const off = s.wait_s / s.predicted_s;
  if (off < 2 && off > 0.5) return [];
  return [{level: busy, text: `Waits are ${off >= 2 ? `${off.toFixed(1)} times` : share(off)} ${off >= 2 ? 'what was' : 'of what was'} predicted: ${seconds(s.wait_s)}, not ${seconds(s.predicted_s)}.`, to: 'waits'}];
}

function distrust(p) {
  const list = (p.tenants ?? []).filter((t) => t.distrusted).map((t) => t.tenant);
  if (!list.length) return [];
  const rest = list.length > 2 ? ` and ${list.length - 2} more` : '';
  return [{level: busy, text: `Predictions refused too much of ${list.slice(0, 2).join(', ')}${rest}, and are not believed there for the moment.`, to: 'tenants'}];
}

/** At most n facts, and how many there are beyond. */
function grouped(found, n, to, words) {
  if (found.length <= n + 1) return found;
  const order = found.map((f, i) => [f, i]).sort(([a, i], [b, j]) => b.level - a.level || i - j).map(([f]) => f);
  const rest = order.slice(n);
  return [...order.slice(0, n), {level: rest[0].level, weight: -1, text: `${rest.length} ${words}.`, to}];
}

/**
 * What a screen reader is told: the headline when its kind changes, but not more
 * often than every ten seconds, and the same kind again after a minute. told is
 * {text, kind, at} of the last time, at in milliseconds.
 */
export function announce(told, head, at) {
  const kind = `${head.level} ${head.text.replace(/[\d.,<>]+ ?(ms|s|min|h|d|%|k|M)?/g, '#')}`;
  const pause = told && kind === told.kind ? 60_000 : 10_000;
  if (told && at - told.at < pause) return told;
  return {text: `${levels[head.level]}: ${head.text}`, kind, at};
}
