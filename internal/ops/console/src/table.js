// A table that can be sorted and searched. Rows whose cells say the same as a
// second ago are not touched.

import {Component} from 'preact';
import {useState} from 'preact/hooks';

import {amount} from './format.js';
import {html} from './html.js';
import {matches, sorted} from './order.js';

/**
 * columns are {key, label, of, show, num, wide, long, word}: of gives what is sorted by,
 * show a text, {text, bar, level} or a node; wide ones are left out on a phone, long
 * ones hold sentences, word ones are not broken. first is [key, down]; search gives the text of a row that is
 * searched; most bounds the rows; even columns are not measured, which a table of
 * hundreds of rows would be each second.
 */
export function Table({id, caption, columns, rows, keyOf, first, search, most = Infinity, even, empty, more}) {
  const [[by, down], order] = useState(first ?? [null, false]);
  const [text, setText] = useState('');
  const column = columns.find((c) => c.key === by);
  const found = text ? rows.filter((r) => matches(search(r), text)) : rows;
  const shown = column ? sorted(found, column.of, down) : found;
  const turn = (c) => order(c.key === by ? [by, !down] : [c.key, Boolean(c.num)]);
  return html`<div class="table ${even ? 'even' : ''}" id=${id && `${id}-table`}>
    ${search && html`<label class="search">Search <input type="search" value=${text} onInput=${(e) => setText(e.target.value)} data-search /></label>
      <span class="count">${amount(found.length)} of ${amount(rows.length)}</span>`}
    <div class="scroll" tabindex="0" role="region" aria-label=${caption}>
      <table><caption class="hidden">${caption}</caption>
        <thead><tr>${columns.map((c) => html`<th key=${c.key} scope="col" class="${c.num ? 'num' : ''} ${c.wide ? 'wide' : ''}"
          aria-sort=${c.key === by ? (down ? 'descending' : 'ascending') : undefined}>
          ${c.of ? html`<button type="button" class="sort" onClick=${() => turn(c)}>${c.label}<span aria-hidden="true">${c.key === by ? (down ? ' ▾' : ' ▴') : ''}</span></button>` : c.label}</th>`)}</tr></thead>
        <tbody>${shown.slice(0, most).map((r) => html`<${Row} key=${keyOf(r)} cells=${columns.map((c) => c.show(r))} columns=${columns} />`)}
          ${shown.length === 0 && html`<tr><td colspan=${columns.length} class="empty">${text ? 'Nothing has these words.' : empty}</td></tr>`}</tbody>
      </table>
    </div>
    ${shown.length > most && html`<p class="note">${amount(shown.length - most)} more${more ? html`: ${more}` : '.'}</p>`}
  </div>`;
}

class Row extends Component {
  shouldComponentUpdate({cells}) {
    return cells.some((c, i) => !same(c, this.props.cells[i]));
  }

  render({cells, columns}) {
    return html`<tr>${cells.map((c, i) => {
      const col = columns[i];
      const inside = c && typeof c === 'object' && 'text' in c ? html`<${Cell} ...${c} />` : c;
      const look = `${col.num ? 'num' : ''} ${col.wide ? 'wide' : ''} ${col.long ? 'long' : ''} ${col.word ? 'word' : ''}`;
      return i === 0 ? html`<th scope="row" class=${look}>${inside}</th>` : html`<td class=${look}>${inside}</td>`;
    })}</tr>`;
  }
}

function same(a, b) {
  if (a === b) return true;
  return Boolean(a && b && typeof a === 'object' && 'text' in a && a.text === b.text && a.bar === b.bar && a.level === b.level && a.href === b.href);
}

const words = ['', '▲ ', '■ '];

/** A text with a bar of its share, and a sign for how bad it is. */
function Cell({text, bar, level = 0, href}) {
  return html`<span class="cell l${level}">${bar !== undefined && html`<span class="bar" aria-hidden="true"><i style=${{width: `${Math.round(Math.min(1, Math.max(0, bar)) * 100)}%`}}></i></span>`}
    <span class="text">${level > 0 && html`<span class="sign" aria-hidden="true">${words[level]}</span>`}${href ? html`<a href=${href}>${text}</a>` : text}</span></span>`;
}
