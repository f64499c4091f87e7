// @ts-check
/** The page /app: what a web application does with authsite.js, to be copied from. */
import { AuthsiteError, createClient } from "./authsite.js";

const base = find("#app").dataset.base;
const auth = createClient({ base });

// One place decides what is shown, whichever user signed in or out, and in whichever tab.
auth.onChange(async ({ signedIn, reason }) => {
  find("#unknown").hidden = true;
  find("#login").hidden = signedIn;
  find("#step").hidden = true;
  find("#codes").hidden = true;
  find("#account").hidden = !signedIn;
  find("#answer").textContent = "";
  say(reason === "ended" ? "ended" : "");
  if (signedIn) {
    await attempt(showUser);
    find("#greeting").focus();
  }
});

onSubmit("#login", async (form) => {
  const { username, password } = Object.fromEntries(new FormData(form));
  await orStep(auth.login(String(username), String(password)));
  form.reset();
});

find("#passkey").addEventListener("click", () => attempt(() => orStep(auth.loginWithPasskey())));

/** @type {import("./authsite.js").SecondStep} */
let step;
/** @type {import("./authsite.js").Enrollment | null} a new authenticator app */
let added = null;

/** Where a login needs a second step, show what can be given. @param {Promise<void>} login */
async function orStep(login) {
  try {
    await login;
  } catch (error) {
    if (!(error instanceof AuthsiteError && error.step)) throw error;
    await showStep(error.step);
  }
}

/** @param {import("./authsite.js").SecondStep} next */
async function showStep(next) {
  step = next;
  added = step.enroll ? await auth.enroll(step) : null;
  const typed = step.methods.some((each) => each !== "passkey");
  find("#login").hidden = true;
  find("#step").hidden = false;
  find("#enroll").hidden = !added;
  find("#use-passkey").hidden = !step.methods.includes("passkey");
  find("#mail-code").hidden = !step.methods.includes("email");
  find("#code-field").hidden = !typed && !added;
  if (added) {
    const picture = new DOMParser().parseFromString(added.qr_svg, "image/svg+xml");
    find("#picture").replaceChildren(document.importNode(picture.documentElement, true));
    find("#secret").textContent = added.secret.replace(/.{4}(?=.)/g, "$& ");
  }
  find("#step h2").focus();
}

/** Of the codes that can be typed, a recovery code is the long one. @param {string} code */
function methodOf(code) {
  if (added) return "totp";
  const long = code.replace(/[\s-]/g, "").length > 8;
  if (long && step.methods.includes("recovery_code")) return "recovery_code";
  return step.methods.includes("totp") ? "totp" : "email";
}

/** @param {import("./authsite.js").Proof} proof */
async function prove(proof) {
  try {
    const codes = await auth.secondStep(step, proof);
    if (codes.length) setTimeout(() => showCodes(codes)); // after the listeners of the sign-in
  } catch (error) {
    if (!(error instanceof AuthsiteError)) throw error;
    if (error.step) return showStep(error.step);
    if (error.codes.length > 1 || error.code !== "invalid_grant") throw error;
    find("#step").hidden = true;
    find("#login").hidden = false;
    say("step_ended");
  }
}

/** @param {string[]} codes */
function showCodes(codes) {
  find("#codes").hidden = false;
  find("#recovery-codes").textContent = codes.join("\n");
  find("#codes h2").focus();
}

onSubmit("#step", async (form) => {
  const code = String(new FormData(form).get("code"));
  await prove({ method: methodOf(code), code, enrollment: added?.enrollment });
  form.reset();
});
find("#use-passkey").addEventListener("click", () => attempt(() => prove({ method: "passkey" })));
find("#mail-code").addEventListener("click", () =>
  attempt(async () => {
    await auth.mailCode(step);
    say("mailed");
  }),
);

onSubmit("#call", async (form) => {
  find("#answer").textContent = "";
  const answer = await auth.fetch(String(new FormData(form).get("path")));
  find("#answer").textContent = `${answer.status}\n${indented(await answer.text())}`;
});

onSubmit("#logout", () => auth.logout());

find("#unknown").hidden = false;
find("#again").addEventListener("click", comeBack);
await comeBack();

/** After a reload: the cookie alone brings the session back. */
async function comeBack() {
  find("#again").hidden = true;
  await attempt(auth.restore);
  find("#again").hidden = auth.signedIn !== undefined;
}

async function showUser() {
  const answer = await auth.fetch(`${base}/v1/user`);
  if (!auth.signedIn) return; // the session has ended, which the page says already
  if (!answer.ok) throw await AuthsiteError.from(answer);
  const user = await answer.json();
  const since = new Date(user.created_at).toLocaleDateString(language(), { dateStyle: "medium" });
  const shown = { ...user, name: user.name ?? "–", created_at: since };
  for (const place of document.querySelectorAll("[data-user]")) {
    place.textContent = shown[place.getAttribute("data-user") ?? ""];
  }
}

/** The reader's variant of the page's language: "en-GB" on a page in "en". */
function language() {
  const page = document.documentElement.lang;
  return navigator.languages.find((each) => each.split("-")[0] === page) ?? page;
}

/** JSON with a line for each field; any other text as it is. @param {string} text */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Does `work`, and shows what went wrong. @param {() => Promise<unknown>} work */
async function attempt(work) {
  say("");
  try {
    await work();
  } catch (error) {
    if (!(error instanceof AuthsiteError)) throw error;
    say(error.codes.at(-1) ?? error.code, error.message); // the last code says it most exactly
  }
}

/** @param {string} code @param {string} [message] for a code that the page has no words for */
function say(code, message = "") {
  const words = document.querySelector(`#words [data-code="${CSS.escape(code)}"]`);
  find("#problem").textContent = words?.textContent ?? message;
}

/** @param {string} selector @param {(form: HTMLFormElement) => Promise<unknown>} work */
function onSubmit(selector, work) {
  const form = /** @type {HTMLFormElement} */ (find(selector));
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button:not([type])"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true; // not twice
    await attempt(() => work(form));
    button.disabled = false;
  });
}

/** @param {string} selector @returns {HTMLElement} */
function find(selector) {
  return /** @type {HTMLElement} */ (document.querySelector(selector));
}
