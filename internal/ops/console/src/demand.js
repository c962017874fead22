// Who wants what: models with their queues, the longest lanes, tenants.

import {amount, rate, seconds, share} from './format.js';
import {html} from './html.js';
import {Table} from './table.js';

const names = ['interactive', 'standard', 'batch', 'speculative'];
const waiting = (m) => (m.classes ?? []).reduce((n, c) => n + c.waiting, 0);
const of = (m, name) => (m.classes ?? []).find((c) => c.class === name) ?? {waiting: 0, running: 0, wait_s: 0, level: 0, high_s: 0};

const classColumn = (name) => ({
  key: name, label: name, num: true, wide: name === 'batch' || name === 'speculative', of: (m) => of(m, name).waiting * 1e6 + of(m, name).wait_s,
  show: (m) => {
    const c = of(m, name);
    const over = c.high_s > 0 && c.wait_s >= c.high_s;
    if (!c.waiting && !c.level && !over && c.wait_s < 0.001) return '–';
    return {text: `${amount(c.waiting)} · ${seconds(c.wait_s)}${c.level ? ` · level ${c.level}` : ''}`, level: over ? 2 : c.level || c.waiting ? 1 : 0};
  },
});

const modelColumns = [
  {key: 'model', label: 'model', of: (m) => m.model, show: (m) => m.model},
  {key: 'slots', label: 'slots in use', num: true, of: (m) => (m.slots ? m.running / m.slots : 0), show: (m) => ({text: `${amount(m.running)} of ${amount(m.slots)}`, bar: m.slots ? m.running / m.slots : 0})},
  {key: 'queue', label: 'queue', num: true, of: waiting, show: (m) => {
    const full = m.queue_total > 0 ? waiting(m) / m.queue_total : 0;
    return {text: m.queue_total > 0 ? `${amount(waiting(m))} of ${amount(m.queue_total)}` : amount(waiting(m)), bar: full, level: full >= 0.8 ? 2 : 0};
  }},
  ...names.map(classColumn),
  {key: 'service', label: 'a call takes', num: true, wide: true, of: (m) => m.service_mean_s, show: (m) => seconds(m.service_mean_s)},
  {key: 'brownout', label: 'slowness', num: true, wide: true, of: (m) => m.brownout, show: (m) => ({text: m.brownout > 1 ? `× ${m.brownout.toFixed(1)}` : 'usual', level: m.brownout >= 2 ? 2 : m.brownout >= 1.3 ? 1 : 0})},
];

export function Models({models}) {
  return html`<p class="note">By class: how many wait, and the wait predicted for a tenant that comes now and has nothing waiting.</p>
    <${Table} id="models" caption="Models: slots, queues and predicted waits" columns=${modelColumns} rows=${models} keyOf=${(m) => m.model} first=${['queue', true]} empty="No models." />`;
}

const laneColumns = [
  {key: 'tenant', label: 'tenant', of: (l) => l.tenant, show: (l) => l.tenant},
  {key: 'model', label: 'model', of: (l) => l.model, show: (l) => l.model},
  {key: 'class', label: 'class', of: (l) => l.class, show: (l) => l.class},
  {key: 'waiting', label: 'waiting', num: true, of: (l) => l.waiting, show: (l) => amount(l.waiting)},
  {key: 'oldest', label: 'oldest', num: true, of: (l) => l.oldest_s, show: (l) => seconds(l.oldest_s)},
  {key: 'wait', label: 'one more waits', num: true, of: (l) => l.wait_s, show: (l) => seconds(l.wait_s)},
];

export function Lanes({lanes, out, most}) {
  return html`<${Table} id="lanes" caption="The longest queues of single tenants" columns=${laneColumns} rows=${lanes} keyOf=${(l) => `${l.tenant}\n${l.model}\n${l.class}`}
      first=${['waiting', true]} most=${most} empty="Nothing waits." />
    ${out > 0 && html`<p class="note">${amount(out)} shorter ones are left out by the gateway.</p>`}`;
}

const refusedShare = (t) => (t.offered_per_s > 0 ? Math.min(1, t.refused_per_s / t.offered_per_s) : t.refused_per_s > 0 ? 1 : 0);

const tenantColumns = [
  {key: 'tenant', label: 'tenant', of: (t) => t.tenant, show: (t) => ({text: t.tenant, href: `#/settings?q=${encodeURIComponent(`tenants[${t.tenant}]`)}`})},
  {key: 'waiting', label: 'waiting', num: true, of: (t) => t.waiting, show: (t) => amount(t.waiting)},
  {key: 'running', label: 'running', num: true, of: (t) => t.running, show: (t) => amount(t.running)},
  {key: 'offered', label: 'offered', num: true, of: (t) => t.offered_per_s, show: (t) => rate(t.offered_per_s)},
  {key: 'refused', label: 'refused', num: true, of: (t) => t.refused_per_s, show: (t) => rate(t.refused_per_s)},
  {key: 'share', label: 'refused of offered', num: true, of: refusedShare, show: (t) => ({text: share(refusedShare(t)), bar: refusedShare(t), level: refusedShare(t) >= 0.5 ? 2 : refusedShare(t) >= 0.1 ? 1 : 0})},
  {key: 'degraded', label: 'cheaper form', num: true, wide: true, of: (t) => t.degraded_per_s, show: (t) => rate(t.degraded_per_s)},
  {key: 'trust', label: 'predictions', wide: true, of: (t) => (t.distrusted ? 1 : 0), show: (t) => (t.distrusted ? {text: 'not believed', level: 1} : 'hold')},
];

const brief = tenantColumns.filter((c) => !c.wide);

export function Tenants({tenants, most, search, more}) {
  return html`<${Table} id="tenants" caption="Tenants, over the last ten seconds" columns=${search ? tenantColumns : brief} rows=${tenants} keyOf=${(t) => t.tenant}
    first=${['refused', true]} most=${most} even=${search} search=${search && ((t) => `${t.tenant} ${t.distrusted ? 'not believed' : ''}`)} more=${more} empty="No tenant has asked for anything yet." />`;
}
