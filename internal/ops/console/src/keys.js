// Tenants' keys: who may call, and how somebody is let in and shut out.

import {Component} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';

import {get} from './api.js';
import {open, place, rows, term} from './credentials.js';
import {count, moment} from './format.js';
import {html} from './html.js';
import {forms} from './keyforms.js';
import {NewKey} from './newkey.js';
import {Fault} from './notice.js';
import {MayChange} from './role.js';
import {Table} from './table.js';

const most = 100;

/** Pictures come each second, and keys are not in them. */
export class Keys extends Component {
  shouldComponentUpdate(next) {
    return next.who !== this.props.who;
  }

  render(props) {
    return html`<${View} ...${props} />`;
  }
}

function View({who, onChange}) {
  const [{tenants, error}, set] = useState({});
  const [changes, learn] = useState(); // durable, or file
  const [asked, ask] = useState(); // {form, row}
  const [made, show] = useState([]); // keys that are shown this once
  const [said, say] = useState('');
  const told = useRef();
  const load = () => get('tenants').then(({tenants}) => set({tenants}), (error) => set({error}));
  useEffect(() => {
    load();
    get('settings?under=admission').then((s) => learn(s.changes), () => {}); // the gateway says it again
  }, []);
  useEffect(() => {
    if (said) told.current.focus(); // what had the focus may be gone
  }, [said]);
  if (error) return html`<h2 tabindex="-1">Keys</h2><${Fault} error=${error} what="a list of tenants (GET /admin/v1/tenants)" />`;
  if (!tenants) return html`<h2 tabindex="-1">Keys</h2><p>Asking who may call.</p>`;
  const may = who.role === 'admin' && changes !== 'file';
  const list = rows(tenants);
  const anybody = open(tenants);
  const done = (text, key) => {
    ask(undefined);
    say(text);
    if (key) show((all) => [key, ...all]);
    load();
    onChange();
  };
  const Form = asked && forms[asked.form];
  return html`<h2 tabindex="-1">Keys</h2>
    <${MayChange} who=${who} what="make or end keys" changes=${changes} />
    ${made.map((m) => html`<${NewKey} key=${m.key} made=${m} onDone=${() => show((all) => all.filter((x) => x.key !== m.key))} />`)}
    <p role="status" tabindex="-1" ref=${told}>${said}</p>
    ${anybody ? html`<p class="absent">There are no tenants: whoever reaches this gateway may call, without a key.</p>`
      : html`<p class="note">${count(tenants.length, 'tenant')} with ${count(list.length, 'key')}. Keys themselves are not kept and cannot be shown. Last uses are known since this process began.</p>`}
    ${may && html`<p><button type="button" onClick=${() => ask({form: 'tenant'})}>New tenant…</button> ${!anybody && html`<button type="button" onClick=${() => ask({form: 'key'})}>New key…</button>`}</p>`}
    ${!anybody && html`<${Table} id="keys" caption="Keys of tenants" columns=${may ? [...columns, turn(ask)] : columns} rows=${list} keyOf=${(k) => place(k.tenant, k.id)} first=${['tenant', false]} most=${most}
      search=${(k) => `${k.tenant} ${k.id} ${k.hash} ${term(k).text} ${k.last_use ? '' : 'not used'}`} more="search for more words." empty="No keys." />`}
    <p><button type="button" onClick=${load}>Look again</button></p>
    ${Form && html`<${Form} key=${asked.form} row=${asked.row} tenants=${tenants} onDone=${done} onClose=${() => ask(undefined)} />`}`;
}

const sources = {file: 'file', change: 'made while running'};

const columns = [
  {key: 'tenant', label: 'tenant', of: (k) => k.tenant, show: (k) => ({text: k.tenant, href: `#/settings?q=${encodeURIComponent(`tenants[${k.tenant}]`)}`})},
  {key: 'id', label: 'key', of: (k) => k.id, show: (k) => html`<code>${k.id}</code>`},
  {key: 'hash', label: 'its hash begins', wide: true, show: (k) => html`<code>${k.hash.replace('sha256:', '')}</code>`},
  {key: 'source', label: 'from', wide: true, of: (k) => k.source, show: (k) => sources[k.source] ?? k.source},
  {key: 'term', label: 'counts', of: (k) => term(k).at, show: (k) => ({text: term(k).text, level: term(k).level})},
  {key: 'used', label: 'last use', of: (k) => (k.last_use ? Date.parse(k.last_use) : undefined), show: (k) => (k.last_use ? moment(k.last_use) : 'not used')},
];

const turn = (ask) => ({
  key: 'turn', num: true, label: html`<span class="hidden">rotate or revoke</span>`,
  show: (k) => !k.ended && html`<div class="turn">${['Rotate', 'Revoke'].map((name) => html`<button type="button" key=${name} onClick=${() => ask({form: name.toLowerCase(), row: k})}>${name}…<span class="hidden"> ${k.id} of ${k.tenant}</span></button> `)}</div>`,
});
