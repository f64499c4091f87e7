// @ts-check
/**
 * Sign in at the pages of authsite: by authorization code with PKCE (RFC 6749, section 4.1; RFC
 * 7636), as a client of type `browser`, which has no secret.
 *
 * Both tokens live in memory. What is stored for the way there and back is the state with its
 * verifier, in this tab alone; and, without a token, that somebody is signed in.
 *
 * @typedef {import("./authsite.js").CodeOptions} CodeOptions
 * @typedef {import("./session.js").Way} Way
 *
 * @typedef {object} Begun what a tab keeps while its person is at authsite
 * @property {string} verifier
 * @property {string} page where the person was
 * @property {boolean} silent whether authsite was asked to show no page
 *
 * @typedef {Begun & {code: string | null, error: string | null, text: string | null,
 *   issuer: string | null}} Arrived what the address of the page said
 */
import { AuthsiteError, call, foreign } from "./calls.js";

// Errors with which authsite says that it would have had to show a page (OpenID Connect Core 1.0,
// section 3.1.2.6).
const NOBODY = ["login_required", "interaction_required", "consent_required"];

/** @param {string} root the address of authsite, its first `base-url` @param {CodeOptions} options */
export function byCode(root, { clientId, redirectUri, scope, afterLogout }) {
  const name = `authsite ${root} ${clientId}`;
  const redirect = redirectUri ?? `${location.origin}${location.pathname}`;
  let arrived = arrival(name);

  /** @param {Record<string, string>} body @param {number} [timeout] */
  function token(body, timeout) {
    return call("POST", `${root}/v1/oauth/token`, {
      body: new URLSearchParams({ client_id: clientId, ...body }),
      keepalive: true,
      timeout,
    });
  }

  /**
   * Leads to the page of authsite that signs in; the page ends here.
   *
   * @param {Record<string, string>} [parameters] further ones of the authorization request
   * @returns {Promise<never>}
   */
  async function leave(parameters = {}) {
    const [state, verifier] = [random(), random()];
    const silent = parameters.prompt === "none";
    const page = location.href;
    sessionStorage.setItem(`${name} ${state}`, JSON.stringify({ verifier, page, silent }));
    return goTo(`${root}/oauth/authorize`, {
      ...parameters,
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirect,
      scope: scope ?? "openid profile email",
      state,
      code_challenge: await challengeOf(verifier),
      code_challenge_method: "S256",
    });
  }

  return {
    name,
    asksTabs: true,
    leave,

    /** The way back that has opened this page, as long as nobody has taken its answer. */
    get arrived() {
      return arrived;
    },

    /** The token response for the way back; null for nobody. @returns {Promise<any>} */
    async arrive() {
      if (!arrived) throw new Error("There is no answer.");
      const { code, error, text, issuer, verifier, silent } = arrived;
      if (issuer !== root) arrived = null; // RFC 9207: the answer of another server
      if (!arrived) throw foreign(0);
      if (error || !code) {
        arrived = null;
        if (silent && NOBODY.includes(error ?? "")) return null;
        throw new AuthsiteError(text ?? "The sign-in was refused.", { codes: [error ?? "no_code"] });
      }
      const body = { grant_type: "authorization_code", code, redirect_uri: redirect };
      try {
        const answer = await token({ ...body, code_verifier: verifier });
        arrived = null;
        return answer;
      } catch (problem) {
        // Without an answer it may be tried again.
        if (!(problem instanceof AuthsiteError) || problem.status) arrived = null;
        throw problem;
      }
    },

    /** @type {Way["refresh"]} */
    async refresh({ kept }, timeout) {
      if (kept) return token({ grant_type: "refresh_token", refresh_token: kept.refresh }, timeout);
      return localStorage.getItem(name) ? leave({ prompt: "none" }) : null;
    },

    /** @type {Way["revoke"]} */
    async revoke({ kept }) {
      const body = new URLSearchParams({ client_id: clientId, token: kept?.refresh ?? "" });
      await call("POST", `${root}/v1/oauth/revoke`, { body, keepalive: true });
    },

    /** Ends the session in the browser, too. @param {string} [idToken] @returns {Promise<never>} */
    end(idToken) {
      const back = afterLogout ? { post_logout_redirect_uri: afterLogout } : {};
      const hint = idToken ? { id_token_hint: idToken } : {};
      return goTo(`${root}/oauth/logout`, { client_id: clientId, ...hint, ...back });
    },

    /** So that a page that is loaded again knows whom to ask. @param {boolean} signedIn */
    remember(signedIn) {
      if (signedIn) localStorage.setItem(name, "signed in");
      else localStorage.removeItem(name);
    },
  };
}

/**
 * What the address of this page answers to a request of this tab, which it is then without. An
 * answer that this tab has not asked for stays where it is: somebody else's sign-in.
 *
 * @param {string} name
 * @returns {Arrived | null}
 */
function arrival(name) {
  const query = new URLSearchParams(location.search);
  const key = `${name} ${query.get("state")}`;
  const kept = sessionStorage.getItem(key);
  if (kept === null) return null;
  sessionStorage.removeItem(key);
  /** @type {Begun} */
  const begun = JSON.parse(kept);
  history.replaceState(history.state, "", begun.page);
  const [code, error, text] = ["code", "error", "error_description"].map((each) => query.get(each));
  return { ...begun, code, error, text, issuer: query.get("iss") };
}

/** @param {string} address @param {Record<string, string>} query @returns {Promise<never>} */
function goTo(address, query) {
  location.assign(`${address}?${new URLSearchParams(query)}`);
  return new Promise(() => {}); // the page ends
}

/** 256 random bits. */
function random() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** The `code_challenge` of S256 (RFC 7636, section 4.2). @param {string} verifier */
async function challengeOf(verifier) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  return base64url(new Uint8Array(digest));
}

/** @param {Uint8Array} bytes */
function base64url(bytes) {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
