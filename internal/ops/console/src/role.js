// Who may change things, said before somebody tries.

import {html} from './html.js';

export function MayChange({who, what, changes}) {
  if (changes === 'file') return html`<p class="absent">The configuration says <code>admin.changes: file</code>: you cannot ${what} here, the file alone counts. You may still ask what if.</p>`;
  if (who.role === 'admin') return null;
  return html`<p class="absent">You may look, but not ${what}: ${who.name ? html`token <b>${who.name}</b> has the role ${who.role}` : 'nobody is logged in'}. It needs a token with <code>role: admin</code>.</p>`;
}
