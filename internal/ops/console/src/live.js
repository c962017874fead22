// The picture as it comes: a stream of events; where there is none, questions each
// two seconds. What it needs of the browser is passed in, so that tests can stand in.

/** Milliseconds without a picture after which it is called stale. */
export const patience = 5000;

const ask = 2000;

/** Milliseconds before the n-th new try, up to half a minute, spread by chance. */
export function backoff(n, chance = Math.random()) {
  return Math.min(30_000, 1000 * 2 ** Math.min(n, 5)) * (0.75 + 0.5 * chance);
}

/**
 * follow calls on.picture with each picture, and on.state with {mode, error}: mode is
 * live, polling or lost. It gives a function that ends it.
 */
export function follow({source, snapshot, timers = globalThis}, on) {
  let stream, again, poll, watch, tries = 0, ended = false;

  const open = () => {
    if (ended) return;
    stream = source();
    stream.addEventListener('picture', (e) => {
      let picture;
      try {
        picture = JSON.parse(e.data);
      } catch {
        return; // cut off in the middle; the next one is whole
      }
      tries = 0;
      timers.clearTimeout(poll);
      poll = undefined;
      on.state({mode: 'live'});
      on.picture(picture);
      guard();
    });
    stream.onerror = lost;
    guard();
  };

  // A connection can be dead without an error: no event for long is one too.
  const guard = () => {
    timers.clearTimeout(watch);
    watch = timers.setTimeout(lost, 3 * patience);
  };

  const lost = () => {
    if (ended) return;
    timers.clearTimeout(watch);
    stream?.close();
    timers.clearTimeout(again);
    again = timers.setTimeout(open, backoff(tries++));
    if (poll === undefined) question();
  };

  const question = async () => {
    poll = null;
    try {
      const picture = await snapshot();
      if (ended || poll !== null) return; // the stream is back
      on.state({mode: 'polling'});
      on.picture(picture);
    } catch (error) {
      if (ended || poll !== null) return;
      on.state({mode: 'lost', error});
    }
    poll = timers.setTimeout(question, ask);
  };

  open();
  return () => {
    ended = true;
    stream?.close();
    for (const t of [again, poll, watch]) timers.clearTimeout(t);
  };
}
