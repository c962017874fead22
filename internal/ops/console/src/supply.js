// What there is to give: upstreams and budgets.

import {useState} from 'preact/hooks';

import {post} from './api.js';
import {amount, clock, dollars, seconds, share} from './format.js';
import {budgetOf, reasons} from './headline.js';
import {html} from './html.js';
import {Fault} from './notice.js';
import {Table} from './table.js';

const states = {closed: 'in use', open: 'gets nothing', half_open: 'is tried', recovering: 'coming back'};
const rank = {open: 3, half_open: 2, recovering: 1, closed: 0};

const trouble = (u) => (rank[u.breaker.state] ?? 0) * 10 + (1 - u.breaker.share) + (inUse(u) ? 0 : 5);

// Somebody may have taken it out of use; a gateway that cannot do that does not say.
const inUse = (u) => !u.state || u.state === 'enabled';

function state(u) {
  const b = u.breaker;
  if (!inUse(u)) return {text: `${u.state}, gets no new calls`, level: 1};
  const parts = [states[b.state] ?? b.state];
  if (b.state === 'recovering') parts.push(`step ${b.step} of 10`);
  if (b.state === 'open' && b.until) parts.push(`next try ${clock(b.until)}`);
  if (b.reason && b.state !== 'closed') parts.push(reasons[b.reason] ?? b.reason);
  if (b.latency_warning) parts.push('slow');
  return {text: parts.join(', '), level: b.state === 'open' || b.state === 'half_open' ? 2 : b.state === 'recovering' || b.share < 0.995 || b.latency_warning ? 1 : 0};
}

function limits(u) {
  const list = u.keys ?? [];
  const parts = [];
  const add = (key, unit) => {
    const known = list.map((k) => k[key]).filter((n) => n !== undefined);
    if (known.length) parts.push(`${amount(known.reduce((a, b) => a + b))} ${unit}`);
  };
  add('requests_per_minute', 'requests/min');
  add('tokens_per_minute', 'tokens/min');
  const daily = list.reduce((n, k) => n + (k.tokens_daily_limit ?? 0), 0);
  if (daily) parts.push(`${amount(list.reduce((n, k) => n + k.tokens_today, 0))} of ${amount(daily)} tokens today`);
  const paused = list.filter((k) => k.paused_until), denied = list.filter((k) => k.refused_until);
  if (paused.length) parts.push(`${paused.length} of ${list.length} keys paused until ${clock(paused[0].paused_until)}`);
  if (denied.length) parts.push(`${denied.length} of ${list.length} keys refused`);
  return {text: parts.join('; ') || 'none known', level: denied.length ? 2 : paused.length ? 1 : 0};
}

const faults = (u) => Object.values(u.faults ?? {}).reduce((a, b) => a + b, 0);

const upstreamColumns = [
  {key: 'name', label: 'upstream', of: (u) => u.name, show: (u) => u.name},
  {key: 'model', label: 'model', wide: true, of: (u) => u.model, show: (u) => u.model},
  {key: 'state', label: 'state', long: true, of: (u) => -trouble(u), show: state},
  {key: 'share', label: 'share', num: true, of: (u) => u.breaker.share, show: (u) => ({text: share(u.breaker.share), bar: u.breaker.share, level: u.breaker.share < 0.5 ? 2 : u.breaker.share < 0.995 ? 1 : 0})},
  {key: 'running', label: 'running', num: true, of: (u) => u.running, show: (u) => `${amount(u.running)} of ${amount(u.usable)}${u.usable !== u.concurrency ? ` (${amount(u.concurrency)})` : ''}`},
  {key: 'first', label: 'first token, P50 and P95', num: true, wide: true, of: (u) => u.first_token_seconds?.p50, show: (u) => (u.first_token_seconds ? `${seconds(u.first_token_seconds.p50)} · ${seconds(u.first_token_seconds.p95)}` : '–')},
  {key: 'slow', label: 'takes', num: true, of: (u) => u.times_others_take, show: (u) => (u.times_others_take ? {text: `× ${u.times_others_take.toFixed(1)}`, level: u.times_others_take >= 3 ? 2 : u.times_others_take >= 2 ? 1 : 0} : '–')},
  {key: 'faults', label: 'failed', num: true, of: (u) => (u.sent ? faults(u) / u.sent : 0), show: (u) => (u.sent ? share(faults(u) / u.sent) : '–')},
  {key: 'limited', label: '429s', num: true, wide: true, of: (u) => u.limited_share, show: (u) => share(u.limited_share)},
  {key: 'limits', label: 'limits', wide: true, long: true, show: limits},
  {key: 'cost', label: 'cost', num: true, wide: true, of: (u) => u.cost_dollars, show: (u) => dollars(u.cost_dollars)},
];

const turnColumn = (onChange) => ({key: 'turn', num: true, label: html`<span class="hidden">drain, disable or enable</span>`, show: (u) => html`<${Turn} name=${u.name} out=${!inUse(u)} onChange=${onChange} />`});

export function Upstreams({upstreams, who, onChange}) {
  const may = who.role === 'admin' && upstreams.some((u) => u.state);
  return html`<${Table} id="upstreams" caption="Upstreams: state, share of the capacity, limits" columns=${may ? [...upstreamColumns, turnColumn(onChange)] : upstreamColumns} rows=${upstreams} keyOf=${(u) => `${u.model}\n${u.name}`}
    first=${['state', false]} empty="No upstreams." />`;
}

const turns = {drain: 'no new calls', disable: 'no new calls, and its slots count as missing', enable: 'calls again'};

/** Takes an upstream out of use, or back into it, when it is said twice. */
function Turn({name, out, onChange}) {
  const [asked, ask] = useState();
  const [error, fail] = useState();
  const send = async () => {
    ask(undefined);
    try {
      await post(`upstreams/${encodeURIComponent(name)}`, {action: asked});
      fail(undefined);
      onChange();
    } catch (e) {
      fail(e);
    }
  };
  return html`<div class="turn">${asked ? html`<button type="button" class="main" onClick=${send}>Yes, ${asked}<span class="hidden"> ${name}</span></button> <button type="button" onClick=${() => ask(undefined)}>No</button><p class="note">${turns[asked]}</p>`
    : (out ? ['Enable'] : ['Drain', 'Disable']).map((action) => html`<button type="button" key=${action} onClick=${() => ask(action.toLowerCase())}>${action}…<span class="hidden"> ${name}</span></button> `)}
    ${error && html`<${Fault} error=${error} what="a way to turn upstreams off" />`}</div>`;
}

const used = (b) => (b.limit_dollars > 0 ? (b.spent_dollars + b.held_dollars) / b.limit_dollars : 0);
const alarms = {calm: 0, soft: 1, fast: 1, exhausted: 2};
const alarmWords = {calm: 'calm', soft: 'near its end', fast: 'too fast', exhausted: 'used up'};

const budgetColumns = [
  {key: 'budget', label: 'budget', of: budgetOf, show: budgetOf},
  {key: 'used', label: 'used', num: true, of: used, show: (b) => ({text: share(used(b)), bar: used(b), level: alarms[b.alarm] ?? 0})},
  {key: 'spent', label: 'spent', num: true, of: (b) => b.spent_dollars, show: (b) => `${dollars(b.spent_dollars)} of ${dollars(b.limit_dollars)}`},
  {key: 'held', label: 'held', num: true, wide: true, of: (b) => b.held_dollars, show: (b) => dollars(b.held_dollars)},
  {key: 'minute', label: 'last minute', num: true, of: (b) => b.last_minute_dollars, show: (b) => dollars(b.last_minute_dollars)},
  {key: 'lasts', label: 'lasts', num: true, of: (b) => b.lasts_s ?? Infinity, show: (b) => (b.lasts_s >= 0 ? seconds(b.lasts_s) : 'not reached')},
  {key: 'alarm', label: 'alarm', of: (b) => alarms[b.alarm] ?? 0, show: (b) => ({text: alarmWords[b.alarm] ?? b.alarm, level: alarms[b.alarm] ?? 0})},
];

export function Budgets({budgets, out}) {
  return html`<${Table} id="budgets" caption="Budgets against their limits" columns=${budgetColumns} rows=${budgets} keyOf=${(b) => [b.scope, b.tenant, b.name, b.span].join('\n')}
      first=${['used', true]} empty="No budgets are configured." />
    ${out > 0 && html`<p class="note">${amount(out)} that are further from their end are left out by the gateway.</p>`}`;
}
