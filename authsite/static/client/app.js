// @ts-check
/** The page /app: what a web application does with authsite.js, to be copied from. */
import { AuthsiteError, createClient } from "./authsite.js";

const base = find("#app").dataset.base;
const auth = createClient({ base });

// One place decides what is shown, whichever user signed in or out, and in whichever tab.
auth.onChange(async ({ signedIn, reason }) => {
  find("#unknown").hidden = true;
  find("#login").hidden = signedIn;
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
  await auth.login(String(username), String(password));
  form.reset();
});

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
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
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
