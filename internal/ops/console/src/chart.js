// A chart with its text: a sentence of how it stands, a legend that says the
// figures under the pointer, and a table on demand.

import {Component, createRef} from 'preact';
import {useState} from 'preact/hooks';
import uPlot from 'uplot';

import {amount, clock, seconds} from './format.js';
import {html} from './html.js';
import {figures} from './series.js';
import {colour} from './theme.js';

const height = 150;
const dashes = [[], [6, 4], [2, 3], [10, 3, 2, 3]];

/**
 * kind is stack or lines; data is {at, lines}; unit formats a figure; marks are
 * changes {at, text} in Unix seconds.
 */
export function Chart({id, title, words, kind, data, unit, marks, colours}) {
  const [open, setOpen] = useState(false);
  return html`<figure class="chart" id=${id} tabindex="-1" aria-labelledby="${id}-title">
    <figcaption><h3 id="${id}-title">${title}</h3><p class="words">${words}</p></figcaption>
    <${Plot} kind=${kind} data=${data} unit=${unit} marks=${marks} colours=${colours} label="${title}. ${words}" />
    <details onToggle=${(e) => setOpen(e.target.open)}><summary>As a table</summary>${open && html`<${Figures} title=${title} data=${data} unit=${unit} />`}</details>
  </figure>`;
}

function Figures({title, data, unit}) {
  const {heads, rows} = figures(data);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${title}, as a table"><table><caption class="hidden">${title}, newest first</caption>
    <thead><tr><th scope="col">time</th>${heads.map((head) => html`<th scope="col" class="num">${head}</th>`)}</tr></thead>
    <tbody>${rows.map((r) => html`<tr key=${r.at}><th scope="row">${clock(r.at)}</th>${r.values.map((v) => html`<td class="num">${v === null || v === undefined ? '–' : unit(v)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

// Plot is made once and given new data; it is made again for another theme or
// other lines.
class Plot extends Component {
  box = createRef();
  state = {at: null};

  componentDidMount() {
    this.observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width > 0 && width !== this.width) {
        this.width = width;
        if (this.plot) this.plot.setSize({width, height});
        else this.make();
      }
    });
    this.observer.observe(this.box.current);
    addEventListener('theme', this.make);
  }

  componentWillUnmount() {
    this.observer.disconnect();
    removeEventListener('theme', this.make);
    this.plot?.destroy();
  }

  componentDidUpdate(before) {
    const names = (d) => d.lines.map((l) => l.label).join();
    if (!this.plot) return;
    if (names(before.data) !== names(this.props.data)) this.make();
    else if (before.data !== this.props.data) this.plot.setData(this.columns());
    else if (before.marks !== this.props.marks) this.plot.redraw(false);
  }

  columns() {
    const {kind, data} = this.props;
    const lines = data.lines.map((l) => l.values);
    return [data.at, ...(kind === 'stack' ? lines.reverse() : lines)]; // the highest area first: the others are drawn over it
  }

  make = () => {
    if (!this.width) return;
    this.plot?.destroy();
    const {kind, data, unit, colours} = this.props;
    const ink = colour('soft'), grid = {stroke: colour('line'), width: 1};
    const font = '11px system-ui, sans-serif';
    let series = data.lines.map((l, n) => {
      const i = l.hue ?? n;
      const stroke = colour(colours[Math.min(i, colours.length - 1)]);
      return kind === 'stack'
        ? {label: l.label, stroke, width: 1, fill: i < 2 ? stroke : hatch(stroke, i), points: {show: false}}
        : {label: l.label, stroke, width: 2, dash: dashes[i % dashes.length], points: {show: false}};
    });
    if (kind === 'stack') series = series.reverse();
    this.plot = new uPlot({
      width: this.width, height, series: [{}, ...series], legend: {show: false},
      cursor: {sync: {key: 'time'}, drag: {x: false, y: false}, points: {show: false}, y: false},
      scales: {y: {range: (u, min, max) => [0, max > 0 ? max * 1.08 : 1]}},
      axes: [
        {stroke: ink, grid, ticks: grid, font, size: 26, values: (u, ticks) => ticks.map((t) => clock(t).slice(0, t % 60 ? 8 : 5)), space: 70},
        {stroke: ink, grid, ticks: grid, font, size: 52, space: 28, values: (u, ticks) => ticks.map((v) => unit(v).replace('.0 ', ' '))},
      ],
      hooks: {
        drawAxes: [(u) => this.mark(u)],
        setCursor: [(u) => {
          const at = u.cursor.idx ?? null;
          if (at !== this.state.at) this.setState({at});
        }],
      },
    }, this.columns(), this.box.current);
  };

  mark(u) {
    const {ctx, bbox} = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour('mark');
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const {at} of this.props.marks) {
      if (at < u.scales.x.min || at > u.scales.x.max) continue;
      const x = Math.round(u.valToPos(at, 'x', true));
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const r = 4 * devicePixelRatio;
      ctx.beginPath();
      ctx.moveTo(x - r, bbox.top);
      ctx.lineTo(x + r, bbox.top);
      ctx.lineTo(x, bbox.top + 1.5 * r);
      ctx.fill();
    }
    ctx.restore();
  }

  render({data, unit, colours, kind, label}, {at}) {
    const i = at ?? data.at.length - 1;
    return html`<div class="plot" role="img" aria-label=${label} ref=${this.box}></div>
      <ul class="legend" aria-label="Legend, with the figures ${at === null ? 'at the end' : 'under the pointer'}">
        ${data.lines.map((l, n) => html`<li key=${l.label}><${Swatch} kind=${kind} n=${l.hue ?? n} colour=${colours[Math.min(l.hue ?? n, colours.length - 1)]} />${l.label} <b>${show((l.own ?? l.values)[i], unit)}</b></li>`)}
        <li class="when">${data.at.length ? clock(data.at[i] ?? NaN) : ''}</li>
      </ul>`;
  }
}

const show = (v, unit) => (v === null || v === undefined ? '–' : unit(v));

function Swatch({kind, n, colour: name}) {
  const paint = {stroke: `var(--${name})`};
  if (kind === 'lines') {
    return html`<svg class="swatch" viewBox="0 0 24 10" aria-hidden="true"><path d="M0 5h24" style=${paint} stroke-width="2.5" stroke-dasharray=${dashes[n % dashes.length].join(' ')} /></svg>`;
  }
  return html`<svg class="swatch" viewBox="0 0 24 10" aria-hidden="true"><rect width="24" height="10" style=${{fill: n < 2 ? `var(--${name})` : 'none', ...paint}} />
    ${n >= 2 && html`<path d=${n % 2 ? 'M-2 10l10-10M6 10l10-10M14 10l10-10' : 'M-2 0l10 10M6 0l10 10M14 0l10 10'} style=${paint} stroke-width="2" />`}</svg>`;
}

// hatch tells refusals from what is served without colour: lines up or down.
function hatch(stroke, n) {
  const size = 8 * devicePixelRatio;
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const c = tile.getContext('2d');
  c.fillStyle = colour('page');
  c.fillRect(0, 0, size, size);
  c.strokeStyle = stroke;
  c.lineWidth = 2.5 * devicePixelRatio;
  c.beginPath();
  for (const d of [-size, 0, size]) {
    c.moveTo(d - 2, n % 2 ? size + 2 : -2);
    c.lineTo(d + size + 2, n % 2 ? -2 : size + 2);
  }
  c.stroke();
  return c.createPattern(tile, 'repeat');
}

export const perSecond = (v) => amount(v);
export const wait = (v) => seconds(v);
