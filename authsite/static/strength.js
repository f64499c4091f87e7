// A hint beside a new password while it is typed. What counts is what the server says of it.
import { make, wordsOf } from "./pages.js";

const ROWS = "abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop qwertzuiop asdfghjkl zxcvbnm".split(" ");
const COMMON = (
  "password passwort secret geheim welcome willkommen letmein monkey dragon master admin login hallo hello " +
  "qwerty iloveyou sunshine princess football fußball baseball superman batman shadow summer sommer winter test love"
).split(" ");
const READ_AS = { "@": "a", 4: "a", 3: "e", 1: "i", 0: "o", $: "s", 5: "s", 7: "t" };
const KINDS = [/\p{Ll}/u, /\p{Lu}/u, /\d/];
const WEAK = 21; // bits; the server refuses what a million guesses find
const STRONG = 38;

const kindOf = (letter) => KINDS.findIndex((kind) => kind.test(letter));
const inRow = (a, b) => ROWS.some((row) => row.includes(a + b) || row.includes(b + a));

/** A rough guess at how many bits a guesser needs; it errs on the low side. */
function bits(password, own) {
  let text = password.toLowerCase();
  let plain = text.replace(/[@4310$57]/g, (sign) => READ_AS[sign]);
  let sum = 0;
  const take = (at, length, worth) => {
    if (at < 0) return;
    const cut = (whole) => whole.slice(0, at) + "\0".repeat(length) + whole.slice(at + length);
    [text, plain] = [cut(text), cut(plain)];
    sum += worth;
  };
  for (const word of own) take(text.indexOf(word), word.length, 1);
  for (const word of COMMON) take(plain.indexOf(word), word.length, 6);
  take(text.search(/(19|20)\d\d/), 4, 4);
  const seen = new Set();
  for (let at = 0; at < text.length; at++) {
    const [before, letter] = [text[at - 1] ?? "\0", text[at]];
    if (letter === "\0") continue;
    if (letter === before) sum += 0.3;
    else if (inRow(before, letter)) sum += 0.8;
    else {
      const worth = /[a-z]/.test(letter) ? 2.3 : /\d/.test(letter) ? 2.8 : 4.5;
      sum += seen.has(letter) ? worth * 0.7 : worth;
      if (before !== "\0" && kindOf(password[at]) !== kindOf(password[at - 1])) sum += 1.2;
    }
    seen.add(letter);
  }
  return sum;
}

/** What somebody who knows the user and the site would try. */
function ownWords(form) {
  const fields = form.querySelectorAll("[name=email], [name=name], [autocomplete=username]");
  const texts = [...fields].map((field) => field.value).concat(document.title);
  const words = texts.flatMap((text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u));
  return words.filter((word) => word.length > 2);
}

function addHint(input) {
  const words = wordsOf(input);
  const shortest = Number(input.dataset.new);
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  const text = make("span");
  const said = make("span", { class: "visually-hidden", role: "status" });
  const hint = make("p", { class: "strength", hidden: "" });
  bar.append(make("i"), make("i"), make("i"));
  hint.append(bar, text);
  input.closest(".field").append(hint, said);
  let later;
  const look = () => {
    const missing = shortest - [...input.value].length;
    const found = bits(input.value, ownWords(input.form));
    const level = missing > 0 ? 0 : found < WEAK ? 1 : found < STRONG ? 2 : 3;
    hint.hidden = input.value === "";
    hint.dataset.level = level;
    text.textContent = level ? words.levels[level - 1] : words.short.replace("{n}", missing);
    clearTimeout(later);
    // Read out only when the typing pauses.
    later = setTimeout(() => (said.textContent = hint.hidden ? "" : text.textContent), 900);
  };
  input.addEventListener("input", look);
  if (input.value) look(); // typed before this script came
}

document.querySelectorAll("[data-new]").forEach(addHint);
