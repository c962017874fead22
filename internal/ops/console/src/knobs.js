// Settings by their path: what an explanation names, and values as people type
// them. Nothing here knows of the page.

/**
 * A text about settings, such as "models.chat.queue.low, high and tenants[a].rpm",
 * as pieces: plain words, and paths with what to search the settings for.
 */
export function pieces(text) {
  const out = [];
  let end = 0;
  for (const m of text.matchAll(/\b[a-z_]+(?:(?:\.[\w-]+|\[[^\]]*\])+)/g)) {
    if (m.index > end) out.push({text: text.slice(end, m.index)});
    out.push({text: m[0], search: m[0].replace('[]', ' ').trim()});
    end = m.index + m[0].length;
  }
  if (end < text.length) out.push({text: text.slice(end)});
  return out;
}

/** The values a setting has one of; of a list each is one of them, which no choice shows. */
export function choices({type, enum: words}) {
  if (type === 'switch') return [true, false];
  return words?.length && type !== 'list' && type !== 'object' ? words : null;
}

/** What a typed text means for a setting: {value} or {error}, by the types of GET settings. */
export function parse(setting, text) {
  const t = text.trim(), options = choices(setting), n = Number(t);
  if (options) {
    const value = options.find((v) => String(v) === t);
    return value === undefined ? {error: `one of ${options.join(', ')}`} : {value};
  }
  if (t === '') return {error: 'not empty'};
  switch (setting.type) {
    case 'number':
      return Number.isInteger(n) ? {value: n} : {error: 'a whole number'};
    case 'decimal':
    case 'dollars':
      return Number.isFinite(n) ? {value: n} : {error: 'a number'};
    case 'size':
    case 'percent':
      return {value: Number.isFinite(n) ? n : t}; // 64KiB and 5% are texts
    case 'list':
    case 'object':
      try {
        return {value: JSON.parse(t)};
      } catch {
        return {error: setting.type === 'list' ? 'a list in JSON, such as ["a", "b"]' : 'an object in JSON, such as {"a": 1}'};
      }
  }
  return {value: t};
}

/** A value as it is edited. */
export function edited(v) {
  if (v === null || v === undefined) return '';
  return typeof v === 'object' ? JSON.stringify(v) : String(v);
}

/** The rows of now beside then: figure, which way it goes and whether that is better. */
export function compare(now, then, measured) {
  return outcomes.filter(([key]) => now?.[key] !== undefined || then?.[key] !== undefined).map(([key, label, unit, better]) => {
    const a = now?.[key] ?? 0, b = then?.[key] ?? 0;
    const moved = Math.abs(b - a) > 1e-9 && Math.abs(b - a) >= 0.005 * Math.max(Math.abs(a), Math.abs(b));
    return {key, label, unit, now: a, then: b, measured: measured?.[key], change: !moved ? 'same' : Math.sign(b - a) === better ? 'better' : better === 0 ? 'differs' : 'worse'};
  });
}

/** Figures of an outcome: name, words, unit, and which way is better. */
const outcomes = [
  ['offered', 'offered', 'amount', 0], ['served', 'served', 'amount', 1], ['on_time', 'in time', 'amount', 1], ['refused', 'refused', 'amount', -1],
  ['degraded', 'in a cheaper form', 'amount', -1], ['late', 'late', 'amount', -1], ['goodput_per_s', 'goodput', 'rate', 1],
  ['wait_p50_s', 'wait, median', 'seconds', -1], ['wait_p99_s', 'wait, P99', 'seconds', -1], ['ttft_p50_s', 'first token, median', 'seconds', -1],
  ['ttft_p99_s', 'first token, P99', 'seconds', -1], ['cost_dollars', 'cost', 'dollars', -1],
];
