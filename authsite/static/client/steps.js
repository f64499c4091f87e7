// @ts-check
/**
 * Second steps of a login, and passkeys, for proxy.js.
 *
 * @typedef {import("./authsite.js").Proof} Proof
 * @typedef {import("./authsite.js").SecondStep} SecondStep
 */
import { AuthsiteError } from "./calls.js";

/**
 * The fields of a proof, as the proxy takes them.
 *
 * @param {SecondStep} step
 * @param {Proof} proof
 */
export async function fieldsOf(step, { method, code, enrollment }) {
  const fields = { mfa_token: step.token, mfa_method: method };
  if (method !== "passkey") return { ...fields, code, enrollment };
  return { ...fields, credential: await usePasskey(step.passkeyOptions) };
}

/**
 * Lets the user choose and use a passkey; what the service takes as `credential`.
 *
 * @param {any} options as the service gives them
 * @returns {Promise<object>}
 */
export async function usePasskey(options) {
  try {
    const publicKey = {
      ...options,
      challenge: bytesOf(options.challenge),
      allowCredentials: (options.allowCredentials ?? []).map((/** @type {any} */ each) => ({
        ...each,
        id: bytesOf(each.id),
      })),
    };
    const found = /** @type {PublicKeyCredential | null} */ (
      await navigator.credentials.get({ publicKey })
    );
    if (found) return asJson(found);
    throw new TypeError("no passkey");
  } catch (cause) {
    const message = "No passkey was used. Try again, or use another way.";
    throw new AuthsiteError(message, { codes: ["no_passkey"], cause });
  }
}

/** As its `toJSON`, which older browsers lack. @param {PublicKeyCredential} credential */
function asJson(credential) {
  const answer = /** @type {AuthenticatorAssertionResponse} */ (credential.response);
  return {
    id: credential.id,
    rawId: textOf(credential.rawId),
    type: credential.type,
    clientExtensionResults: {},
    response: {
      clientDataJSON: textOf(answer.clientDataJSON),
      authenticatorData: textOf(answer.authenticatorData),
      signature: textOf(answer.signature),
      ...(answer.userHandle && { userHandle: textOf(answer.userHandle) }),
    },
  };
}

/** @param {string} text in base64url */
function bytesOf(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

/** @param {ArrayBuffer} buffer */
function textOf(buffer) {
  const letters = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte));
  return btoa(letters.join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
