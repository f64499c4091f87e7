// @ts-check
/**
 * Sign in by a form of the page itself: through the proxy of a first-party client, which keeps the
 * refresh token in an HttpOnly cookie.
 *
 * @typedef {import("./session.js").Way} Way
 * @typedef {import("./authsite.js").Proof} Proof
 * @typedef {import("./authsite.js").SecondStep} SecondStep
 */
import { call } from "./calls.js";
import { fieldsOf, usePasskey } from "./steps.js";

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

    /** @param {string} username @param {string} password @param {string} [otp] */
    login: (username, password, otp) =>
      call("POST", `${proxy}/login`, { body: { username, password, otp }, credentials }),

    /** @param {SecondStep} step @param {Proof} proof */
    async secondStep(step, proof) {
      return call("POST", `${proxy}/mfa`, { body: await fieldsOf(step, proof), credentials });
    },

    async loginWithPasskey() {
      const options = await call("POST", `${proxy}/passkey-options`, { body: {}, credentials });
      const body = { credential: await usePasskey(options) };
      return call("POST", `${proxy}/passkey`, { body, credentials });
    },
  };
}
