/** Types of authsite.js; docs/web-client.md explains how to use it. */

export interface ClientOptions {
  /** The first-party client whose proxy is used. Default: `web`. */
  client?: string;
  /**
   * Where authsite is: nothing for the page's own origin, a path (`/auth`) when it is included
   * below one, or an origin of the same site (`https://auth.example.org`) that lists the page's
   * origin in `cors-origins`.
   */
  base?: string;
  /** The variant that authsite runs in. Default: `A`. */
  variant?: "A" | "B";
  /** Further origins whose APIs may get the access token, exactly as `https://api.example.org`. */
  origins?: string[];
  /**
   * The id of a client of type `browser`: then the pages of authsite sign in, and `client` is not
   * used. `base` is then the first `base-url` of authsite, and may be of another site.
   */
  clientId?: string;
  /** A registered redirect URI. Default: the address of the page, without its query. */
  redirectUri?: string;
  /** Default: `openid profile email`. */
  scope?: string;
  /** A registered post-logout redirect URI. Default: authsite says that the user is signed out. */
  afterLogout?: string;
}

/** What code.js takes of them. */
export type CodeOptions = ClientOptions & { clientId: string };

/** What listeners hear; also when it happened in another tab. */
export interface Change {
  signedIn: boolean;
  /**
   * `login`: a user logged in, perhaps another one than before: load everything again.
   * `restored`: the session came back by its cookie. `logout`: the user signed out.
   * `ended`: the session was revoked or ran out. `none`: there was no session to come back to.
   */
  reason: "login" | "restored" | "logout" | "ended" | "none";
}

export interface FieldError {
  /** A stable code: `required`, `invalid`, `too_long`, `taken`, `weak_password`, … */
  code: string;
  field: string | null;
  /** For a person, in English. */
  message: string;
}

/** What everything in the client rejects with, unless its caller aborted it. */
export class AuthsiteError extends Error {
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  /**
   * The first of `codes`. Besides the service's own: `network` (no answer came),
   * `invalid_response` (something else answered), `foreign_origin` (the token is not for there),
   * `unauthenticated` (401 without a code) and `http_<status>`.
   */
  readonly code: string;
  /** Every code of the answer, such as `["invalid_grant", "email_not_confirmed"]`. */
  readonly codes: string[];
  readonly errors: FieldError[];
  /** The first message for each field with a mistake. */
  readonly fields: Record<string, string>;
  /** Seconds to wait before trying again, with 429 and 503. */
  readonly retryAfter: number | undefined;
  /** What to name when reporting a fault. */
  readonly requestId: string | undefined;
  /** With the code `mfa_required`: what the login still needs; for `secondStep`. */
  readonly step: SecondStep | undefined;
  constructor(
    message: string,
    details?: {
      status?: number;
      codes?: string[];
      errors?: FieldError[];
      retryAfter?: number;
      requestId?: string;
      body?: any;
      cause?: unknown;
    },
  );
  /** The error that an answer with a status of 400 or more stands for. Reads its body. */
  static from(response: Response): Promise<AuthsiteError>;
}

/** A login with a right password that needs another proof. */
export interface SecondStep {
  token: string;
  /** What the user can give: `passkey`, `totp`, `recovery_code`, `email` (first `mailCode`). */
  methods: string[];
  /** The user must add a second factor now: `enroll`. */
  enroll: boolean;
  /** When it ends, in milliseconds since 1970. */
  expires: number;
  passkeyOptions?: object;
}

export interface Proof {
  /** One of the methods; `totp` after `enroll`. */
  method: string;
  /** Not with `passkey`, for which the browser asks. */
  code?: string;
  /** After `enroll`. */
  enrollment?: string;
}

/** A new authenticator app, which is stored with its first code. */
export interface Enrollment {
  secret: string;
  /** A link for an app on the same device. */
  otpauth_uri: string;
  /** The same as a picture, to be shown on white. */
  qr_svg: string;
  enrollment: string;
}

export interface User {
  id: string;
  email: string;
  username: string | null;
  phone: string | null;
  name: string | null;
  confirmed: boolean;
  email_verified_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface Message {
  message: string;
}

export interface Client {
  /** Whether a user is signed in; undefined until the service was asked. */
  readonly signedIn: boolean | undefined;

  /**
   * Signs in. Wrong credentials: status 400, code `invalid_grant`. Where a second step is needed:
   * code `mfa_required`, and `step`. `otp`: a code of the second factor that is known already.
   */
  login(username: string, password: string, otp?: string): Promise<void>;

  /**
   * Goes on with a login; resolves to recovery codes to be shown, if a factor was added. A wrong
   * code: `invalid_grant` with `invalid_code`, `code_used` or `invalid_credential`; then it may be
   * tried again. `invalid_grant` alone: log in again. `mfa_required` again: there is another `step`.
   */
  secondStep(step: SecondStep, proof: Proof): Promise<string[]>;

  /** Signs in with a passkey alone. Rejects with `no_passkey` where the user has used none. */
  loginWithPasskey(): Promise<void>;

  /** Has a code mailed, where `email` is among the methods of the step. */
  mailCode(step: SecondStep): Promise<Message>;

  /** A new authenticator app, where the step has `enroll`. */
  enroll(step: SecondStep): Promise<Enrollment>;

  /**
   * With `clientId`: leaves for the pages of authsite, and ends this page. `parameters` are those
   * of the authorization request, such as `provider`, `login_hint`, `prompt` and `ui_locales`.
   */
  login(parameters?: Record<string, string>): Promise<never>;

  /**
   * Ends the session in all tabs. When it rejects, the session goes on: say so, and try again.
   * With `clientId` it then leaves for authsite, which ends its session in this browser, too.
   */
  logout(): Promise<void>;

  /**
   * Comes back by the cookie, after a reload; whether there was a session to come back to.
   *
   * With `clientId` it takes what authsite has answered, or asks the other tabs. If somebody was
   * signed in here, it leaves for authsite, which sends the browser back without a page. Rejects
   * with the error of the answer, such as `access_denied`.
   */
  restore(): Promise<boolean>;

  /**
   * `fetch` as the user: with the access token, which is renewed when it has run out. Resolves to
   * whatever the server answers; a 401 means that the session has ended. Throws
   * `AuthsiteError` when no answer came, when the token could not be renewed for the moment, and
   * for an origin that the token is not for.
   */
  fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response>;

  /** Calls `listener` when a user signs in or out, in any tab. Returns a function that ends that. */
  onChange(listener: (change: Change) => void): () => void;

  /** Makes a user, who then logs in. Only the message when `prevent-enumeration` is on. */
  register(fields: {
    email: string;
    password: string;
    name?: string;
    username?: string;
    phone?: string;
    /** The page that the link in the mail leads to; without it no mail is sent (Variant A). */
    verification_url?: string;
  }): Promise<User | Message>;

  /** Mails a link to `page`, by default authsite's own, if the address belongs to a user. */
  forgotPassword(email: string, page?: string): Promise<Message>;

  /** Sets a new password, with what the mailed link carries. Ends every session of the user. */
  resetPassword(fields: {
    email: string;
    token: string;
    password: string;
    password_confirmation?: string;
  }): Promise<Message>;

  /**
   * Mails the signed-in user a link to `page`, by default authsite's own (Variant B: the
   * configured one). In Variant B also without a session, to `email`.
   */
  sendVerification(options?: { email?: string; page?: string }): Promise<Message>;

  /** Proves the address: `link` is the `url` parameter that the mailed link has. */
  verifyEmail(link: string): Promise<Message>;
}

export function createClient(options?: ClientOptions): Client;
