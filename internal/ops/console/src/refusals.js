// The last refusals, and why one of them was refused.

import {useEffect, useState} from 'preact/hooks';

import {post} from './api.js';
import {amount, clock, moment} from './format.js';
import {html} from './html.js';
import {pieces} from './knobs.js';
import {Fault} from './notice.js';
import {Table} from './table.js';

const columns = [
  {key: 'at', label: 'time', of: (r) => Date.parse(r.at), show: (r) => ({text: clock(r.at), href: `#/refusals/${encodeURIComponent(r.request_id)}`})},
  {key: 'tenant', label: 'tenant', of: (r) => r.tenant, show: (r) => r.tenant},
  {key: 'model', label: 'model', of: (r) => r.model, show: (r) => r.model},
  {key: 'class', label: 'class', wide: true, of: (r) => r.class, show: (r) => r.class},
  {key: 'stage', label: 'stage', word: true, of: (r) => r.was.stage, show: (r) => r.was.stage},
  {key: 'words', label: 'why', wide: true, long: true, show: (r) => r.was.words},
];

export function Refusals({list, most, search, more}) {
  return html`<${Table} id="refusals" caption="The last refusals; the time leads to the explanation" columns=${columns} rows=${list} keyOf=${(r) => r.request_id} most=${most}
    search=${search && ((r) => `${r.request_id} ${r.tenant} ${r.model} ${r.class} ${r.was.stage}`)} more=${more} empty="Nothing was refused." />`;
}

/** Knobs are the settings that a text names, as links to where they are changed. */
function Knobs({text}) {
  return pieces(text).map((p) => (p.search ? html`<a href="#/settings?q=${encodeURIComponent(p.search)}"><code>${p.text}</code></a>` : p.text));
}

export function Explanation({id}) {
  const [{e, error}, set] = useState({});
  const ask = () => post('explain', {request_id: id}).then((e) => set({e}), (error) => set({error}));
  useEffect(() => {
    set({});
    ask();
  }, [id]);
  return html`<section aria-labelledby="why-title">
    <p><a href="#/refusals">All refusals</a></p>
    <h2 id="why-title" tabindex="-1">Why was ${id} refused?</h2>
    ${error && html`<${Fault} error=${error} />`}
    ${!e && !error && html`<p>Asking.</p>`}
    ${e && html`<${Answer} e=${e} />`}
    <p><button type="button" onClick=${ask}>Ask again</button></p>
  </section>`;
}

function Answer({e}) {
  return html`
    <dl class="facts">
      ${e.was && html`<dt>then${e.refused_at && `, ${moment(e.refused_at)}`}</dt><dd>${e.was.words}</dd>`}
      <dt>now</dt><dd>${e.now.words}</dd>
      <dt>asked by</dt><dd>tenant ${e.tenant}, model ${e.model}, class ${e.class}${e.attempt > 0 ? `, retry ${e.attempt}` : ''}</dd>
      <dt>size</dt><dd>${amount(e.input_tokens)} tokens in${e.max_output_tokens ? `, at most ${amount(e.max_output_tokens)} out` : ''}</dd>
      ${e.setting && html`<dt>setting behind it</dt><dd><${Knobs} text=${e.setting} /></dd>`}
    </dl>
    <h3>Stages, ${e.stages_as_of === 'refusal' ? 'as they stood then' : 'as of now'}</h3>
    <div class="scroll" tabindex="0" role="region" aria-label="Stages of the decision"><table><caption class="hidden">Stages of the decision, in order</caption>
      <thead><tr><th scope="col">stage</th><th scope="col">asks</th><th scope="col">found</th><th scope="col">decides</th></tr></thead>
      <tbody>${e.stages.map((s, i) => html`<tr key=${i} class=${s.decides ? 'decides' : ''}>
        <th scope="row">${s.stage}</th><td>${s.asks}${s.cheaper_form ? ' (in a cheaper form)' : ''}${s.model ? ` (${s.model})` : ''}</td><td>${s.found}</td><td>${s.decides ? '◀ this one' : ''}</td></tr>`)}</tbody>
    </table></div>
    <h3>What would let it in</h3>
    ${e.would_change.length ? html`<ul>${e.would_change.map((c, i) => html`<li key=${i}>If ${c.if}: ${c.then.words}.</li>`)}</ul>`
      : html`<p>Nothing that a caller could say differently was found.</p>`}`;
}
