// What a script adds to the pages; every page works without it.

import { make, readersLanguage, wordsOf } from "./elements.js";

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
    for (const button of buttons) {
      button.removeAttribute("aria-disabled");
      delete button.dataset.sent;
    }
  };
  form.addEventListener("submit", (event) => {
    if (sent) return event.preventDefault();
    sent = true;
    for (const button of buttons) button.setAttribute("aria-disabled", "true");
    // Of several buttons the one that was pressed shows that the page waits.
    const pressed = event.submitter ?? buttons[0];
    if (pressed) pressed.dataset.sent = "";
    // A download leaves the page as it is.
    setTimeout(ready, form.matches("[data-download]") ? 2_000 : 15_000);
  });
  addEventListener("pageshow", ready);
}

/** A mistake is no longer shown while its field is corrected: neither there nor in the summary. */
function forgetMistake(input) {
  const message = document.getElementById(`${input.id}-error`);
  const line = document.querySelector(`.summary a[href="#${CSS.escape(input.id)}"]`);
  const summary = line?.closest(".summary");
  const told = (input.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id !== message?.id);
  input.setAttribute("aria-invalid", "false");
  if (told.join("")) input.setAttribute("aria-describedby", told.join(" "));
  else input.removeAttribute("aria-describedby");
  message?.remove();
  (line?.closest("li") ?? line?.closest("p"))?.remove();
  if (summary && !summary.querySelector("li, p")) summary.remove();
}

/** The button that sends a mail again waits for a while, and says how long. */
function waitToSendAgain(form) {
  const button = form.querySelector("button");
  const label = button.textContent;
  const end = Date.now() + 1000 * Number(form.dataset.wait);
  const look = () => {
    const seconds = Math.ceil((end - Date.now()) / 1000);
    button.disabled = seconds > 0;
    button.textContent = seconds > 0 ? form.dataset.words.replace("{seconds}", String(seconds)) : label;
    if (seconds > 0) setTimeout(look, 1000);
  };
  look();
}

/** Dates in the reader's zone and manner, in the page's language. */
function localDates() {
  const format = new Intl.DateTimeFormat(readersLanguage(), { dateStyle: "medium", timeStyle: "short" });
  for (const time of document.querySelectorAll("time[datetime]:not([data-time])")) {
    time.title = time.textContent;
    time.textContent = format.format(new Date(time.dateTime));
  }
}

/** Unfold the form of the section that the address names. */
function unfoldTarget() {
  document
    .getElementById(location.hash.slice(1))
    ?.closest("section")
    ?.querySelector("details:has(> form)")
    ?.setAttribute("open", "");
}

// A secret in the address would be in the history, and in what is copied from the address bar.
const address = document.querySelector("[data-address]")?.dataset.address;
if (address) history.replaceState(history.state, "", address);
// What was just done is said once, and not again after a reload.
const query = new URLSearchParams(location.search);
if (query.has("done") && document.querySelector(".notice, [data-done]")) {
  query.delete("done");
  history.replaceState(history.state, "", `${location.pathname}${query.size ? `?${query}` : ""}${location.hash}`);
}
// `/account#password` leads to a form that is folded, and so does a link on the same page.
unfoldTarget();
addEventListener("hashchange", unfoldTarget);
for (const input of document.querySelectorAll(".password input")) {
  addShowButton(input);
  addCapsLockHint(input);
}
for (const input of document.querySelectorAll("[aria-invalid=true]")) {
  input.addEventListener("input", () => forgetMistake(input), { once: true });
}
document.querySelectorAll("form[data-wait]").forEach(waitToSendAgain);
if (document.querySelector("[data-check]")) import("./strength.js");
if (document.querySelector(".account")) import("./account.js");
document.querySelectorAll("form[method=post]:not([data-scripted])").forEach(sendOnce);
localDates();
// For browsers that know `autofocus` on inputs only; the others have done it by the next frame.
addEventListener("load", () =>
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) document.querySelector("[tabindex][autofocus]")?.focus();
  }),
);
