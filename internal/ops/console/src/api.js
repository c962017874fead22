// The operators' API, as a page uses it: with the cookie of its session.

/** An error of the API, as it says it: what was wrong, where, and what to do. */
class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? `status ${status}`);
    this.status = status;
    this.place = body.place;
    this.remedy = body.remedy;
  }
}

const base = '/admin/v1/';

/** Asks, and gives the JSON of the answer. Whatever is not a GET says that it is meant. */
export async function call(method, path, body) {
  const init = {method, headers: {Accept: 'application/json'}, cache: 'no-store'};
  if (method !== 'GET') init.headers['X-Spillway-Request'] = '1';
  if (body !== undefined) {
    init.headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(base + path, init);
  } catch {
    throw new Problem(0, {detail: 'The gateway does not answer.', remedy: 'Is it running, and does this machine reach it?'});
  }
  if (answer.status === 204) return undefined;
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Problem(answer.status, content);
  return content;
}

export const get = (path) => call('GET', path);
export const post = (path, body) => call('POST', path, body);

/** Whether what was asked is not in this gateway, as opposed to refused. */
export const missing = (error) => error instanceof Problem && (error.status === 404 || error.status === 405 || error.status === 501);
