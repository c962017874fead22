// What is asked before a key is made, replaced or ended.

import {useEffect, useRef, useState} from 'preact/hooks';

import {call, get, post} from './api.js';
import {end, graces, nameFault, open, place, wish} from './credentials.js';
import {html} from './html.js';
import {Fault} from './notice.js';

/** A dialog that sends something once; send throws what is wrong, as a Problem or {text}. What cannot be undone begins at No. */
function Ask({id, title, yes, final, send, onClose, children}) {
  const box = useRef(), over = useRef(false);
  const [{busy, error}, set] = useState({});
  useEffect(() => {
    const dialog = box.current;
    dialog.showModal();
    return () => {
      over.current = true; // what closing tells comes late, when something else may be asked
      dialog.close(); // gives the focus back
    };
  }, []);
  const go = async (e) => {
    e.preventDefault();
    if (busy) return;
    set({busy: true});
    try {
      await send(Object.fromEntries(new FormData(e.target)));
    } catch (error) {
      set({error});
    }
  };
  return html`<dialog ref=${box} aria-labelledby=${id} onClose=${() => over.current || onClose()} onCancel=${(e) => busy && e.preventDefault()}><h2 id=${id}>${title}</h2>
    <form class="asked" onSubmit=${go} autocomplete="off">${children}
      ${error && (error.text ? html`<p class="warning" role="alert">▲ ${error.text}</p>` : html`<${Fault} error=${error} />`)}
      <p><button type="submit" class="main" disabled=${busy}>${yes}</button> <button type="button" onClick=${onClose} disabled=${busy} autofocus=${final}>No</button></p></form></dialog>`;
}

const wrong = (text) => {
  if (text) throw {text};
};

const Name = ({label, help, ...more}) => html`<label>${label} <input name="name" maxlength="128" spellcheck="false" ...${more} /></label>${help && html`<p class="help">${help}</p>`}`;
const Until = () => html`<label>Ends at <input name="until" type="datetime-local" /></label><p class="help">By the clock of this machine; empty: when it is revoked.</p>`;
const Why = () => html`<label>Why <input name="why" maxlength="500" placeholder="for those who look at this later" /></label>`;

/** What the body says of the new key. */
function body({name, until, why, grace}, taken) {
  wrong(nameFault(name.trim(), taken));
  const at = end(until);
  wrong(at.error);
  return wish({name: name.trim(), until: at.value, why: why.trim(), grace});
}

const ids = (tenants, name) => tenants.find((t) => t.name === name)?.keys.map((k) => k.id);

const made = (tenant, answer, old) => ({tenant, id: answer.key.id, key: answer.key.key, old, until: answer.old_until, warnings: answer.warnings});

function Key({tenants, onDone, onClose}) {
  const send = async ({tenant, ...fields}) => {
    const answer = await post(place(tenant, 'keys'), body(fields, ids(tenants, tenant)));
    onDone('', made(tenant, answer));
  };
  return html`<${Ask} id="key-title" title="New key" yes="Make the key" send=${send} onClose=${onClose}>
    <label>Tenant <select name="tenant">${tenants.map((t) => html`<option key=${t.name}>${t.name}</option>`)}</select></label>
    <${Name} label="Name" help="What logs and budgets call it; empty: the beginning of its hash." /><${Until} /><${Why} /><//>`;
}

function Rotate({row, tenants, onDone, onClose}) {
  const send = async (fields) => {
    const answer = await post(place(row.tenant, 'keys', row.id, 'rotate'), body(fields, ids(tenants, row.tenant)));
    onDone('', made(row.tenant, answer, row.id));
  };
  return html`<${Ask} id="rotate-title" title="Rotate ${row.id} of ${row.tenant}" yes="Make a new key in its place" send=${send} onClose=${onClose}>
    <p>A new key is made, and the old one goes on for a while, so that callers can change over.</p>
    <label>The old one goes on <select name="grace">${graces.map(([v, text]) => html`<option key=${v} value=${v} selected=${v === '24h'}>${text}</option>`)}</select></label>
    <${Name} label="Name of the new one" help="Empty: the beginning of its hash. A budget of the old one does not come with it." /><${Until} /><${Why} /><//>`;
}

function Revoke({row, tenants, onDone, onClose}) {
  const last = tenants.find((t) => t.name === row.tenant)?.keys.filter((k) => !k.ended).length === 1;
  const send = async () => {
    await call('DELETE', place(row.tenant, 'keys', row.id));
    onDone(`The key ${row.id} of ${row.tenant} has ended.`);
  };
  return html`<${Ask} id="revoke-title" title="Revoke ${row.id} of ${row.tenant}" yes="Yes, end it now" final send=${send} onClose=${onClose}>
    <p><b>Whoever calls with it is refused from now on</b> (401). What it began before goes on to its end. It stays in the list as ended, and cannot be brought back.</p>
    ${last && html`<p class="warning">▲ It is the last key of ${row.tenant} that counts: the tenant is shut out.</p>`}<//>`;
}

function Tenant({tenants, onDone, onClose}) {
  const anybody = open(tenants);
  const send = async (fields) => {
    const name = fields.name.trim();
    const now = await get('tenants'); // sent to one that is there, it would take back what was changed of it
    wrong(nameFault(name, now.tenants.map((t) => t.name)));
    const answer = await call('PUT', place(name), {});
    onDone('', made(name, answer));
  };
  return html`<${Ask} id="tenant-title" title="New tenant" yes=${anybody ? 'Make it, and ask all callers for a key' : 'Make the tenant and its key'} send=${send} onClose=${onClose}>
    ${anybody && html`<p class="warning">▲ So far nobody needs a key. With the first tenant every caller needs one, at once.</p>`}
    <${Name} label="Name" required help="It is given one key. Its weight and limits are those of a tenant without any of its own, until you change them under Settings." /><//>`;
}

/** By what is asked. */
export const forms = {key: Key, rotate: Rotate, revoke: Revoke, tenant: Tenant};
