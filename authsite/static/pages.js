// What a script adds to the pages; every page works without it.

/** A new element with these attributes. */
export function make(tag, attributes = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** What the page says about a password, in the reader's language. */
export const wordsOf = (input) => JSON.parse(input.closest("[data-words]").dataset.words);

/** A button inside the field that shows what was typed. */
function addShowButton(input) {
  const words = wordsOf(input);
  const button = make("button", { type: "button", "aria-controls": input.id });
  const label = make("span", { "aria-hidden": "true" });
  const name = make("span", { class: "visually-hidden" });
  const said = make("span", { class: "visually-hidden", role: "status" });
  const show = (visible) => {
    input.type = visible ? "text" : "password";
    label.textContent = visible ? words.hide : words.show;
    name.textContent = visible ? words.hide_password : words.show_password;
  };
  button.addEventListener("click", () => {
    show(input.type === "password");
    said.textContent = input.type === "text" ? words.shown : words.hidden;
  });
  // As text it would go into the browser's list of what was once typed.
  input.form.addEventListener("submit", () => show(false));
  show(false);
  button.append(label, name);
  input.parentElement.classList.add("can-show");
  input.after(button, said);
}

function addCapsLockHint(input) {
  const words = wordsOf(input);
  const hint = make("p", { class: "caps", role: "status" });
  const look = (event) => {
    hint.textContent = event.getModifierState?.("CapsLock") ? words.caps : "";
  };
  for (const name of ["keydown", "keyup", "click"]) input.addEventListener(name, look);
  input.addEventListener("blur", () => (hint.textContent = ""));
  input.parentElement.after(hint);
}

/** A form is sent once. Coming back to the page, or waiting in vain, makes it usable again. */
function sendOnce(form) {
  const buttons = form.querySelectorAll("button:not([type])");
  let sent = false;
  const ready = () => {
    sent = false;
    for (const button of buttons) button.removeAttribute("aria-disabled");
  };
  form.addEventListener("submit", (event) => {
    if (sent) return event.preventDefault();
    sent = true;
    for (const button of buttons) button.setAttribute("aria-disabled", "true");
    setTimeout(ready, 15_000);
  });
  addEventListener("pageshow", ready);
}

/** Dates in the reader's zone and manner, in the page's language. */
function localDates() {
  const page = document.documentElement.lang;
  const language = navigator.languages.find((each) => each.split("-")[0] === page) ?? page;
  const format = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
  for (const time of document.querySelectorAll("time[datetime]")) {
    time.title = time.textContent;
    time.textContent = format.format(new Date(time.dateTime));
  }
}

// A secret in the address would be in the history, and in what is copied from the address bar.
const address = document.querySelector("[data-address]")?.dataset.address;
if (address) history.replaceState(history.state, "", address);
// `/account#password` leads to a form that is folded.
document
  .getElementById(location.hash.slice(1))
  ?.closest("section")
  ?.querySelector("details:has(> form)")
  ?.setAttribute("open", "");
for (const input of document.querySelectorAll(".password input")) {
  addShowButton(input);
  addCapsLockHint(input);
}
if (document.querySelector("[data-check]")) import("./strength.js");
document.querySelectorAll("form[method=post]:not([data-scripted])").forEach(sendOnce);
localDates();
// For browsers that know `autofocus` on inputs only; the others have done it by the next frame.
addEventListener("load", () =>
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) document.querySelector("[tabindex][autofocus]")?.focus();
  }),
);
