// What was changed, by whom and why, and the way back.

import {useState} from 'preact/hooks';

import {post} from './api.js';
import {count, moment, value} from './format.js';
import {html} from './html.js';
import {Fault} from './notice.js';
import {MayChange} from './role.js';

export function Changes({who, list, error, again}) {
  return html`<h2 tabindex="-1">Changes</h2>
    ${error ? html`<${Fault} error=${error} what="a history of changes (GET /admin/v1/changes)" />` : html`
      <${MayChange} who=${who} what="take changes back" />
      ${list.length === 0 && html`<p>Nothing was changed while this gateway runs.</p>`}
      <ol class="history">${list.map((c) => html`<${Change} key=${c.id} c=${c} who=${who} again=${again} />`)}</ol>
      <p><button type="button" onClick=${again}>Look again</button></p>
      ${who.role === 'admin' && html`<${Reload} again=${again} />`}`}`;
}

/** Reads the file again, also where it alone counts. */
function Reload({again}) {
  const [{busy, error, answer}, set] = useState({});
  const read = async () => {
    set({busy: true});
    try {
      set({answer: await post('reload')});
      again();
    } catch (error) {
      set({error});
    }
  };
  const differ = answer && new Set([...Object.keys(answer.before ?? {}), ...Object.keys(answer.after ?? {})]).size;
  return html`<p><button type="button" onClick=${read} disabled=${busy}>Read the file again</button> <span role="status">${answer && (differ ? `It was read: ${count(differ, 'setting differs', 'settings differ')} from before.` : 'It was read: no setting differs from before.')}</span></p>
    ${(answer?.warnings ?? []).map((w) => html`<p class="warning">▲ ${w}</p>`)}
    ${error && html`<${Fault} error=${error} what="a way to read the file again (POST /admin/v1/reload)" />`}`;
}

function Change({c, who, again}) {
  const [asked, ask] = useState(false);
  const [error, fail] = useState();
  const paths = [...new Set([...Object.keys(c.before ?? {}), ...Object.keys(c.after ?? {})])];
  const back = async () => {
    try {
      await post(`changes/${encodeURIComponent(c.id)}/revert`);
      ask(false);
      again();
    } catch (e) {
      fail(e);
    }
  };
  return html`<li>
    <p><b>${moment(c.at)}</b> ${c.who || 'the file'}${c.kind && c.kind !== 'change' ? ` (${c.kind})` : ''}${c.why ? html`: ${c.why}` : ''} <span class="note">${c.id}</span></p>
    ${paths.length > 0 && html`<ul>${paths.map((p) => html`<li key=${p}><a href="#/settings?q=${encodeURIComponent(p)}"><code>${p}</code></a>: ${value(c.before?.[p])} → <b>${value(c.after?.[p])}</b></li>`)}</ul>`}
    ${(c.warnings ?? []).map((w) => html`<p class="warning">▲ ${w}</p>`)}
    ${who.role === 'admin' && paths.length > 0 && (asked
      ? html`<p><button type="button" class="main" onClick=${back}>Yes, take it back</button> <button type="button" onClick=${() => ask(false)}>No</button></p>`
      : html`<p><button type="button" onClick=${() => ask(true)}>Take back…<span class="hidden"> the change of ${moment(c.at)}</span></button></p>`)}
    ${error && html`<${Fault} error=${error} what="a way to take changes back" />`}
  </li>`;
}
