// What a script adds to the account pages; they work without it.

import { make, readersLanguage, wordsOf } from "./elements.js";

const language = readersLanguage();
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const MINUTE = 60_000, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

/** "5 minutes ago" for what was less than `limit` ago, else null. */
function ago(at, limit) {
  const past = Date.now() - at;
  if (past < 0 || past >= limit) return null;
  const [unit, size] = past < HOUR ? ["minute", MINUTE] : ["hour", HOUR];
  return relative.format(-Math.max(1, Math.floor(past / size)), unit);
}

/** "Today", "Yesterday" or the date, in the reader's zone. */
function dayWords(at) {
  const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());
  const days = Math.round((midnight(new Date()) - midnight(at)) / DAY);
  if (days === 0 || days === 1) return relative.format(-days, "day");
  return new Intl.DateTimeFormat(language, { dateStyle: "long" }).format(at);
}

function shortTimes() {
  const full = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
  const clock = new Intl.DateTimeFormat(language, { timeStyle: "short" });
  for (const time of document.querySelectorAll("time[data-time]")) {
    const at = new Date(time.dateTime);
    time.title = full.format(at);
    time.textContent = ago(at, HOUR) ?? clock.format(at);
  }
  for (const time of document.querySelectorAll("time[data-ago]")) {
    const at = new Date(time.dateTime), words = ago(at, DAY);
    if (!words) continue;
    time.title = full.format(at);
    time.textContent = words;
  }
}

/** The events of each day under its heading: the days of the reader's zone, not those of UTC. */
function localDays(box) {
  const { localName: level, className } = box.querySelector(".day");
  const items = [...box.querySelectorAll("li")];
  box.replaceChildren();
  let day, list;
  for (const item of items) {
    const words = dayWords(new Date(item.querySelector("time").dateTime));
    if (words !== day) {
      const heading = make(level, { class: className });
      heading.textContent = day = words;
      list = make("ul", { class: "events" });
      box.append(heading, list);
    }
    list.append(item);
  }
}

/** A button that copies a token which is shown once. */
function addCopyButton(secret) {
  const words = wordsOf(secret);
  const button = make("button", { type: "button", class: "copy" });
  const said = make("span", { class: "visually-hidden", role: "status" });
  button.textContent = words.copy;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(secret.textContent);
    button.textContent = said.textContent = words.copied;
  });
  secret.after(button, said);
}

/** The first field of a form that opens gets the focus, or the form itself: no press of Enter too many does anything.
 * Cancel closes it again, without loading the page. */
function foldForm(details) {
  const summary = details.querySelector("summary"), form = details.querySelector("form");
  form.tabIndex = -1;
  summary.addEventListener("click", () =>
    requestAnimationFrame(() => {
      if (details.open) (form.querySelector("input:not([type=hidden], [hidden]), select") ?? form).focus();
    }),
  );
  form.querySelector("[data-cancel]").addEventListener("click", (event) => {
    // With mistakes the page is loaded, so that they are gone.
    if (form.querySelector(".summary")) return;
    event.preventDefault();
    form.reset();
    details.open = false;
    summary.focus();
  });
}

shortTimes();
document.querySelectorAll("[data-days]:not(:empty)").forEach(localDays);
if (navigator.clipboard) document.querySelectorAll(".secret").forEach(addCopyButton);
for (const cancel of document.querySelectorAll("[data-cancel]")) foldForm(cancel.closest("details"));
