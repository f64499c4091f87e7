// What the server says of a new password while it is typed. The form does not wait for it.
import { make, wordsOf } from "./elements.js";

const PAUSE = 400; // milliseconds without a key

function addHint(input) {
  const { form, minLength } = input;
  const words = wordsOf(input);
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  const text = make("span");
  const said = make("span", { class: "visually-hidden", role: "status" });
  const hint = make("p", { class: "strength", hidden: "" });
  bar.append(make("i"), make("i"), make("i"));
  hint.append(bar, text);
  input.closest(".field").append(hint, said);
  let timer;
  let request = new AbortController();

  const show = (level, message) => {
    hint.dataset.level = level;
    text.textContent = message;
  };
  const say = () => (said.textContent = text.textContent); // only when the typing pauses
  const ask = async () => {
    const { signal } = (request = new AbortController());
    const body = new URLSearchParams(new FormData(form));
    body.delete("current_password");
    const options = { method: "POST", body, signal, headers: { Accept: "application/json" } };
    const answer = await fetch(input.dataset.check, options)
      .then((response) => (response.ok ? response.json() : null))
      .catch(() => null);
    if (signal.aborted) return;
    show(answer?.level ?? 0, answer?.message ?? words.unknown);
    say();
  };
  const look = () => {
    clearTimeout(timer);
    request.abort();
    const missing = minLength - [...input.value.normalize()].length;
    hint.hidden = input.value === "";
    if (hint.hidden) show(0, "");
    else if (missing > 0) show(0, words.missing[missing - 1]);
    else show(0, words.checking);
    timer = setTimeout(missing > 0 ? say : ask, PAUSE);
  };
  input.addEventListener("input", look);
  // A name or an address is part of the judgement.
  form.addEventListener("change", ({ target }) => target !== input && input.value && look());
  // The password that is sent may end this session, and an answer after that would be an error.
  form.addEventListener("submit", () => {
    clearTimeout(timer);
    request.abort();
  });
  if (input.value) look(); // typed before this script came
}

document.querySelectorAll("[data-check]").forEach(addHint);
