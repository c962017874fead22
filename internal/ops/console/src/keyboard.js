// Single keys for those who do not want to point.

import {useEffect, useRef, useState} from 'preact/hooks';

import {html} from './html.js';
import {setShortcuts, shortcuts} from './theme.js';

/** One key each, outside fields; they can be switched off. */
export function Keyboard({views, onHold}) {
  const dialog = useRef();
  const [on, turn] = useState(shortcuts());
  useEffect(() => {
    const press = (e) => {
      if (!on || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.('input, textarea, select, dialog')) return;
      const n = Number(e.key);
      if (n >= 1 && n <= views.length) location.hash = `#/${views[n - 1][0]}`;
      else if (e.key === 'p') onHold();
      else if (e.key === '/') document.querySelector('[data-search]')?.focus();
      else if (e.key === '?') dialog.current.showModal();
      else return;
      e.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [on, onHold]);
  return html`<button type="button" onClick=${() => dialog.current.showModal()}>Keyboard</button>
    <dialog ref=${dialog} aria-labelledby="keyboard-title"><h2 id="keyboard-title">Keyboard</h2>
      <dl class="facts">${views.map(([, name], i) => html`<dt><kbd>${i + 1}</kbd></dt><dd>${name}</dd>`)}
        <dt><kbd>/</kbd></dt><dd>search in the table</dd><dt><kbd>p</kbd></dt><dd>hold the picture, or go on</dd><dt><kbd>?</kbd></dt><dd>this list</dd></dl>
      <p><label><input type="checkbox" checked=${on} onChange=${(e) => { setShortcuts(e.target.checked); turn(e.target.checked); }} /> single keys do this</label></p>
      <form method="dialog"><button>Close</button></form></dialog>`;
}
