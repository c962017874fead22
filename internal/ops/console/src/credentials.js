// Who may call: keys as rows, and what is typed about them. Nothing here knows of
// the page, and no key itself comes by.

import {moment, seconds} from './format.js';

/** One row for each key, with its tenant. */
export const rows = (tenants) => tenants.flatMap((t) => t.keys.map((k) => ({...k, tenant: t.name})));

/** Whether there are no tenants, so that nobody needs a key: the one that stands for all has none. */
export const open = (tenants) => tenants.every((t) => t.keys.length === 0);

const soon = 7 * 86_400; // seconds before its end that a key is marked

/** How long a key counts, in words. at is what it is sorted by: what ends next is first, what has ended last. */
export function term(key, now = new Date()) {
  if (key.ended) return {text: `ended ${moment(key.until, now)}`, at: undefined};
  if (!key.until) return {text: 'until revoked', at: Infinity};
  const left = (Date.parse(key.until) - now) / 1000;
  return {text: `until ${moment(key.until, now)}, for ${seconds(Math.max(0, left))}`, at: Date.parse(key.until), level: left < soon ? 1 : 0};
}

/** What is wrong with a name, or nothing. taken has those that are there. */
export function nameFault(name, taken = []) {
  if (/\s/.test(name)) return 'A name has no spaces.';
  if ([...name].length > 128) return 'A name has at most 128 characters.';
  if (name === '.' || name === '..') return 'A name is more than dots.'; // a browser takes them out of an address
  return taken.includes(name) ? `${name} is there already.` : undefined;
}

/** What a field for date and time holds, as the gateway wants it: {value}, {} for never, or {error}. */
export function end(text, now = new Date()) {
  if (text === '') return {};
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return {error: 'This is no date with a time.'};
  if (at <= now) return {error: 'This is over already.'};
  return {value: at.toISOString().replace('.000Z', 'Z')};
}

/** A body for the gateway, without what was left empty. */
export const wish = (fields) => Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined && v !== ''));

/** Where a tenant, its keys, or one of them is asked for. */
export const place = (tenant, ...rest) => ['tenants', encodeURIComponent(tenant), ...rest.map(encodeURIComponent)].join('/');

/** How long an old key may go on beside its new one. */
export const graces = [['0s', 'not at all'], ['1h', '1 hour'], ['24h', '1 day'], ['168h', '7 days'], ['720h', '30 days'], ['2160h', '90 days']];
