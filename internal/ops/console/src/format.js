// Figures as people read them. Nothing here knows of the page.

const dash = '–';

/** A time in seconds: 340 ms, 4.2 s, 3 min 20 s, 2 h 5 min. */
export function seconds(s) {
  if (!Number.isFinite(s)) return dash;
  if (s < 0) return `-${seconds(-s)}`;
  if (s === 0) return '0 s';
  if (s < 0.0005) return '< 1 ms';
  if (s < 0.9995) return `${Math.round(s * 1000)} ms`;
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (s < 119.5) return `${Math.round(s)} s`;
  const whole = Math.round(s);
  if (whole < 7200) return pair(Math.floor(whole / 60), 'min', whole % 60, 's');
  const minutes = Math.round(s / 60);
  if (minutes < 2880) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  return pair(Math.floor(minutes / 1440), 'd', Math.floor((minutes % 1440) / 60), 'h');
}

function pair(big, bigUnit, small, smallUnit) {
  return small ? `${big} ${bigUnit} ${small} ${smallUnit}` : `${big} ${bigUnit}`;
}

/** A number with at most three digits that matter, in thousands if it is large. */
export function amount(n) {
  if (!Number.isFinite(n)) return dash;
  const size = Math.abs(n);
  if (size >= 999_500_000) return `${trim(n / 1e9)} G`;
  if (size >= 999_500) return `${trim(n / 1e6)} M`;
  if (size >= 9_950) return `${trim(n / 1e3)} k`;
  return trim(n);
}

function trim(n) {
  const size = Math.abs(n);
  if (size >= 99.5 || Number.isInteger(n)) return String(Math.round(n));
  const text = n.toFixed(size >= 9.95 ? 1 : 2).replace(/\.?0+$/, '');
  return text === '-0' ? '0' : text;
}

/** A rate a second. */
export const rate = (n) => `${amount(n)}/s`;

/** A share between 0 and 1, as per cent. What is not nothing is never 0 %. */
export function share(x) {
  if (!Number.isFinite(x)) return dash;
  const percent = x * 100;
  if (percent > 0 && percent < 1) return '<\u00a01\u00a0%';
  if (percent > 99 && percent < 100) return '>\u00a099\u00a0%';
  return `${Math.round(percent)}\u00a0%`;
}

/** Dollars: cents where they matter. */
export function dollars(d) {
  if (!Number.isFinite(d)) return dash;
  if (d < 0) return `-${dollars(-d)}`;
  if (d === 0) return '$0';
  if (d < 0.01) return `$${d.toPrecision(2)}`;
  if (d < 1000) return `$${d.toFixed(2)}`;
  return `$${Math.round(d).toLocaleString('en-US')}`;
}

/** The time of day of a date, or of Unix seconds. */
export function clock(at) {
  const date = typeof at === 'number' ? new Date(at * 1000) : new Date(at);
  if (Number.isNaN(date.getTime())) return dash;
  return date.toTimeString().slice(0, 8);
}

/** Day and time of day, for what may be of another day. */
export function moment(at, now = new Date()) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return dash;
  const two = (n) => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return date.toDateString() === now.toDateString() ? clock(date) : `${day} ${clock(date)}`;
}

/** A count with its noun: 1 request, 12 requests. */
export function count(n, noun, many = `${noun}s`) {
  return `${amount(n)} ${n === 1 ? noun : many}`;
}

/** A value of a setting, in one line. */
export function value(v) {
  if (v === null || v === undefined) return 'not set';
  if (typeof v === 'string') return v === '' ? 'empty' : v;
  return typeof v === 'object' ? JSON.stringify(v) : String(v);
}
