// @ts-check
/**
 * Who is signed in, in all tabs of a browser: one refresh for everybody who needs it.
 *
 * @typedef {import("./authsite.js").Change} Change
 *
 * @typedef {object} State what this tab knows; never changed, only replaced
 * @property {number} at when it came about, in milliseconds; of two states the later one counts
 * @property {boolean} [signedIn] undefined until the server was asked
 * @property {string | null} token the access token
 * @property {number} expires when the token dies, in milliseconds by our own clock
 * @property {number} early how long before that it is renewed, in milliseconds
 * @property {number} login when that login happened, 0 where no tab saw it
 * @property {number} since when it began for this tab: a later `login` is another one
 * @property {Kept} [kept] what no cookie keeps
 *
 * @typedef {{refresh: string, id?: string}} Kept the refresh token, and the ID token
 * @typedef {Pick<State, "token" | "expires" | "early" | "kept">} Grant
 * @typedef {State & {reason?: Change["reason"]}} News what tabs tell each other
 *
 * @typedef {object} Way how tokens are got and ended: proxy.js or code.js
 * @property {string} name of what the tabs share
 * @property {boolean} asksTabs whether the refresh token is in the memory of the tabs
 * @property {(state: State, timeout: number) => Promise<any>} refresh the token response, or null
 *   if there is nothing to refresh
 * @property {(state: State) => Promise<void>} revoke ends the tokens
 */
import { AuthsiteError, foreign } from "./calls.js";
import { makeChannel, makeLock } from "./tabs.js";

// Milliseconds. A refresh whose answer is lost is sent again while the server, in its grace of ten
// seconds, still gives the same tokens for the same cookie.
const REFRESH_TIMEOUT = 6_000;
const RETRY_PAUSE = 500;
const NEWS_PATIENCE = 150;
const EARLY = 30_000;
const NOBODY = { token: null, expires: 0, early: 0, kept: undefined };

/** @param {Way} way */
export function createSession(way) {
  /** @type {State} */
  let state = { at: 0, login: 0, since: 0, ...NOBODY };
  /** @type {Set<(change: Change) => void>} */
  const listeners = new Set();
  /** @type {Promise<void> | null} the one refresh that all callers of this tab wait for */
  let renewing = null;
  /** @type {Promise<void> | null} the login of this tab that is under way */
  let loggingIn = null;
  let heard = () => {};

  const exclusive = makeLock(`authsite ${way.name}`);
  const tell = makeChannel(`authsite ${way.name}`, (/** @type {News | "ask"} */ message) => {
    if (message === "ask") {
      if (state.token) tell(state);
    } else if (message.at > state.at) {
      const { reason = "restored", ...news } = message;
      const another = news.login > state.since;
      const since = another ? news.login : state.since;
      become({ ...news, since }, another ? "login" : reason);
      heard();
    }
  });

  /** @param {State} next @param {Change["reason"]} reason */
  function become(next, reason) {
    const signedIn = next.signedIn === true;
    const changed = next.signedIn !== state.signedIn || reason === "login";
    state = next;
    // Each apart from the others: a listener that throws does not keep the others from being called.
    if (changed) for (const each of listeners) queueMicrotask(() => each({ signedIn, reason }));
  }

  /** This tab's own news. @param {Grant | null} grant @param {Change["reason"]} reason */
  function change(grant, reason) {
    const at = Math.max(Date.now(), state.at + 1);
    const login = reason === "login" ? at : state.login;
    const since = reason === "login" || !state.signedIn ? at : state.since;
    become({ at, login, since, signedIn: grant !== null, ...(grant ?? NOBODY) }, reason);
    // A stranger's page says nothing about the others.
    if (reason !== "none") tell({ ...state, reason });
  }

  /** Refreshes, inside the lock. Leaves another state, or throws. */
  async function rotate() {
    const before = state;
    const grant = await refresh();
    if (state !== before) return; // a login or logout came in between and is the newer truth
    if (grant) change(grant, "restored");
    else change(null, before.signedIn ? "ended" : "none");
  }

  /** @returns {Promise<Grant | null>} null when there is no session any more */
  async function refresh() {
    const sent = Date.now();
    // It outlives its page: a reload in the middle must not lose the new cookie.
    const { kept } = state;
    const ask = () => way.refresh(state, REFRESH_TIMEOUT);
    try {
      const answer = await ask().catch(async (error) => {
        if (error.code !== "network") throw error;
        await pause(RETRY_PAUSE);
        return ask();
      });
      return answer && granted(answer, sent, way, kept);
    } catch (error) {
      // Only these two say so. A limit, an outage or a foreign origin does not end a session.
      const over = error instanceof AuthsiteError && error.status === 400;
      if (over && ["invalid_grant", "invalid_request"].includes(error.code)) return null;
      throw error;
    }
  }

  /** After waiting for the lock: its last holder's news may still be on the way, so ask. */
  async function catchUp() {
    const news = new Promise((resolve) => (heard = () => resolve(null)));
    tell("ask");
    await Promise.race([news, pause(NEWS_PATIENCE)]);
  }

  /** Resolves when the state is another than `seen`. @param {State} seen */
  async function renew(seen) {
    while (state === seen) {
      renewing ??= exclusive(async (waited) => {
        if ((waited || way.asksTabs) && state === seen) await catchUp();
        if (state === seen) await rotate();
      }).finally(() => (renewing = null));
      await renewing;
    }
  }

  /**
   * Takes the token response that `ask` gets; null for nobody.
   *
   * @param {() => Promise<any>} ask
   * @param {Change["reason"]} [reason]
   */
  async function enter(ask, reason = "login") {
    // Inside the lock: an older refresh must not put its cookie over that of this login.
    const work = exclusive(async () => {
      const sent = Date.now();
      const answer = await ask();
      if (answer) change(granted(answer, sent, way), reason);
      else change(null, "none");
    });
    loggingIn = work;
    await work.finally(() => {
      if (loggingIn === work) loggingIn = null;
    });
  }

  /** Resolves when it is known who is signed in, and no login of this tab is under way. */
  async function settle() {
    // A login that fails leaves everything as it was.
    if (loggingIn && !state.signedIn) await loggingIn.catch(() => {});
    if (state.signedIn === undefined) await renew(state);
  }

  async function logout() {
    await exclusive(async (waited) => {
      if (waited) await catchUp();
      const alive = state.token !== null && Date.now() < state.expires;
      if (state.signedIn !== false && !alive) await rotate(); // to say which session should end
      for (let tries = 1; state.signedIn; tries += 1) {
        try {
          await way.revoke(state);
          change(null, "logout");
        } catch (error) {
          if (!(error instanceof AuthsiteError) || error.status !== 401 || tries > 1) throw error;
          await rotate();
        }
      }
    });
  }

  // A page out of the back-forward cache has missed what the other tabs told.
  addEventListener("pageshow", (event) => {
    if (event.persisted && state.signedIn) renew(state).catch(() => {});
  });

  return {
    /** @returns {State} */
    get state() {
      return state;
    },
    listeners,
    renew,
    settle,
    enter,
    nobody: () => change(null, "none"),
    logout,
  };
}

/**
 * @param {any} answer a token response @param {number} sent
 * @param {Way} way with a cookie, the refresh token is left alone @param {Kept} [before]
 * @returns {Grant}
 */
function granted(answer, sent, way, before) {
  if (typeof answer?.access_token !== "string") throw foreign(200);
  const life = answer.expires_in * 1000;
  const early = Math.min(EARLY, life / 10);
  const grant = { token: answer.access_token, expires: sent + life, early };
  if (!way.asksTabs) return { ...grant, kept: undefined };
  return { ...grant, kept: { refresh: answer.refresh_token, id: answer.id_token ?? before?.id } };
}

/** @param {number} milliseconds */
function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
