// A key that was just made: shown once, and kept nowhere but on the screen.

import {useEffect, useRef, useState} from 'preact/hooks';

import {moment} from './format.js';
import {html} from './html.js';

/**
 * made is {tenant, id, key, old, until, warnings}. The key is text and no field: browsers remember
 * fields. It is forgotten when this leaves the page.
 */
export function NewKey({made, onDone}) {
  const text = useRef(), head = useRef();
  const [copied, tell] = useState('');
  useEffect(() => head.current.focus(), []);
  useEffect(() => {
    addEventListener('pagehide', onDone); // a page that was left may come back as it was
    return () => removeEventListener('pagehide', onDone);
  }, [onDone]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(made.key);
      tell('It is in the clipboard.');
    } catch { // browsers allow it on this machine and over TLS only
      getSelection().selectAllChildren(text.current);
      tell('It is marked: copy it with the keyboard.');
    }
  };
  return html`<section class="draft" aria-labelledby="new-key"><h3 id="new-key" tabindex="-1" ref=${head}>The key ${made.id} of ${made.tenant}</h3>
    <p><b>It is shown this once.</b> The gateway keeps only its hash, and this page forgets it when you leave this view.</p>
    <p class="secret"><code ref=${text}>${made.key}</code></p>
    ${made.old && html`<p>${made.until ? `The old one, ${made.old}, goes on until ${moment(made.until)}.` : ''}</p>`}
    ${(made.warnings ?? []).map((w) => html`<p class="warning">▲ ${w}</p>`)}
    <p><button type="button" class="main" onClick=${copy}>Copy the key</button> <button type="button" onClick=${onDone}>I have it, hide it</button> <span role="status">${copied}</span></p>
  </section>`;
}
