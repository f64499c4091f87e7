// @ts-check
/** What the tabs of one browser share: a lock and a channel, each with what takes its place. */

const PATIENCE = 20_000; // milliseconds, then without the lock: one tab must not hang the others

/**
 * Runs tasks one at a time, over all tabs of this origin (Web Locks API). A task is told whether
 * another one ran before it, so that there may be news.
 *
 * A page on plain http has no Web Locks. There tasks of this tab take turns, and between tabs the
 * server keeps the peace: within its grace two refreshes get the same tokens.
 *
 * @param {string} name
 * @returns {<T>(task: (waited: boolean) => Promise<T>) => Promise<T>}
 */
export function makeLock(name) {
  const locks = navigator.locks;
  return locks ? overTabs(locks, name) : inThisTab();
}

/** @returns {ReturnType<typeof makeLock>} */
function inThisTab() {
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  return (task) => {
    const turn = last.then(() => task(false));
    last = turn.catch(() => {});
    return turn;
  };
}

/**
 * @param {LockManager} locks
 * @param {string} name
 * @returns {ReturnType<typeof makeLock>}
 */
function overTabs(locks, name) {
  return async (task) => {
    const atOnce = await locks.request(name, { ifAvailable: true }, async (lock) =>
      lock ? { value: await task(false) } : null,
    );
    if (atOnce) return atOnce.value;
    const signal = AbortSignal.timeout(PATIENCE);
    let started = false;
    const run = () => {
      started = true;
      return task(true);
    };
    try {
      return await locks.request(name, { signal }, run);
    } catch (error) {
      if (started || !signal.aborted) throw error;
      return run();
    }
  };
}

/**
 * Sends a message to the other tabs of this origin (BroadcastChannel), which `receive` it.
 *
 * Browsers without it get the storage event. That writes to disk for a moment, so there only
 * logins and logouts are told, without the token.
 *
 * @param {string} name
 * @param {(message: any) => void} receive
 * @returns {(message: any) => void}
 */
export function makeChannel(name, receive) {
  if (typeof BroadcastChannel === "function") {
    const channel = new BroadcastChannel(name);
    channel.onmessage = (event) => receive(event.data);
    return (message) => channel.postMessage(message);
  }
  addEventListener("storage", (event) => {
    if (event.key === name && event.newValue) receive(JSON.parse(event.newValue));
  });
  return (message) => {
    if (!["login", "logout", "ended"].includes(message.reason)) return;
    try {
      localStorage.setItem(name, JSON.stringify({ ...message, token: null, expires: 0, kept: undefined }));
      localStorage.removeItem(name);
    } catch {
      // No storage, no news: the other tabs learn it from their next refresh.
    }
  };
}
