// A live gateway before a simulated upstream, both as a user would start them.
// Each test has its own; they end with it.

import {spawn, execFileSync} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import http from 'node:http';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';

const binary = process.env.SPILLWAY_BIN ?? fileURLToPath(new URL('../../bin/spillway', import.meta.url));

if (!existsSync(binary)) throw new Error(`there is no ${binary}: make build`);

/** The key of the only tenant. */
export const key = 'sk-compat-key-of-the-team';

let hash;

/** Milliseconds that bound everything a test waits for. */
export const patience = 20_000;

const children = new Set();
process.on('exit', () => children.forEach((c) => c.kill('SIGKILL')));

/** Starts the program and waits for the line of its output that ready() takes. */
function run(t, args, output, ready) {
  const child = spawn(binary, args, {stdio: ['ignore', 'pipe', 'pipe']});
  children.add(child);
  const ended = new Promise((resolve) => child.once('exit', (code) => { children.delete(child); resolve(code); }));
  t.after(async () => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await ended;
    clearTimeout(late);
  });
  const said = [];
  return new Promise((resolve, reject) => {
    const read = (stream) => createInterface({input: stream}).on('line', (line) => {
      said.push(line);
      const found = stream === child[output] && ready(line);
      if (found) resolve(found);
    });
    read(child.stdout);
    read(child.stderr);
    child.once('error', reject);
    ended.then((code) => reject(new Error(`spillway ${args[0]} ended with ${code}:\n${said.join('\n')}`)));
  });
}

/** Starts a simulated upstream whose answers take some ten milliseconds; returns its address. */
export function startMock(t, flags = {}) {
  const all = {noise: 0, seed: 7, base: '5ms', 'per-output': '500us', 'output-mean': 40, ...flags};
  const args = Object.entries(all).map(([name, value]) => (value === true ? `--${name}` : `--${name}=${value}`));
  return run(t, ['mock', '--listen=127.0.0.1:0', ...args], 'stdout', (line) => line.match(/http:\/\/[\d.:]+(?=\/v1)/)?.[0]);
}

/** Starts an upstream that streams the same text whatever it is asked; returns its address. */
export function startScript(t, text) {
  const server = http.createServer((req, res) => {
    req.resume().on('end', () => res.writeHead(200, {'content-type': 'text/event-stream'}).end(text));
  });
  t.after(() => { server.closeAllConnections(); server.close(); });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`)));
}

/**
 * Starts a gateway. Settings: mock (flags of the simulated upstream), upstream
 * (an address in its place), kind (of the provider, if not OpenAI's), slots,
 * prior, model, tenant and rest (YAML).
 */
export async function start(t, s = {}) {
  const upstream = s.upstream ?? await startMock(t, s.mock);
  hash ??= execFileSync(binary, ['check', '--hash-key', key], {encoding: 'utf8'}).trim();
  const dir = mkdtempSync(path.join(tmpdir(), 'spillway-compat-'));
  t.after(() => rmSync(dir, {recursive: true}));
  const file = path.join(dir, 'spillway.yaml');
  writeFileSync(file, `
drain: 1s
ledger: {enabled: false}
providers: {gpu: {base_url: "${upstream}${s.kind ? '' : '/v1'}", kind: ${s.kind ?? 'openai'}, api_key: sk-upstream-secret}}
models:
  chat:
    deployments: [{provider: gpu, model: big-1-int8, concurrency: ${s.slots ?? 8}}]
    prior: ${s.prior ?? '{first_token: 5ms, per_output_token: 500us, output_tokens: 40}'}
    ${s.model ?? ''}
tenants:
  - name: team
    keys: ["${hash}"]
    ${s.tenant ?? ''}
${s.rest ?? ''}
`);
  const address = await run(t, ['serve', '--config', file, '--listen=127.0.0.1:0', '--ops=127.0.0.1:0'], 'stderr', (line) => {
    if (!line.includes('"spillway serves"')) return undefined;
    return JSON.parse(line);
  });
  return new Rig(upstream, `http://${address.listen}/v1`, `http://${address.ops}`);
}

class Rig {
  constructor(upstream, url, ops) {
    Object.assign(this, {upstream, url, ops});
  }

  /** The upstream's counters. */
  async stats() {
    return (await fetch(`${this.upstream}/stats`)).json();
  }

  /** Adds up the gateway's series of a name that have all the labels, such as tenant="team". */
  async metric(name, ...labels) {
    const text = await (await fetch(`${this.ops}/metrics`)).text();
    return text.split('\n')
      .filter((line) => line.startsWith(name) && '{ '.includes(line[name.length]) && labels.every((l) => line.includes(l)))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  /** How many requests have been queued so far. */
  queued() {
    return this.metric('spillway_decisions_total', 'verdict="queue"');
  }

  /** Waits until neither the gateway nor the upstream has anything to do. */
  async idle() {
    await eventually('nothing is in flight in the gateway', async () => await this.metric('spillway_requests_in_flight') === 0);
    await eventually('nothing runs upstream', async () => (await this.stats()).inflight === 0);
  }

  /** Takes a slot with a stream that stands still, until the returned function is called. */
  async occupy() {
    const abort = new AbortController();
    const response = await fetch(`${this.url}/chat/completions`, {
      method: 'POST', signal: abort.signal, headers: {authorization: `Bearer ${key}`, 'content-type': 'application/json'},
      body: JSON.stringify({model: 'chat', stream: true, ...ask('stall=2')}),
    });
    if (!response.ok) throw new Error(`occupy a slot: ${response.status} ${await response.text()}`);
    await response.body.getReader().read();
    return () => abort.abort();
  }
}

/** The members of a chat request, with a fault of the upstream if one is named. */
export function ask(fault) {
  const body = {model: 'chat', messages: [{role: 'user', content: 'When does the office open?'}]};
  if (fault) body.metadata = {mock_fault: fault};
  return body;
}

/** Waits until a condition holds. */
export async function eventually(what, holds) {
  for (const end = Date.now() + patience; !await holds();) {
    if (Date.now() > end) throw new Error(`not within ${patience} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A fetch that notes each exchange in the list it has as a member. */
export function watched(seen = () => {}) {
  const list = [];
  const watch = async (url, init) => {
    const headers = new Headers(init.headers);
    const exchange = {begun: performance.now(), count: headers.get('x-stainless-retry-count'), timeout: headers.get('x-stainless-timeout')};
    list.push(exchange);
    const response = await fetch(url, init);
    Object.assign(exchange, {at: performance.now(), status: response.status, headers: response.headers});
    seen(exchange);
    return response;
  };
  return Object.assign(watch, {list});
}

const chunk = (delta, finish = null) => `data: ${JSON.stringify({
  id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'big-1-int8', choices: [{index: 0, delta, finish_reason: finish}],
})}\n\n`;

// A whole stream that says "one two", in parts.
const script = {
  role: chunk({role: 'assistant', content: ''}),
  rest: `${chunk({content: 'one '})}${chunk({content: 'two'})}${chunk({}, 'stop')}data: [DONE]\n\n`,
};

/** Streams that straight from the upstream end or confuse some client (B007, B009, B010). */
export const stray = {
  retry: `retry: 3000\n\n${script.role}${script.rest}`,
  'event only': `${script.role}event: keepalive\n\n${script.rest}`,
  'empty data': `${script.role}data:\n\n${script.rest}`,
  'byte order mark': `\ufeff${script.rest}`,
  comments: `: PROCESSING\n\n: PROCESSING\n\n${script.role}: c\n\n${script.rest}`,
  'null error': script.role.replace('"object"', '"error":null,"object"') + script.rest,
  'open end': script.role + script.rest.trimEnd(),
  'lone returns': (script.role + script.rest).replaceAll('\n', '\r'),
};
