// Passkeys: what a form with `data-passkey` sends is made by the browser.
//
//   get, create  `data-options`: what the server asks for, as JSON
//   sign-in      `data-options`: the path that gives the options; the browser also offers passkeys
//                in the field for the login name (conditional mediation)
//
// `data-words`: what the form says if nothing came of it. An element with `data-signals` tells the
// browser which passkeys there are (Web Authentication Level 3, section 5.1.10).

import { make } from "./elements.js";

const RENEW_AFTER = 9 * 60_000; // a challenge lasts ten minutes
const supported = Boolean(globalThis.PublicKeyCredential && navigator.credentials);

const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));

function textOf(buffer) {
  const chars = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(chars).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

const ids = (list) => (list ?? []).map((each) => ({ ...each, id: bytesOf(each.id) }));

/** As parseCreationOptionsFromJSON, which older browsers lack. */
const forCreation = (options) => ({
  ...options,
  challenge: bytesOf(options.challenge),
  user: { ...options.user, id: bytesOf(options.user.id) },
  excludeCredentials: ids(options.excludeCredentials),
});

/** As parseRequestOptionsFromJSON. */
const forRequest = (options) => ({
  ...options,
  challenge: bytesOf(options.challenge),
  allowCredentials: ids(options.allowCredentials),
});

/** As toJSON of the credential, which older browsers lack and some extensions break. */
function jsonOf(credential) {
  const { response } = credential;
  const parts = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
  const found = {};
  for (const name of parts) if (response[name]) found[name] = textOf(response[name]);
  if (response.getTransports) found.transports = response.getTransports();
  return JSON.stringify({
    id: credential.id,
    rawId: textOf(credential.rawId),
    type: credential.type,
    authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
    clientExtensionResults: {},
    response: found,
  });
}

/** What the form says, under its button. */
function say(form, word) {
  const words = JSON.parse(form.dataset.words ?? "{}");
  const place = form.querySelector("[data-said]") ?? make("p", { role: "status", class: "muted small", "data-said": "" });
  place.textContent = words[word] ?? "";
  form.append(place);
}

const wordOf = (error) =>
  ({ InvalidStateError: "exists", NotAllowedError: "cancelled", AbortError: "cancelled" })[error.name] ?? "failed";

function send(form, credential) {
  form.elements.credential.value = jsonOf(credential);
  form.requestSubmit();
}

/** The latest options of the login page, and the request that waits for a choice in its field. */
const waiting = { options: null, at: 0, request: null };

async function latestOptions(form) {
  if (waiting.options && Date.now() - waiting.at < RENEW_AFTER) return waiting.options;
  const answer = await fetch(form.dataset.options, { cache: "no-store" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  waiting.at = Date.now();
  return (waiting.options = await answer.json());
}

async function ask(form) {
  if (form.dataset.passkey === "create")
    return navigator.credentials.create({ publicKey: forCreation(JSON.parse(form.dataset.options)) });
  if (form.dataset.passkey === "get")
    return navigator.credentials.get({ publicKey: forRequest(JSON.parse(form.dataset.options)) });
  waiting.request?.abort();
  return navigator.credentials.get({ publicKey: forRequest(await latestOptions(form)) });
}

let asking = false;

async function answer(form) {
  if (asking) return;
  asking = true;
  say(form, "");
  try {
    send(form, await ask(form));
  } catch (error) {
    say(form, wordOf(error));
    if (form.dataset.passkey === "sign-in") offerInField(form);
  } finally {
    asking = false;
  }
}

/** Let the browser offer passkeys in the field for the login name, with a challenge that counts. */
async function offerInField(form) {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  waiting.request?.abort();
  const request = (waiting.request = new AbortController());
  try {
    const publicKey = forRequest(await latestOptions(form));
    if (request.signal.aborted) return;
    send(form, await navigator.credentials.get({ publicKey, mediation: "conditional", signal: request.signal }));
  } catch {
    // Aborted, or nothing was chosen: the button and the password remain.
  }
}

function prepareSignIn(form) {
  form.hidden = false;
  const remember = document.querySelector("input[type=checkbox][name=remember]");
  const copy = () => (form.elements.remember.disabled = !remember?.checked);
  remember?.addEventListener("change", copy);
  copy();
  offerInField(form);
  setInterval(() => {
    waiting.options = null;
    if (!asking) offerInField(form);
  }, RENEW_AFTER);
  addEventListener("pageshow", (event) => {
    if (event.persisted) offerInField(form);
  });
}

async function signal(element) {
  const { rpId, userId, allAcceptedCredentialIds, name, displayName } = JSON.parse(element.dataset.signals);
  try {
    await PublicKeyCredential.signalAllAcceptedCredentials?.({ rpId, userId, allAcceptedCredentialIds });
    await PublicKeyCredential.signalCurrentUserDetails?.({ rpId, userId, name, displayName });
  } catch {
    // Only a courtesy to whoever keeps the passkeys.
  }
}

// Before the page's own handlers: without a credential, nothing is sent.
document.addEventListener(
  "submit",
  (event) => {
    const form = event.target;
    if (!form.dataset.passkey || form.elements.credential.value) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (supported) answer(form);
    else say(form, "unsupported");
  },
  true,
);
for (const form of document.querySelectorAll("form[data-passkey=sign-in]")) if (supported) prepareSignIn(form);
for (const element of document.querySelectorAll("[data-signals]")) if (supported) signal(element);
