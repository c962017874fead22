// The view for the middle of an incident: what is wrong, since when, whose.

import {useMemo, useRef, useState} from 'preact/hooks';

import {Chart, perSecond, wait} from './chart.js';
import {Lanes, Models, Tenants} from './demand.js';
import {moment, seconds, value} from './format.js';
import {headline, levels} from './headline.js';
import {html} from './html.js';
import {Fault} from './notice.js';
import {Refusals} from './refusals.js';
import {bins, decisions, endings, placed, stages, waits, words} from './series.js';
import {Budgets, Upstreams} from './supply.js';

export const headOf = headline;

const signs = ['✓', '▲', '■'];
const spans = [[120, '2 min'], [300, '5 min'], [900, '15 min']];
const stackColours = ['run', 'queue', 'no1', 'no2', 'no3', 'no4', 'no5'];
const lineColours = ['line1', 'line2', 'line3', 'line4'];

export function Overview({who, picture, list, head, refusals, refusalsError, changes, onChange}) {
  return html`<h2 class="hidden" tabindex="-1">Overview</h2>
    <${Headline} head=${head} />
    <${Charts} list=${list} changes=${changes} />
    <${Part} id="models" title="Models"><${Models} models=${picture.models ?? []} /><//>
    <div class="columns">
      <${Part} id="tenants" title="Tenants with most refusals"><${Tenants} tenants=${picture.tenants ?? []} most=${8} more=${html`<a href="#/tenants">all tenants</a>`} /><//>
      <${Part} id="lanes" title="Longest queues"><${Lanes} lanes=${picture.lanes ?? []} out=${picture.lanes_left_out} most=${8} /><//>
    </div>
    <${Part} id="upstreams" title="Upstreams"><${Upstreams} upstreams=${picture.upstreams ?? []} who=${who} onChange=${onChange} /><//>
    <${Part} id="budgets" title="Budgets"><${Budgets} budgets=${picture.budgets ?? []} out=${picture.budgets_left_out} /><//>
    <${Part} id="refusals" title="Last refusals">${refusalsError ? html`<${Fault} error=${refusalsError} what="a list of refusals" />`
      : html`<${Refusals} list=${refusals} most=${8} more=${html`<a href="#/refusals">all that are known</a>`} />`}<//>
    <p class="note">Up for ${seconds(picture.uptime_s)}. Picture of ${moment(picture.at)}.</p>`;
}

function Part({id, title, children}) {
  return html`<section aria-labelledby="${id}-title"><h3 id=${id} tabindex="-1"><span id="${id}-title">${title}</span></h3>${children}</section>`;
}

/** Facts beyond the headline that are always shown. */
const atOnce = 5;

function Headline({head}) {
  const rest = head.more.slice(atOnce);
  return html`<section class="headline l${head.level}" aria-label="What is wrong now">
    <p class="first-fact"><${Badge} level=${head.level} /> ${head.to ? html`<a href="#/overview/${head.to}">${head.text}</a>` : head.text}</p>
    ${head.more.length > 0 && html`<${Facts} list=${head.more.slice(0, atOnce)} />`}
    ${rest.length > 0 && html`<details><summary>${rest.length} more</summary><${Facts} list=${rest} /></details>`}
  </section>`;
}

function Facts({list}) {
  return html`<ul>${list.map((f) => html`<li key=${f.text} class="l${f.level}"><${Badge} level=${f.level} /> <a href="#/overview/${f.to}">${f.text}</a></li>`)}</ul>`;
}

function Badge({level}) {
  return html`<span class="badge"><span aria-hidden="true">${signs[level]} </span>${levels[level]}</span>`;
}

function Charts({list, changes}) {
  const [span, choose] = useState(300);
  const places = useRef([]);
  const made = useMemo(() => {
    const b = bins(list, span);
    places.current = placed(places.current, stages(b));
    return {words: words(list), from: b[0]?.at ?? 0, decisions: decisions(b, places.current), waits: waits(b), endings: endings(b)};
  }, [list, span]);
  const marks = useMemo(() => changes.filter((c) => c.at).map((c) => ({at: Date.parse(c.at) / 1000, change: c})), [changes]);
  const seen = marks.filter((m) => m.at >= made.from);
  return html`<section aria-labelledby="charts-title">
    <div class="bar-title"><h3 id="charts-title">The last</h3>
      <div class="choice" role="group" aria-label="Span of the charts">${spans.map(([s, name]) => html`<button type="button" key=${s} aria-pressed=${s === span} onClick=${() => choose(s)}>${name}</button>`)}</div></div>
    <div class="charts">
      <${Chart} id="decisions" title="Decisions a second" words=${made.words.decisions} kind="stack" data=${made.decisions} unit=${perSecond} marks=${marks} colours=${stackColours} />
      <${Chart} id="waits" title="Waits, as predicted and as they came" words=${made.words.waits} kind="lines" data=${made.waits} unit=${wait} marks=${marks} colours=${lineColours} />
      <${Chart} id="endings" title="Goodput: answers a second" words=${made.words.endings} kind="lines" data=${made.endings} unit=${perSecond} marks=${marks} colours=${lineColours} />
    </div>
    ${seen.length > 0 && html`<div class="marks"><p><span aria-hidden="true">▼ </span>Changes in this time:</p><ul>${seen.slice(0, 5).map(({change: c}) => html`<li key=${c.id}><a href="#/changes">${moment(c.at)}</a> ${c.who}: ${summary(c)}</li>`)}</ul></div>`}
  </section>`;
}

const short = (text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text);

/** A change in a line. */
export function summary(c) {
  const set = Object.entries(c.set ?? {});
  const what = set.slice(0, 3).map(([path, v]) => `${path} ${v === null ? 'back to the file' : `= ${short(value(v))}`}`).join(', ');
  const rest = set.length > 3 ? ` and ${set.length - 3} more` : '';
  return `${what || (c.kind ?? 'change')}${rest}${c.why ? ` (${c.why})` : ''}`;
}
