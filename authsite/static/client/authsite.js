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
 * The access token lives in the memory of these modules and nowhere else; the refresh token lives
 * in an HttpOnly cookie that no script can read. Nothing is stored. No build step and no
 * dependencies: take this file and the six beside it (calls.js, code.js, proxy.js, session.js,
 * steps.js, tabs.js). With `clientId` the pages of authsite sign in instead: see code.js.
 *
 * @typedef {import("./authsite.js").Client} Client
 * @typedef {import("./authsite.js").ClientOptions} ClientOptions
 */
import { AuthsiteError, call, unreachable } from "./calls.js";
import { byCode } from "./code.js";
import { byProxy } from "./proxy.js";
import { createSession } from "./session.js";

export { AuthsiteError };

const FORGOT = { A: "password/forgot", B: "password-forgot" };
const RESET = { A: "password/reset", B: "password-reset" };
const SIGNED = /\/email\/verify\/[0-9a-f-]{36}\/[0-9a-f]{64}\?[\w=&-]+$/;

/**
 * A client of one authsite, in the name of one of its clients.
 *
 * @param {ClientOptions} [options]
 * @returns {Client}
 */
export function createClient(options = {}) {
  const { client = "web", base = "", variant = "A", origins = [], clientId } = options;
  const root = new URL(base || "/", location.origin).href.replace(/\/+$/, "");
  const home = new URL(root).origin;
  const api = `${root}/v1`;
  const cookies = home === location.origin ? "same-origin" : "include";
  const pages = clientId === undefined ? null : byCode(root, { ...options, clientId });
  const proxy = byProxy(api, client, cookies);
  const session = createSession(pages ?? proxy);
  if (pages) session.listeners.add(({ signedIn }) => pages.remember(signedIn));
  const trusted = new Set([location.origin, home, ...origins]);

  /** @type {Client["fetch"]} */
  async function fetchAsUser(input, init) {
    const build = () => new Request(input instanceof Request ? input.clone() : input, init);
    const request = build();
    refuseStrangers(request.url, trusted);
    if (!session.state.signedIn) await orAborted(settle(), request.signal);
    let used = session.state;
    // Never in the name of another login than the one that this call began with.
    const renewed = () => session.state.token !== null && session.state.since === used.since;
    if (used.signedIn && Date.now() > used.expires - used.early) {
      try {
        await orAborted(session.renew(used), request.signal);
      } catch (error) {
        if (request.signal.aborted || Date.now() > used.expires) throw error;
      }
      if (renewed()) used = session.state; // else the dead token earns the 401 that is due
    }
    const answer = await send(request, used.token);
    if (answer.status !== 401 || used.token === null) return answer;
    await orAborted(session.renew(used), request.signal);
    const spent = init?.body instanceof ReadableStream; // a stream cannot be sent twice
    if (spent || !renewed()) return answer;
    await answer.body?.cancel();
    return send(build(), session.state.token);
  }

  /** @type {Promise<void> | null} */
  let arriving = null;

  /** Resolves when it is known who is signed in: by the way back, by the cookie or other tabs. */
  async function settle() {
    if (pages?.arrived) await (arriving ??= arrive(pages).finally(() => (arriving = null)));
    await session.settle();
  }

  /** @param {ReturnType<typeof byCode>} way */
  async function arrive(way) {
    try {
      await session.enter(way.arrive, way.arrived?.silent ? "restored" : "login");
    } catch (error) {
      if (!way.arrived) session.nobody(); // else it may be tried again
      throw error;
    }
  }

  /** @type {Client} */
  const auth = {
    get signedIn() {
      return session.state.signedIn;
    },
    fetch: fetchAsUser,
    async login(/** @type {any[]} */ ...given) {
      if (pages) return pages.leave(...given);
      const [username, password, otp] = given;
      return session.enter(() => proxy.login(username, password, otp));
    },
    async secondStep(step, proof) {
      /** @type {string[]} */
      let recoveryCodes = [];
      await session.enter(async () => {
        const answer = await proxy.secondStep(step, proof);
        recoveryCodes = answer.recovery_codes ?? [];
        return answer;
      });
      return recoveryCodes;
    },
    async loginWithPasskey() {
      await session.enter(proxy.loginWithPasskey);
    },
    mailCode: ({ token }) => call("POST", `${api}/mfa/email`, { body: { mfa_token: token } }),
    enroll: ({ token }) => call("POST", `${api}/mfa/enroll`, { body: { mfa_token: token } }),
    async logout() {
      const { kept } = session.state;
      await session.logout();
      await pages?.end(kept?.id);
    },
    onChange(listener) {
      session.listeners.add(listener);
      return () => void session.listeners.delete(listener);
    },
    async restore() {
      if (pages?.arrived) await settle();
      const { state } = session;
      if (state.token === null || Date.now() > state.expires) await session.renew(state);
      return session.state.signedIn === true;
    },
    register: (fields) => call("POST", `${api}/register`, { body: fields }),
    forgotPassword: (email, page = `${root}/password/reset`) =>
      call("POST", `${api}/${FORGOT[variant]}`, { body: { email, reset_url: page } }),
    resetPassword: (fields) => call("POST", `${api}/${RESET[variant]}`, { body: fields }),
    async sendVerification({ email, page } = {}) {
      // Variant B knows its page by itself.
      const own = variant === "A" ? `${root}/email/verify` : undefined;
      const answer = await fetchAsUser(`${api}/email/verification-notification`, {
        method: "POST",
        headers: { Accept: "application/json", "Content-Type": "application/json" },
        body: JSON.stringify({ email, verification_url: page ?? own }),
      });
      if (!answer.ok) throw await AuthsiteError.from(answer);
      return answer.json();
    },
    async verifyEmail(link) {
      // The link stands in the page's address, where anybody can put anything: only its signed
      // part is taken, and only our own service is asked.
      const signed = SIGNED.exec(link)?.[0];
      if (signed) return call("POST", `${api}${signed}`);
      const message = "This is not a verification link. Open the one from the e-mail again.";
      throw new AuthsiteError(message, { codes: ["invalid_signature"] });
    },
  };
  return Object.freeze(auth);
}

/** @param {string} url @param {Set<string>} trusted */
function refuseStrangers(url, trusted) {
  const { origin } = new URL(url);
  if (trusted.has(origin)) return;
  const message = `The token is not for ${origin}: use the browser's own fetch there, or list it in origins.`;
  throw new AuthsiteError(message, { codes: ["foreign_origin"] });
}

/** @param {Request} request @param {string | null} token */
async function send(request, token) {
  if (token) request.headers.set("Authorization", `Bearer ${token}`);
  try {
    return await fetch(request);
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    throw unreachable(cause);
  }
}

/**
 * `promise`, or the caller's abort; the work itself goes on for the others who wait for it.
 *
 * @param {Promise<void>} promise
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function orAborted(promise, signal) {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}
