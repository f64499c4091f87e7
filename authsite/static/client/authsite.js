// @ts-check
/**
 * The browser's side of authsite: log in, call an API, come back after a reload, log out.
 *
 *     import { createClient } from "./authsite.js";
 *
 *     const auth = createClient();
 *     auth.onChange(({ signedIn }) => show(signedIn));
 *     await auth.restore();
 *     const answer = await auth.fetch("/v1/user");
 *
 * The access token lives in the memory of this module and nowhere else; the refresh token lives in
 * an HttpOnly cookie that no script can read. Nothing is ever stored. No build step, no
 * dependencies; the types are in authsite.d.ts.
 *
 * @typedef {import("./authsite.d.ts").Client} Client
 * @typedef {import("./authsite.d.ts").ClientOptions} ClientOptions
 * @typedef {import("./authsite.d.ts").Change} Change
 * @typedef {import("./authsite.d.ts").FieldError} FieldError
 *
 * @typedef {object} State what this tab knows; never changed, only replaced
 * @property {number} at when it came about, in milliseconds; of two states the later one counts
 * @property {boolean} [signedIn] undefined until the server was asked
 * @property {string | null} token the access token
 * @property {number} expires when the token dies, in milliseconds by our own clock
 * @property {number} early how long before that it is renewed
 * @property {number} login which login it stems from, 0 if that happened before this tab
 *
 * @typedef {State & {reason?: Change["reason"]}} News what tabs tell each other
 *
 * @typedef {object} CallOptions
 * @property {object} [body] sent as JSON
 * @property {RequestCredentials} [credentials] whether cookies go along
 * @property {boolean} [keepalive] whether the call outlives its page
 * @property {number} [timeout] in milliseconds
 * @property {string | null} [token] the bearer
 */

// All in milliseconds. An answer that is lost is asked for again while the server, in its grace of
// ten seconds, still gives the same pair for the same cookie.
const REFRESH_TIMEOUT = 6_000;
const RETRY_PAUSE = 500;
const CALL_TIMEOUT = 30_000;
const LOCK_PATIENCE = 20_000; // then without the lock: a tab that hangs must not hang the others
const NEWS_PATIENCE = 150;
const EARLY = 30_000;

/** What every call of the client rejects with, unless its caller aborted it. */
export class AuthsiteError extends Error {
  /**
   * @param {string} message
   * @param {{status?: number, codes?: string[], errors?: FieldError[], retryAfter?: number,
   *   requestId?: string, cause?: unknown}} [details]
   */
  constructor(message, { status = 0, codes = [], errors = [], retryAfter, requestId, cause } = {}) {
    super(message, { cause });
    this.name = "AuthsiteError";
    this.status = status;
    this.code = codes[0] ?? (status === 401 ? "unauthenticated" : `http_${status}`);
    this.codes = codes;
    this.errors = errors;
    /** @type {Record<string, string>} */
    this.fields = {};
    for (const { field, message: text } of errors) if (field) this.fields[field] ??= text;
    this.retryAfter = retryAfter;
    this.requestId = requestId;
  }

  /**
   * The error that an answer with a status of 400 or more stands for, in either body shape.
   *
   * @param {Response} response
   * @returns {Promise<AuthsiteError>}
   */
  static async from(response) {
    const body = (await response.json().catch(() => null)) ?? {};
    /** @type {FieldError[]} */
    const errors = Array.isArray(body.errors) ? body.errors : [];
    const codes = [body.error, ...errors.map((each) => each.code)].filter(Boolean);
    const wait = response.headers.get("Retry-After");
    return new AuthsiteError(body.message ?? `The service answered ${response.status}.`, {
      status: response.status,
      codes: [...new Set(codes)],
      errors,
      retryAfter: wait === null ? undefined : Math.max(0, secondsOf(wait)),
      requestId: response.headers.get("X-Request-Id") ?? undefined,
    });
  }
}

/**
 * A client of one authsite and one of its first-party clients.
 *
 * @param {ClientOptions} [options]
 * @returns {Client}
 */
export function createClient({ client = "web", base = "", variant = "A", origins = [] } = {}) {
  const root = new URL(base || "/", location.origin).href.replace(/\/+$/, "");
  const api = `${root}/v1`;
  const proxy = `${api}/clients/${encodeURIComponent(client)}`;
  const known = new Set([location.origin, new URL(root).origin, ...origins]);
  const name = `authsite 1 ${proxy}`;
  /** @type {RequestCredentials} the refresh cookie goes only to the proxies */
  const credentials = new URL(root).origin === location.origin ? "same-origin" : "include";
  const [forgot, reset] =
    variant === "B" ? ["password-forgot", "password-reset"] : ["password/forgot", "password/reset"];

  /** @type {State} */
  let state = { at: 0, token: null, expires: 0, early: 0, login: 0 };
  /** @type {Set<(change: Change) => void>} */
  const listeners = new Set();
  /** @type {Promise<void> | null} the one refresh that all callers of this tab share */
  let renewing = null;
  let heard = () => {};

  const exclusive = makeLock(name);
  const tell = makeChannel(name, (message) => {
    if (message === "ask") {
      if (state.token) tell(state);
    } else if (message.at > state.at) {
      const { reason = "restored", ...news } = message;
      become({ ...news, login: news.login || state.login }, reason);
      heard();
    }
  });

  /** @param {State} next @param {Change["reason"]} reason */
  function become(next, reason) {
    const signedIn = next.signedIn === true;
    const changed = signedIn !== state.signedIn || reason === "login";
    state = next;
    // Each in a task of its own: a listener that throws keeps the news from nobody.
    if (changed) for (const each of listeners) queueMicrotask(() => each({ signedIn, reason }));
  }

  /** This tab's own change, told to the others. @param {object} next @param {News["reason"]} [reason] */
  function change(next, reason) {
    const at = Math.max(Date.now(), state.at + 1);
    const login = reason === "login" ? at : state.login;
    become({ signedIn: false, token: null, expires: 0, early: 0, ...next, at, login }, reason ?? "restored");
    if (reason !== "none") tell({ ...state, reason });
  }

  /** @param {any} answer a token response; its refresh_token is left alone @param {number} sent */
  function signedInBy(answer, sent) {
    if (typeof answer?.access_token !== "string") {
      throw new AuthsiteError("The answer is not one of authsite's.", { codes: ["invalid_response"] });
    }
    const life = answer.expires_in * 1000;
    return {
      signedIn: true,
      token: answer.access_token,
      expires: sent + life,
      early: Math.min(EARLY, life / 10),
    };
  }

  /** Refreshes by the cookie; only inside `exclusive`. Leaves another state, or throws. */
  async function rotate() {
    const before = state;
    const sent = Date.now();
    const refresh = () =>
      call("POST", `${proxy}/refresh`, { body: {}, credentials, keepalive: true, timeout: REFRESH_TIMEOUT });
    let next = {};
    try {
      const answer = await refresh().catch(async (error) => {
        if (error.code !== "network") throw error;
        await pause(RETRY_PAUSE);
        return refresh();
      });
      next = signedInBy(answer, sent);
    } catch (error) {
      // Only these two mean that there is no session. Limits, outages, a foreign origin do not.
      const over = error instanceof AuthsiteError && error.status === 400;
      if (!over || !["invalid_grant", "invalid_request"].includes(error.code)) throw error;
    }
    if (state !== before) return; // a login or logout came in between, and is the newer truth
    if ("token" in next) change(next, before.signedIn ? undefined : "restored");
    else change(next, before.signedIn ? "ended" : "none");
  }

  /** Resolves when the state is another than `seen`. @param {State} seen */
  async function renew(seen) {
    while (state === seen) {
      renewing ??= exclusive(async (waited) => {
        if (waited && state === seen) await catchUp();
        if (state === seen) await rotate();
      }).finally(() => (renewing = null));
      await renewing;
    }
  }

  /** After waiting for the lock: the news of its last holder may be still on its way, so ask. */
  async function catchUp() {
    const news = new Promise((resolve) => (heard = () => resolve(null)));
    tell("ask");
    await Promise.race([news, pause(NEWS_PATIENCE)]);
  }

  /** @type {Client["fetch"]} */
  async function authFetch(input, init) {
    const build = () => new Request(input instanceof Request ? input.clone() : input, init);
    const request = build();
    const { origin } = new URL(request.url);
    if (!known.has(origin)) {
      throw new AuthsiteError(`${origin} is no origin of this client; use the browser's own fetch.`, {
        codes: ["foreign_origin"],
      });
    }
    if (state.signedIn === undefined) await orAborted(renew(state), request.signal);
    let used = state;
    // Never under another login than the one this call began with.
    const renewed = () => state.token !== null && state.login === used.login;
    if (used.token && Date.now() > used.expires - used.early) {
      try {
        await orAborted(renew(used), request.signal);
      } catch (error) {
        if (request.signal.aborted || Date.now() > used.expires) throw error;
      }
      if (renewed()) used = state; // else the old token gets the 401 that is due
    }
    const answer = await send(request, used.token);
    if (answer.status !== 401 || used.token === null) return answer;
    await orAborted(renew(used), request.signal);
    const spent = init?.body instanceof ReadableStream; // it cannot be sent twice
    if (spent || !renewed()) return answer;
    await answer.body?.cancel();
    return send(build(), state.token);
  }

  // A page that comes out of the back-forward cache has missed what the other tabs told.
  addEventListener("pageshow", (event) => {
    if (event.persisted && state.signedIn) renew(state).catch(() => {});
  });

  return Object.freeze({
    get signedIn() {
      return state.signedIn;
    },
    fetch: authFetch,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async restore() {
      if (!state.token || Date.now() > state.expires) await renew(state);
      return state.signedIn === true;
    },
    login: (username, password) =>
      // Inside the lock: the answer to an older refresh must not put its cookie over this one's.
      exclusive(async () => {
        const sent = Date.now();
        const body = { username, password };
        change(signedInBy(await call("POST", `${proxy}/login`, { body, credentials }), sent), "login");
      }),
    logout: () =>
      exclusive(async (waited) => {
        if (waited) await catchUp();
        if (state.signedIn === undefined || (state.token && Date.now() > state.expires)) await rotate();
        for (let tries = 1; state.signedIn; tries += 1) {
          try {
            await call("DELETE", `${api}/logout`, { token: state.token, keepalive: true });
            change({}, "logout");
          } catch (error) {
            if (!(error instanceof AuthsiteError) || error.status !== 401 || tries > 1) throw error;
            await rotate();
          }
        }
      }),
    register: (fields) => call("POST", `${api}/register`, { body: fields }),
    forgotPassword: (email, page = `${root}/password/reset`) =>
      call("POST", `${api}/${forgot}`, { body: { email, reset_url: page } }),
    resetPassword: (fields) => call("POST", `${api}/${reset}`, { body: fields }),
    async sendVerification({ email, page = `${root}/email/verify` } = {}) {
      const answer = await authFetch(`${api}/email/verification-notification`, {
        method: "POST",
        headers: { Accept: "application/json", "Content-Type": "application/json" },
        body: JSON.stringify({ email, verification_url: page }),
      });
      return answer.ok ? answer.json() : Promise.reject(await AuthsiteError.from(answer));
    },
    async verifyEmail(link) {
      // The link comes out of the page's address, where anyone can put anything: only its signed
      // part is taken, and only our own service is asked.
      const signed = /\/email\/verify\/[0-9a-f-]{36}\/[0-9a-f]{64}\?[\w=&-]+$/i.exec(link)?.[0];
      if (!signed) {
        throw new AuthsiteError("This is no verification link.", { codes: ["invalid_signature"] });
      }
      return call("POST", `${api}${signed}`);
    },
  });
}
