// What a script adds to the pages; every page works without it.

const wordsOf = (element) => JSON.parse(element.closest("[data-words]").dataset.words);

function make(tag, properties) {
  return Object.assign(document.createElement(tag), properties);
}

/** A button inside the field that shows what was typed. */
function addShowButton(box) {
  const input = box.querySelector("input");
  const words = wordsOf(box);
  const button = make("button", { type: "button" });
  const label = make("span", { ariaHidden: "true" });
  const name = make("span", { className: "visually-hidden" });
  const said = make("span", { className: "visually-hidden", role: "status" });
  const show = (visible, silent) => {
    input.type = visible ? "text" : "password";
    label.textContent = visible ? words.hide : words.show;
    name.textContent = visible ? words.hide_password : words.show_password;
    if (!silent) said.textContent = visible ? words.shown : words.hidden;
  };
  button.setAttribute("aria-controls", input.id);
  button.addEventListener("click", () => show(input.type === "password"));
  // As text it would go into the browser's list of things once typed.
  input.form.addEventListener("submit", () => show(false, true));
  show(false, true);
  box.classList.add("can-show");
  button.append(label, name);
  box.append(button, said);
}

function addCapsLockHint(box) {
  const input = box.querySelector("input");
  const words = wordsOf(box);
  const hint = make("p", { className: "caps", role: "status" });
  const look = (event) => {
    hint.textContent = event.getModifierState?.("CapsLock") ? words.caps : "";
  };
  for (const name of ["keydown", "keyup", "click"]) input.addEventListener(name, look);
  input.addEventListener("blur", () => (hint.textContent = ""));
  box.after(hint);
}

const ROWS = ["abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "qwertzuiop", "asdfghjkl", "zxcvbnm"];
const COMMON = "password passwort secret geheim welcome willkommen letmein monkey dragon master admin login hallo hello qwerty iloveyou sunshine princess football baseball superman batman shadow summer sommer winter test love".split(" ");

/** A rough guess at how many bits a guesser needs; it errs on the low side. */
function bits(password, own) {
  let text = password.toLowerCase();
  let sum = 0;
  for (const word of [...own, ...COMMON]) {
    if (word.length > 3 && text.includes(word)) {
      text = text.replaceAll(word, "\0");
      sum += COMMON.includes(word) ? 6 : 1;
    }
  }
  const inRow = (a, b) => ROWS.some((row) => row.includes(a + b) || row.includes(b + a));
  let before = "";
  const seen = new Set();
  for (const letter of text) {
    if (letter === "\0") continue;
    if (letter === before) sum += 0.3;
    else if (before && inRow(before, letter)) sum += 0.8;
    else {
      const worth = /[a-z]/.test(letter) ? 2.3 : /\d/.test(letter) ? 2.8 : 4.5;
      sum += seen.has(letter) ? worth * 0.7 : worth;
    }
    seen.add(letter);
    before = letter;
  }
  return sum;
}

function ownWords(form) {
  const fields = form.querySelectorAll("input[name=email], input[name=name], input[name=username], input[autocomplete=username]");
  const texts = [...fields].map((field) => field.value).concat(document.title);
  return texts.flatMap((text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u));
}

/** A hint that changes while a new password is typed; what counts is what the server says. */
function addStrengthHint(input) {
  const words = wordsOf(input);
  const shortest = Number(input.dataset.new);
  const bar = make("span", { className: "bar", ariaHidden: "true" });
  const text = make("span");
  const said = make("span", { className: "visually-hidden", role: "status" });
  const hint = make("p", { className: "strength", hidden: true });
  bar.append(make("i"), make("i"), make("i"));
  hint.append(bar, text);
  input.closest(".field").append(hint, said);
  let later;
  input.addEventListener("input", () => {
    const missing = shortest - [...input.value].length;
    const strength = bits(input.value, ownWords(input.form));
    const level = missing > 0 ? 0 : strength < 21 ? 1 : strength < 38 ? 2 : 3;
    hint.hidden = input.value === "";
    hint.dataset.level = level;
    text.textContent = level ? words.levels[level - 1] : words.short.replace("{n}", missing);
    clearTimeout(later);
    // Read out only when the typing pauses.
    later = setTimeout(() => (said.textContent = hint.hidden ? "" : text.textContent), 900);
  });
}

/** A form is sent once. Coming back to the page, or waiting in vain, makes it usable again. */
function sendOnce(form) {
  const buttons = () => form.querySelectorAll("button:not([type=button])");
  let sent = false;
  const ready = () => {
    sent = false;
    for (const button of buttons()) button.removeAttribute("aria-disabled");
  };
  form.addEventListener("submit", (event) => {
    if (sent) return event.preventDefault();
    sent = true;
    for (const button of buttons()) button.setAttribute("aria-disabled", "true");
    setTimeout(ready, 15_000);
  });
  addEventListener("pageshow", ready);
}

/** Dates in the reader's zone, in the words of the page's language. */
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
if (document.querySelector("[data-strip-query]") && location.search) {
  history.replaceState(history.state, "", location.pathname);
}
for (const box of document.querySelectorAll(".password")) {
  addShowButton(box);
  addCapsLockHint(box);
}
document.querySelectorAll("[data-new]").forEach(addStrengthHint);
document.querySelectorAll("form[method=post]").forEach(sendOnce);
localDates();
// For browsers that know `autofocus` on inputs only; the others have done it by the next frame.
addEventListener("load", () =>
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) document.querySelector("[tabindex][autofocus]")?.focus();
  }),
);
