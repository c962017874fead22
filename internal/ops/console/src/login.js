// Who is there, and how to become somebody.

import {useState} from 'preact/hooks';

import {post} from './api.js';
import {html} from './html.js';
import {Fault} from './notice.js';

export function Login({error: why, onWho}) {
  const [error, fail] = useState();
  const [busy, wait] = useState(false);
  const send = async (event) => {
    event.preventDefault();
    const field = event.target.elements.token;
    wait(true);
    try {
      const who = await post('session', {token: field.value.trim()});
      field.value = '';
      onWho(who);
    } catch (e) {
      fail(e);
      wait(false);
      field.focus();
    }
  };
  const closed = why?.status === 403;
  return html`<main class="login" id="main">
    <h1>Spillway</h1>
    ${closed ? html`<${Fault} error=${why} />` : html`
      <form onSubmit=${send}>
        <label for="token">Token of an operator</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required autofocus spellcheck="false" />
        <button type="submit" class="main" disabled=${busy}>Log in</button>
      </form>
      ${error && html`<${Fault} error=${error} />`}
      ${!error && why && why.status !== 401 && html`<${Fault} error=${why} />`}
      <p class="note">Tokens are in the configuration under <code>admin.tokens</code>. This page sends the token once and does not keep it.</p>`}
  </main>`;
}
