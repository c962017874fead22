// Settings: find one, try another value on the last minutes, apply it.

import {useEffect, useState} from 'preact/hooks';

import {get, post} from './api.js';
import {amount, value} from './format.js';
import {html} from './html.js';
import {choices, edited, parse} from './knobs.js';
import {Fault} from './notice.js';
import {matches} from './order.js';
import {MayChange} from './role.js';
import {Outcomes} from './whatif.js';

const most = 60;

/** drafts are the values not applied yet, by path, kept by the page. */
export function Settings({who, query, drafts, onApplied}) {
  const [{known, error}, set] = useState({});
  const [text, search] = useState(query);
  const [open, edit] = useState(null);
  const [, again] = useState(0);
  const load = () => get('settings').then((known) => set({known}), (error) => set({error}));
  useEffect(() => void load(), []);
  useEffect(() => search(query), [query]);
  const draft = (path, v) => {
    if (v === undefined) delete drafts[path];
    else drafts[path] = v;
    edit(null);
    again((n) => n + 1);
  };
  const applied = () => {
    for (const path of Object.keys(drafts)) delete drafts[path];
    load();
    onApplied();
  };
  if (error) return html`<h2 tabindex="-1">Settings</h2><${Fault} error=${error} what="settings that can be changed while it runs (GET /admin/v1/settings)" />`;
  if (!known) return html`<h2 tabindex="-1">Settings</h2><p>Asking for the settings.</p>`;
  const found = known.settings.filter((s) => matches(`${s.path} ${s.help ?? ''}`, text));
  return html`<h2 tabindex="-1">Settings</h2>
    <${MayChange} who=${who} what="change settings" changes=${known.changes} />
    ${known.overlay_error && html`<p class="warning">▲ What was changed earlier is not in force: ${known.overlay_error}</p>`}
    ${known.in_memory_only && html`<p class="warning">▲ Changes end with this process: ${known.in_memory_only}</p>`}
    ${Object.keys(drafts).length > 0 && html`<${Draft} who=${who} known=${known} drafts=${drafts} draft=${draft} onApplied=${applied} />`}
    <p><label class="search">Search <input type="search" value=${text} onInput=${(e) => search(e.target.value)} placeholder="models.chat queue" data-search /></label>
      <span class="count" role="status">${amount(found.length)} of ${amount(known.settings.length)}</span></p>
    <div class="scroll" tabindex="0" role="region" aria-label="Settings"><table class="settings"><caption class="hidden">Settings that can be changed while the gateway runs</caption>
      <thead><tr><th scope="col">setting</th><th scope="col">value</th><th scope="col">from</th><th scope="col"><span class="hidden">change</span></th></tr></thead>
      <tbody>${found.slice(0, most).map((s) => html`<tr key=${s.path}>
        <th scope="row"><code>${s.path}</code>${s.help && html`<span class="help">${s.help}</span>`}</th>
        ${open === s.path ? html`<td colspan="3"><${Editor} s=${s} now=${drafts[s.path]} onDraft=${(v) => draft(s.path, v)} onClose=${() => edit(null)} /></td>`
          : html`<td><code>${value(s.value)}</code>${s.path in drafts && html` → <b>${drafts[s.path] === null ? 'as in the file' : value(drafts[s.path])}</b>`}</td>
            <td>${sources[s.source] ?? s.source}</td>
            <td><button type="button" onClick=${() => edit(s.path)}>Change…<span class="hidden"> ${s.path}</span></button></td>`}
      </tr>`)}
      ${found.length === 0 && html`<tr><td colspan="4" class="empty">No setting that can be changed while running has these words. Others are in the file.</td></tr>`}</tbody>
    </table></div>
    ${found.length > most && html`<p class="note">${amount(found.length - most)} more: search for more words.</p>`}`;
}

const sources = {default: 'default', file: 'file', change: 'changed while running'};

function Editor({s, now, onDraft, onClose}) {
  const [text, type] = useState(edited(now === undefined || now === null ? s.value : now));
  const [error, fail] = useState();
  const options = choices(s);
  const long = !options && s.value !== null && typeof s.value === 'object';
  const send = (e) => {
    e.preventDefault();
    const out = parse(s, text);
    if (out.error) fail(out.error);
    else onDraft(JSON.stringify(out.value) === JSON.stringify(s.value) ? undefined : out.value);
  };
  const field = {'aria-label': `New value of ${s.path}`, value: text, onInput: (e) => type(e.target.value), 'aria-invalid': error ? 'true' : undefined, 'aria-describedby': error ? 'value-error' : undefined, ref: focus};
  return html`<form class="editor" onSubmit=${send} onKeyDown=${(e) => e.key === 'Escape' && onClose()}>
    ${options ? html`<select ...${field} onChange=${field.onInput}>${options.map((o) => html`<option value=${String(o)} selected=${String(o) === text}>${String(o)}</option>`)}</select>`
      : long ? html`<textarea ...${field} rows="3" spellcheck="false"></textarea>` : html`<input ...${field} spellcheck="false" autocomplete="off" />`}
    <button type="submit">Try this value</button>
    ${s.source === 'change' && html`<button type="button" onClick=${() => onDraft(null)}>Back to the file</button>`}
    <button type="button" onClick=${onClose}>Leave it</button>
    ${error && html`<p class="warning" id="value-error" role="alert">▲ This should be ${error}.</p>`}
  </form>`;
}

const focus = (field) => field?.focus();

/** What is about to change: ask what if, then apply with a reason. */
function Draft({who, known, drafts, draft, onApplied}) {
  const [{busy, outcome, error, what, minutes = 5}, set] = useState({});
  const [why, because] = useState('');
  const now = Object.fromEntries(known.settings.map((s) => [s.path, s.value]));
  const key = JSON.stringify(drafts);
  const merge = (part) => set((old) => ({...old, ...part}));
  useEffect(() => merge({outcome: undefined, error: undefined}), [key]);
  const ask = async () => {
    merge({busy: true, error: undefined});
    try {
      merge({busy: false, outcome: await post('whatif', {set: drafts, minutes})});
    } catch (error) {
      merge({busy: false, error, what: 'what-if questions (POST /admin/v1/whatif)'});
    }
  };
  const apply = async (e) => {
    e.preventDefault();
    merge({busy: true, error: undefined});
    try {
      await post('changes', {set: drafts, why: why.trim(), version: known.version});
      onApplied();
    } catch (error) {
      merge({busy: false, error, what: 'changes while it runs (POST /admin/v1/changes)'});
    }
  };
  const may = who.role === 'admin' && known.changes !== 'file';
  return html`<section class="draft" aria-labelledby="draft-title"><h3 id="draft-title">Not applied yet</h3>
    <ul>${Object.entries(drafts).map(([path, v]) => html`<li key=${path}><code>${path}</code>: ${value(now[path])} → <b>${v === null ? 'as in the file' : value(v)}</b>
      <button type="button" onClick=${() => draft(path, undefined)}>Drop<span class="hidden"> ${path}</span></button></li>`)}</ul>
    <p><button type="button" class="main" onClick=${ask} disabled=${busy}>What if?</button> on the last <label><span class="hidden">Minutes</span>
      <select onChange=${(e) => merge({minutes: Number(e.target.value)})}>${[1, 2, 5, 10].map((m) => html`<option value=${m} selected=${m === minutes}>${m}</option>`)}</select></label> minutes
      ${busy && html` <span role="status">Working.</span>`}</p>
    ${error && html`<${Fault} error=${error} what=${what} />`}
    ${outcome && html`<${Outcomes} o=${outcome} />`}
    ${may ? html`<form onSubmit=${apply} class="apply"><label>Why <input value=${why} onInput=${(e) => because(e.target.value)} required maxlength="500" placeholder="for those who look at this later" /></label>
      <button type="submit" class="main" disabled=${busy}>Apply now</button></form>` : html`<p class="note">It cannot be applied from here, as said above.</p>`}
  </section>`;
}
