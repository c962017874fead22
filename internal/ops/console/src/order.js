// Sorting and filtering of rows. Nothing here knows of the page.

/**
 * The rows in order of a key. Rows that are alike keep their order, so that a
 * table does not jump each second. What has no figure comes last, either way.
 */
export function sorted(rows, key, down) {
  const sign = down ? -1 : 1;
  const missing = (v) => v === undefined || v === null || Number.isNaN(v);
  return rows.map((row, i) => [key(row), i, row]).sort(([a, i], [b, j]) => {
    if (missing(a) || missing(b)) return missing(a) - missing(b) || i - j;
    if (typeof a === 'string') return sign * names.compare(a, String(b)) || i - j;
    return sign * (a - b) || i - j;
  }).map(([, , row]) => row);
}

const names = new Intl.Collator('en', {numeric: true});

/** Whether a text has all words of a search, in any order and case. */
export function matches(text, search) {
  const low = text.toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => low.includes(word));
}
