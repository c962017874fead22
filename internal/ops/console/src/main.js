// The page: who is there, which view, and the picture that all of them show.

import 'uplot/dist/uPlot.min.css';
import './style.css';

import {Component, render} from 'preact';

import {call, get, missing} from './api.js';
import {Changes} from './changes.js';
import {moment, seconds} from './format.js';
import {announce} from './headline.js';
import {html} from './html.js';
import {Keyboard} from './keyboard.js';
import {Keys} from './keys.js';
import {follow, patience} from './live.js';
import {Login} from './login.js';
import {Overview, headOf} from './overview.js';
import {Explanation, Refusals} from './refusals.js';
import {add, keep, merge} from './series.js';
import {Settings} from './settings.js';
import {choose, show, theme, themes} from './theme.js';
import {Tenants} from './demand.js';
import {Fault} from './notice.js';

const views = [['', 'Overview'], ['tenants', 'Tenants'], ['refusals', 'Refusals'], ['settings', 'Settings'], ['changes', 'Changes'], ['keys', 'Keys']];

/** The view that the address names: #/refusals/req_1, #/settings?q=text. */
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [view, ...rest] = path.split('/');
  return {view, rest: decode(rest.join('/')), query: new URLSearchParams(query)};
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

class Page extends Component {
  state = {place: place(), list: [], refusals: [], changes: [], link: {mode: 'opening'}, held: false, stale: false, now: Date.now()};
  drafts = {}; // of the settings view, kept while others are looked at

  componentDidMount() {
    show(theme());
    addEventListener('hashchange', this.moved);
    document.addEventListener('visibilitychange', this.woke);
    setInterval(() => {
      const old = Boolean(this.state.picture) && Date.now() - (this.pending ?? this.state).came > patience;
      if (old !== this.state.stale || old) this.setState({stale: old, now: Date.now()});
    }, 1000);
    setInterval(() => {
      if (this.state.who && !document.hidden) this.changed(); // of others, and of the file
    }, 30_000);
    this.enter();
  }

  componentDidUpdate(_, before) {
    if (before.place === this.state.place) return;
    const {view, rest} = this.state.place;
    document.title = `${views.find(([v]) => v === view)?.[1] ?? 'Overview'} – Spillway`;
    const at = (view === '' || view === 'overview') && rest ? document.getElementById(rest) : view !== before.place.view || rest !== before.place.rest ? document.querySelector('main h2') : null;
    if (at?.tagName === 'H2') scrollTo(0, 0);
    else at?.scrollIntoView({block: 'start'});
    at?.focus({preventScroll: true});
  }

  moved = () => this.setState({place: place()});

  // A hidden page keeps what comes and draws nothing.
  woke = () => {
    if (!document.hidden && this.pending) this.setState(this.pending);
    this.pending = undefined;
  };

  /** Asks who is there, and begins to follow the gateway if somebody is. */
  async enter() {
    try {
      this.begin(await get('session'));
    } catch (error) {
      this.leave(error);
      if (error.status === 0) setTimeout(() => this.enter(), 3000);
    }
  }

  begin = async (who) => {
    this.setState({who, closed: undefined});
    this.end?.();
    this.end = follow({source: () => new EventSource('/admin/v1/live'), snapshot: () => get('snapshot')}, {
      picture: this.take,
      state: (link) => {
        if (link.error?.status === 401 || link.error?.status === 403) this.leave(link.error);
        else if (link.mode !== this.state.link.mode || link.error) this.setState({link});
      },
    });
    this.lookUp('refusals?limit=100', 'refusals');
    this.changed();
    try {
      const {seconds: history} = await get(`history?seconds=${keep}`);
      this.setState(({list}) => ({list: merge(history ?? [], list)}));
    } catch {
      // charts begin with what comes live
    }
  };

  leave = (error) => {
    this.end?.();
    this.end = undefined;
    this.setState({who: null, closed: error, picture: undefined, list: [], refusals: [], changes: [], told: undefined});
  };

  logOut = async () => {
    try {
      await call('DELETE', 'session');
    } finally {
      this.leave();
      this.enter();
    }
  };

  /** Fetches a list of what happened; the page says so where it is not there. */
  lookUp = async (path, name) => {
    try {
      const answer = await get(path);
      this.setState({[name]: answer[name] ?? [], [`${name}Error`]: undefined});
    } catch (error) {
      if (error.status === 401) this.leave(error);
      else this.setState({[`${name}Error`]: error});
    }
  };

  changed = () => this.lookUp('changes?limit=50', 'changes');

  take = (picture) => {
    const before = this.pending ?? this.state;
    const next = {picture, came: Date.now(), now: Date.now(), list: add(before.list, picture.second), stale: false};
    const head = headOf(picture, next.list);
    next.head = head;
    next.told = announce(before.told, head, next.came);
    if (Object.keys(picture.second?.refused ?? {}).length && !this.state.held && Date.now() - (this.looked ?? 0) > 3000) {
      this.looked = Date.now();
      this.lookUp('refusals?limit=100', 'refusals');
    }
    if (document.hidden || this.state.held) this.pending = {...this.pending, ...next};
    else this.setState(next);
  };

  hold = () => {
    const held = !this.state.held;
    this.setState({held, ...(held ? {} : this.pending)});
    this.pending = undefined;
  };

  render(_, s) {
    if (s.who === undefined && !s.closed) return html`<p class="first">Asking the gateway who you are.</p>`;
    if (!s.who) return html`<${Login} error=${s.closed} onWho=${this.begin} />`;
    const {view, rest} = s.place;
    return html`
      <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById('main').focus(); }}>To the content</a>
      <header class="top">
        <h1><a href="#/">Spillway</a></h1>
        <nav aria-label="Views">${views.map(([v, name], i) => html`<a key=${v} href="#/${v}" aria-current=${v === view || (v === '' && view === 'overview') ? 'page' : undefined} title="key ${i + 1}">${name}</a>`)}</nav>
        <${Link} s=${s} onHold=${this.hold} />
        <div class="who">
          <span>${s.who.name ? html`<b>${s.who.name}</b>, ${s.who.role}` : 'anybody here, may look'}</span>
          ${s.who.session && html`<button type="button" onClick=${this.logOut}>Log out</button>`}
        </div>
      </header>
      <p class="hidden" aria-live="polite" id="told">${s.told?.text}</p>
      <main id="main" tabindex="-1">
        ${s.stale && html`<p class="stale" role="status"><b>These figures are old.</b> Nothing has come from the gateway since ${moment(s.came)}.</p>`}
        ${this.view(view, rest, s)}</main>
      <footer><${Keyboard} views=${views} onHold=${this.hold} /><${Theme} /><a href="/console/licenses.txt">Licenses of what this page uses</a></footer>`;
  }

  view(view, rest, s) {
    if (view === 'settings') return html`<${Settings} who=${s.who} query=${s.place.query.get('q') ?? ''} drafts=${this.drafts} onApplied=${this.changed} />`;
    if (view === 'changes') return html`<${Changes} who=${s.who} list=${s.changes} error=${s.changesError} again=${this.changed} />`;
    if (view === 'keys') return html`<${Keys} who=${s.who} onChange=${this.changed} />`;
    if (view === 'refusals' && rest) return html`<${Explanation} id=${rest} />`;
    if (view === 'refusals') {
      return html`<h2 tabindex="-1">Refusals</h2>${s.refusalsError ? html`<${Fault} error=${s.refusalsError} what="a list of refusals" />` : html`<${Refusals} list=${s.refusals} search />`}
        <p><button type="button" onClick=${() => this.lookUp('refusals?limit=100', 'refusals')}>Look again</button></p>`;
    }
    if (!s.picture) {
      const error = s.link.error;
      return html`<h2 tabindex="-1">Overview</h2>${error ? html`<${Fault} error=${error} what="a live picture (GET /admin/v1/snapshot)" />` : html`<p>Waiting for the first picture.</p>`}`;
    }
    if (view === 'tenants') return html`<h2 tabindex="-1">Tenants</h2><p class="note">Rates are over the last ten seconds. Tenants that nobody has used are left out.</p><${Tenants} tenants=${s.picture.tenants ?? []} search />`;
    return html`<${Overview} ...${s} onChange=${this.changed} />`;
  }
}

/** How fresh the picture is, and a switch that holds it. */
function Link({s, onHold}) {
  const age = s.came ? Math.max(0, s.now - s.came) / 1000 : 0;
  const [sign, text] = s.held ? ['❚❚', 'held']
    : s.stale ? ['▲', `stale since ${seconds(age)}`]
      : s.link.mode === 'live' ? ['●', 'live']
        : s.link.mode === 'polling' ? ['○', 'asked each 2 s']
          : s.link.mode === 'lost' ? ['▲', missing(s.link.error) ? 'no live picture' : 'no connection'] : ['○', 'connecting'];
  return html`<div class="link ${s.stale || s.link.mode === 'lost' ? 'bad' : ''}"><span><span aria-hidden="true">${sign} </span>${text}</span>
    <button type="button" onClick=${onHold} aria-pressed=${s.held} title="key p">Hold</button></div>`;
}

function Theme() {
  const now = theme();
  return html`<label>Colours <select onChange=${(e) => choose(e.target.value)}>${themes.map((t) => html`<option key=${t} value=${t} selected=${t === now}>${t === 'system' ? 'as the system' : t}</option>`)}</select></label>`;
}

const root = document.getElementById('console');
root.textContent = '';
render(html`<${Page} />`, root);
