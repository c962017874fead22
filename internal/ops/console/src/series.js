// Seconds as they come, kept for a quarter of an hour and made into lines of
// charts. Nothing here knows of the page.

import {count, rate, seconds as time} from './format.js';

/** As many seconds as the gateway remembers. */
export const keep = 900;

/** The seconds with one more, in order; one that is there already is replaced. */
export function add(list, second) {
  if (!second || !second.at) return list;
  const last = list.at(-1);
  if (last && second.at < last.at) return list;
  const next = last && second.at === last.at ? list.slice(0, -1) : list.slice(Math.max(0, list.length + 1 - keep));
  next.push(second);
  return next;
}

/** Two lists of seconds as one: what came live counts where both have it. */
export function merge(history, live) {
  const all = new Map();
  for (const s of [...history, ...live]) if (s && s.at) all.set(s.at, s);
  return [...all.values()].sort((a, b) => a.at - b.at).slice(-keep);
}

/** All that a second refused. */
export function refused(second) {
  let n = 0;
  for (const stage in second.refused ?? {}) n += second.refused[stage];
  return n;
}

const counts = ['offered', 'ran', 'queued', 'degraded', 'good', 'late', 'failed', 'left', 'started'];

/**
 * The sum of seconds. Waits are means over the requests that started, not over
 * seconds; the time to first token is a mean over the seconds that had one.
 */
export function sum(list) {
  const out = {at: list[0]?.at, seconds: list.length, refused: {}, worst_s: 0, wait_s: NaN, predicted_s: NaN, ttft_s: NaN};
  for (const key of counts) out[key] = 0;
  let waits = 0, foretold = 0, first = 0, firsts = 0;
  for (const s of list) {
    for (const key of counts) out[key] += s[key] ?? 0;
    for (const stage in s.refused ?? {}) out.refused[stage] = (out.refused[stage] ?? 0) + s.refused[stage];
    waits += (s.wait_s ?? 0) * (s.started ?? 0);
    foretold += (s.predicted_s ?? 0) * (s.started ?? 0);
    out.worst_s = Math.max(out.worst_s, s.worst_s ?? 0);
    if (s.ttft_s > 0) {
      first += s.ttft_s;
      firsts++;
    }
  }
  if (out.started) {
    out.wait_s = waits / out.started;
    out.predicted_s = foretold / out.started;
  }
  if (firsts) out.ttft_s = first / firsts;
  return out;
}

/** How many seconds one point of a chart is, for a span of seconds. */
export const step = (span) => (span > 600 ? 5 : span > 200 ? 2 : 1);

/**
 * The last span seconds in bins of equal length, whose begins are multiples of
 * it, so that old points stay what they are. A bin without seconds is null: a gap.
 */
export function bins(list, span) {
  if (!list.length) return [];
  const width = step(span), end = list.at(-1).at;
  const begin = Math.max(end - span + 1, list[0].at);
  const out = [];
  let i = list.findIndex((s) => s.at >= begin);
  for (let at = begin - (begin % width); at <= end; at += width) {
    const some = [];
    for (; i < list.length && list[i].at < at + width; i++) if (list[i].at >= at) some.push(list[i]);
    out.push(some.length ? {...sum(some), at} : {at, seconds: 0});
  }
  return out;
}

const perSecond = (key) => (b) => (b.seconds ? b[key] / b.seconds : null);
const mean = (key) => (b) => (b.seconds && Number.isFinite(b[key]) ? b[key] : null);

/** The stages that refused most in these bins, most first, at most four. */
export function stages(list, most = 4) {
  const total = sum(list.filter((b) => b.seconds)).refused;
  return Object.keys(total).sort((a, b) => total[b] - total[a] || (a < b ? -1 : 1)).slice(0, most);
}

/**
 * The names, each in the place that it had before: a stage keeps its colour while
 * it is among those that are shown. A place that is free is undefined.
 */
export function placed(before, names) {
  const out = before.map((name) => (names.includes(name) ? name : undefined));
  for (const name of names) {
    if (out.includes(name)) continue;
    const free = out.indexOf(undefined);
    out[free < 0 ? out.length : free] = name;
  }
  return out;
}

/**
 * What is decided, as areas on top of each other: each line is the sum of itself
 * and those before. Stages that are not named are in the last one.
 */
export function decisions(list, names) {
  const parts = [
    {label: 'run at once', of: perSecond('ran')},
    {label: 'queued', of: perSecond('queued')},
    ...names.flatMap((stage, i) => (stage === undefined ? [] : [{hue: i + 2, label: `refused: ${stage}`, of: (b) => (b.seconds ? (b.refused[stage] ?? 0) / b.seconds : null)}])),
    {hue: 6, label: 'refused: other', of: (b) => (b.seconds ? (refused(b) - names.reduce((n, stage) => n + (b.refused[stage] ?? 0), 0)) / b.seconds : null)},
  ];
  const lines = parts.map(({label, hue, of}) => ({label, hue, own: list.map(of)}));
  let below = list.map(() => 0);
  for (const line of lines) {
    line.values = line.own.map((v, i) => (v === null ? null : v + below[i]));
    below = line.values.map((v) => v ?? 0);
  }
  return {at: list.map((b) => b.at), lines};
}

/** Waits that came true, those predicted for the same requests, the worst. */
export function waits(list) {
  return {at: list.map((b) => b.at), lines: [
    {label: 'waited', values: list.map(mean('wait_s'))},
    {label: 'predicted', values: list.map(mean('predicted_s'))},
    {label: 'longest', values: list.map((b) => (b.seconds && b.started ? b.worst_s : null))},
  ]};
}

/** How requests ended, a second. */
export function endings(list) {
  return {at: list.map((b) => b.at), lines: [
    {label: 'in time', values: list.map(perSecond('good'))},
    {label: 'late', values: list.map(perSecond('late'))},
    {label: 'failed', values: list.map(perSecond('failed'))},
    {label: 'caller left', values: list.map(perSecond('left'))},
  ]};
}

/** The last ten seconds of each chart in a sentence: what its curve ends with. */
export function words(list) {
  const last = list.slice(-10);
  if (!last.length) return {decisions: 'No second is over yet.', waits: 'No second is over yet.', endings: 'No second is over yet.'};
  const s = sum(last), n = s.seconds, away = refused(s);
  const by = Object.keys(s.refused).sort((a, b) => s.refused[b] - s.refused[a]).slice(0, 3);
  const why = by.map((stage) => `${stage} ${rate(s.refused[stage] / n)}`).join(', ');
  return {
    decisions: s.offered + away === 0 ? 'Nothing was offered in the last ten seconds.'
      : `${rate(s.offered / n)} offered: ${rate(s.ran / n)} run at once, ${rate(s.queued / n)} queued, ${rate(away / n)} refused${why && ` (${why})`}, ${rate(s.degraded / n)} in a cheaper form.`,
    waits: s.started ? `${count(Math.round(s.started), 'request')} came out of a queue after ${time(s.wait_s)}; ${time(s.predicted_s)} had been predicted. Longest ${time(s.worst_s)}.`
      : 'Nothing came out of a queue in the last ten seconds.',
    endings: `${rate(s.good / n)} in time, ${rate(s.late / n)} late, ${rate(s.failed / n)} failed, ${rate(s.left / n)} left${Number.isFinite(s.ttft_s) ? `; first token after ${time(s.ttft_s)}` : ''}.`,
  };
}

/** A chart as a table, for those who do not see it: at most twelve rows. */
export function figures({at, lines}) {
  const every = Math.max(1, Math.ceil(at.length / 12));
  const rows = [];
  for (let i = at.length - 1; i >= 0; i -= every) {
    rows.push({at: at[i], values: lines.map((l) => (l.own ?? l.values)[i])});
  }
  return {heads: lines.map((l) => l.label), rows};
}
