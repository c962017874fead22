package sim

import "html/template"

// pageTemplate is the page around the pictures: no script, nothing from a
// network, colours by the reader's preference.
var pageTemplate = template.Must(template.New("report").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Simulation report</title>
<style>
:root { color-scheme: light dark; --paper: #f4f5f7; --card: #ffffff; --ink: #2b3038; --soft: #626a76; --rule: #dfe2e7; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15171b; --card: #1e2127; --ink: #dde1e7; --soft: #9aa2ae; --rule: #383d46; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 1.5rem 1rem 3rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.05rem; margin: 0; }
p { margin: .15rem 0 .75rem; color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1rem 0; padding: 0; list-style: none; }
.tiles li, section { background: var(--card); border: 1px solid var(--rule); border-radius: .5rem; padding: .75rem 1rem; }
.tiles b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: .85rem; }
section { margin: 0 0 1rem; }
.wide { overflow-x: auto; }
.wide svg { display: block; width: 100%; min-width: 36rem; height: auto; }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; white-space: nowrap; width: 100%; }
th, td { text-align: right; padding: .3rem .4rem; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { text-align: left; }
thead th { color: var(--soft); font-weight: 600; }
tbody th { font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .9rem; font-size: .85rem; margin: .6rem 0 0; }
dt { font-weight: 600; } dd { margin: 0; color: var(--soft); }
summary { cursor: pointer; color: var(--soft); font-size: .9rem; margin-top: .6rem; }
@media (max-width: 40rem) { body { padding: 1rem .5rem 2rem; } section { padding: .6rem .6rem; } dl { grid-template-columns: 1fr; } dd { margin: 0 0 .4rem; } }
</style>
</head>
<body>
<main>
<header>
<h1>Simulation report</h1>
<p>{{.Offered}} requests in {{.Span}}; the offered work is {{.Work}} of the capacity. Pictures over time show the policy <b>{{.Policy}}</b>.</p>
</header>
<ul class="tiles" aria-label="The policy {{.Policy}} in figures">
{{- range .Tiles}}
<li><b>{{.Value}}</b><span>{{.Name}}</span></li>
{{- end}}
</ul>
{{- range .Figures}}
<section>
<h2>{{.Title}}</h2>
<p>{{.Note}}</p>
<div class="wide" role="img" aria-label="{{.Alt}}" tabindex="0">{{.SVG}}</div>
</section>
{{- end}}
<section>
<h2>Policies in figures</h2>
<p>Every policy met the same requests with the same true work.</p>
{{template "table" .Policies}}
<details>
<summary>What the columns mean</summary>
<dl>
{{- range .Columns}}
<dt>{{.Head}}</dt><dd>{{.Means}}</dd>
{{- end}}
</dl>
</details>
</section>
{{- with .Tenants}}
<section>
<h2>Tenants in figures</h2>
<p>Under the policy {{$.Policy}}, by demand.</p>
{{template "table" .}}
</section>
{{- end}}
{{- with .Upstreams}}
<section>
<h2>Deployments in figures</h2>
<p>Under the policy {{$.Policy}}. Limited and failed are shares of its calls; slots are calls at once; used is what was accepted of what its limit allowed.</p>
{{template "table" .}}
</section>
{{- end}}
</main>
</body>
</html>
{{define "table"}}<div class="wide" tabindex="0" role="group" aria-label="table, scrolls sideways"><table>
{{- range $i, $row := .}}
{{- if eq $i 0}}
<thead><tr>{{range $row}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{- else}}
<tr>{{range $j, $cell := $row}}{{if eq $j 0}}<th scope="row">{{$cell}}</th>{{else}}<td>{{$cell}}</td>{{end}}{{end}}</tr>
{{- end}}
{{- end}}
</tbody></table></div>{{end}}`))
