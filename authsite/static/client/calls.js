// @ts-check
/**
 * One request to authsite, and the one error that can come of it.
 *
 * @typedef {import("./authsite.js").FieldError} FieldError
 * @typedef {import("./authsite.js").SecondStep} SecondStep
 *
 * @typedef {object} CallOptions
 * @property {object} [body] sent as JSON, or as a form: `URLSearchParams`
 * @property {string | null} [token] the bearer
 * @property {RequestCredentials} [credentials] whether cookies go along
 * @property {boolean} [keepalive] whether the call outlives its page
 * @property {number} [timeout] in milliseconds
 */

const TIMEOUT = 30_000; // milliseconds

/** What everything in this client rejects with, unless its caller aborted it. */
export class AuthsiteError extends Error {
  /**
   * @param {string} message
   * @param {{status?: number, codes?: string[], errors?: FieldError[], retryAfter?: number,
   *   requestId?: string, body?: any, cause?: unknown}} [details]
   */
  constructor(message, { status = 0, codes = [], errors = [], ...more } = {}) {
    super(message, { cause: more.cause });
    this.name = "AuthsiteError";
    this.status = status;
    this.code = codes[0] ?? (status === 401 ? "unauthenticated" : `http_${status}`);
    this.codes = codes;
    this.errors = errors;
    /** @type {Record<string, string>} */
    this.fields = {};
    for (const { field, message: text } of errors) if (field) this.fields[field] ??= text;
    this.retryAfter = more.retryAfter;
    this.requestId = more.requestId;
    /** What a login still needs; undefined for another error. @type {SecondStep | undefined} */
    this.step = more.body && stepOf(more.body);
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
    const errors = Array.isArray(body.errors) ? body.errors : listed(body.errors);
    const codes = [body.error, ...errors.map((each) => each.code)].filter(Boolean);
    return new AuthsiteError(body.message ?? `The service answered with status ${response.status}.`, {
      status: response.status,
      codes: [...new Set(codes)],
      errors,
      retryAfter: seconds(response.headers.get("Retry-After")),
      requestId: response.headers.get("X-Request-Id") ?? undefined,
      body,
    });
  }
}

/**
 * Sends JSON or a form, and gives the JSON of the answer; rejects with an `AuthsiteError`.
 *
 * @param {string} method
 * @param {string} url
 * @param {CallOptions} [options]
 * @returns {Promise<any>}
 */
export async function call(method, url, { body, token, credentials, keepalive, timeout } = {}) {
  const headers = new Headers({ Accept: "application/json" });
  const form = body instanceof URLSearchParams ? body : undefined; // the browser names its type
  if (body && !form) headers.set("Content-Type", "application/json");
  if (token) headers.set("Authorization", `Bearer ${token}`);
  const signal = AbortSignal.timeout(timeout ?? TIMEOUT);
  let answer;
  let text = "";
  try {
    answer = await fetch(url, {
      method,
      headers,
      body: form ?? (body && JSON.stringify(body)),
      credentials,
      keepalive,
      signal,
      cache: "no-store",
      redirect: "error",
    });
    if (answer.ok) text = await answer.text();
  } catch (cause) {
    throw unreachable(cause);
  }
  if (!answer.ok) throw await AuthsiteError.from(answer);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw foreign(answer.status, cause);
  }
}

/**
 * What `mfa_required` says: undefined for another error.
 *
 * @param {any} body of an answer
 * @returns {SecondStep | undefined}
 */
function stepOf(body) {
  if (typeof body.mfa_token !== "string") return undefined;
  return {
    token: body.mfa_token,
    methods: body.mfa_methods ?? [],
    enroll: body.mfa_enroll === true,
    expires: Date.now() + (body.expires_in ?? 0) * 1000,
    passkeyOptions: body.passkey_options,
  };
}

/**
 * What became of a request that got no answer.
 *
 * @param {unknown} cause
 */
export function unreachable(cause) {
  const message = "The service could not be reached. Check the connection and try again.";
  return new AuthsiteError(message, { codes: ["network"], cause });
}

/**
 * An answer with a good status that authsite did not write, such as a Wi-Fi login page.
 *
 * @param {number} status
 * @param {unknown} [cause]
 */
export function foreign(status, cause) {
  const message = "The answer did not come from the service. Check the connection and try again.";
  return new AuthsiteError(message, { status, codes: ["invalid_response"], cause });
}

/** @param {string | null} wait a Retry-After header: seconds, or a date (RFC 9110, section 10.2.3) */
function seconds(wait) {
  if (wait === null) return undefined;
  const given = Number(wait);
  const left = Number.isNaN(given) ? Math.ceil((Date.parse(wait) - Date.now()) / 1000) : given;
  return Number.isNaN(left) ? undefined : Math.max(0, left);
}

/**
 * The errors of each field, as the service lists them with the setting `apiato-errors`.
 *
 * @param {Record<string, string[]> | undefined} fields
 * @returns {FieldError[]}
 */
function listed(fields) {
  return Object.entries(fields ?? {}).flatMap(([field, messages]) =>
    messages.map((message) => ({ code: "", field, message })),
  );
}
