// @ts-check
/**
 * Sign in by a form of the page itself: through the proxy of a first-party client, which keeps the
 * refresh token in an HttpOnly cookie.
 *
 * @typedef {import("./session.js").Way} Way
 */
import { call } from "./calls.js";

/**
 * @param {string} api the address of `/v1`
 * @param {string} client the name of the first-party client
 * @param {RequestCredentials} credentials for what sets or clears the cookie: the proxy and logout
 */
export function byProxy(api, client, credentials) {
  const proxy = `${api}/clients/${encodeURIComponent(client)}`;
  const send = { credentials, keepalive: true };
  return {
    name: proxy,
    asksTabs: false, // the cookie is there for all of them

    /** @type {Way["refresh"]} */
    refresh: (_state, timeout) => call("POST", `${proxy}/refresh`, { body: {}, ...send, timeout }),

    /** @type {Way["revoke"]} With the cookie, so that the answer can clear it on another origin. */
    revoke: ({ token }) => call("DELETE", `${api}/logout`, { token, ...send }),

    /** @param {string} username @param {string} password */
    login: (username, password) =>
      call("POST", `${proxy}/login`, { body: { username, password }, credentials }),
  };
}
