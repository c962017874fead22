// The answer to what if: today's settings and the proposed ones on the same requests.

import {amount, clock, dollars, rate, seconds} from './format.js';
import {html} from './html.js';
import {compare} from './knobs.js';

const units = {amount, rate, seconds, dollars};
const signs = {better: '▲ better', worse: '▼ worse', differs: 'differs', same: 'same'};

export function Outcomes({o}) {
  return html`<div class="outcomes" role="status"><p>${amount(o.requests)} requests of ${clock(o.from)} to ${clock(o.to)}, played under both settings${o.took_ms ? ` in ${seconds(o.took_ms / 1000)}` : ''}.</p></div>
    ${(o.warnings ?? []).map((w) => html`<p class="warning">▲ ${w}</p>`)}
    <${Beside} caption="All requests, under today's settings and the proposed ones" rows=${compare(o.now, o.then, o.measured)} measured=${o.measured} />
    ${(o.classes ?? []).length > 0 && html`<details><summary>By class</summary><${Groups} caption="By class" list=${o.classes} name="class" /></details>`}
    ${(o.tenants ?? []).length > 0 && html`<details open><summary>Tenants that change most</summary><${Groups} caption="Tenants that change most" list=${o.tenants} name="tenant" /></details>`}`;
}

function Beside({caption, rows, measured}) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table><caption class="hidden">${caption}</caption>
    <thead><tr><th scope="col">figure</th><th scope="col" class="num">now</th><th scope="col" class="num">then</th><th scope="col">change</th>${measured && html`<th scope="col" class="num">measured</th>`}</tr></thead>
    <tbody>${rows.map((r) => html`<tr key=${r.key} class=${r.change}><th scope="row">${r.label}</th><td class="num">${units[r.unit](r.now)}</td><td class="num"><b>${units[r.unit](r.then)}</b></td>
      <td>${signs[r.change]}</td>${measured && html`<td class="num">${r.measured === undefined ? '–' : units[r.unit](r.measured)}</td>`}</tr>`)}</tbody></table></div>`;
}

const few = ['on_time', 'refused', 'wait_p99_s'];

/** For each class or tenant the three figures that tell most. */
function Groups({caption, list, name}) {
  const heads = compare(list[0].now, list[0].then).filter((r) => few.includes(r.key));
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table><caption class="hidden">${caption}: now and then</caption>
    <thead><tr><th scope="col">${name}</th>${heads.map((h) => html`<th scope="col" class="num">${h.label}</th>`)}</tr></thead>
    <tbody>${list.map((x) => html`<tr key=${x[name]}><th scope="row">${x[name]}</th>${compare(x.now, x.then).filter((r) => few.includes(r.key)).map((r) => html`<td class="num ${r.change}">${units[r.unit](r.now)} → <b>${units[r.unit](r.then)}</b>${r.change === 'better' || r.change === 'worse' ? html`<span class="sign"> ${signs[r.change]}</span>` : ''}</td>`)}</tr>`)}</tbody></table></div>`;
}
