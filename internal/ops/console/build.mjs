// Makes the page that the binary embeds: one script and one style, named by what
// they hold, compressed as they are sent. What page/ held before is removed, but
// for the file that is there without a build.

import {build} from 'esbuild';
import {createHash} from 'node:crypto';
import {mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';

const here = path.dirname(fileURLToPath(import.meta.url));
const page = path.join(here, 'page');
const unbuilt = 'unbuilt.html';

const {outputFiles} = await build({
  absWorkingDir: here,
  entryPoints: {console: 'src/main.js'},
  outdir: page,
  bundle: true,
  minify: true,
  write: false,
  format: 'esm',
  target: ['chrome110', 'firefox115', 'safari16'],
  legalComments: 'none',
  logLevel: 'warning',
});

mkdirSync(page, {recursive: true});
for (const name of readdirSync(page)) if (name !== unbuilt) rmSync(path.join(page, name));

let total = 0;
const put = (name, content) => {
  const small = gzipSync(content, {level: 9});
  total += small.length;
  writeFileSync(path.join(page, `${name}.gz`), small);
};

let index = readFileSync(path.join(here, 'src/index.html'), 'utf8');
const named = (name, content) => {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const {name: stem, ext} = path.parse(name);
  const full = `${stem}-${hash}${ext}`;
  put(full, content);
  index = index.replaceAll(`"${name}"`, `"${full}"`);
};
for (const file of outputFiles) named(path.basename(file.path), Buffer.from(file.contents));
named('icon.svg', readFileSync(path.join(here, 'src/icon.svg')));
put('licenses.txt', licenses());
put('index.html', Buffer.from(index)); // last: make takes its time for that of the build
console.log(`console: ${(total / 1000).toFixed(1)} kB compressed`);

// licenses are the words that what is bundled must be passed on with.
function licenses() {
  const {dependencies} = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'));
  return Object.keys(dependencies).map((name) => {
    const dir = path.join(here, 'node_modules', name);
    const file = readdirSync(dir).find((f) => /^licen[cs]e/i.test(f));
    return `${name} ${dependencies[name]}\n\n${readFileSync(path.join(dir, file), 'utf8').trim()}\n`;
  }).join(`\n${'-'.repeat(70)}\n\n`);
}
