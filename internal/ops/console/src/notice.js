// Errors, and what is not there, as people should read them.

import {missing} from './api.js';
import {html} from './html.js';

/** An error of the API with its place and remedy. what is the part of the page it is about. */
export function Fault({error, what}) {
  if (missing(error) && what) return html`<p class="absent">Not available: this gateway does not have ${what}.</p>`;
  return html`<div class="fault" role="alert"><p><b>${error.message}</b>${error.place ? html` At <code>${error.place}</code>.` : ''}</p>
    ${error.remedy && html`<p>${capital(error.remedy)}.</p>`}</div>`;
}

const capital = (s) => s.charAt(0).toUpperCase() + s.slice(1).replace(/\.$/, '');
