// What a script adds to the recovery codes that are shown once: buttons to keep them.

import { make } from "./elements.js";

function button(text, action) {
  const made = make("button", { type: "button" });
  made.textContent = text;
  made.addEventListener("click", () => action(made));
  return made;
}

function addButtons(list) {
  const words = JSON.parse(list.dataset.words);
  const text = [...list.querySelectorAll("li")].map((item) => item.textContent.trim()).join("\n") + "\n";
  const said = make("span", { class: "visually-hidden", role: "status" });
  const box = make("div", { class: "actions" });
  const link = make("a", { class: "button", download: words.file });
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.textContent = words.download;
  box.append(link);
  if (navigator.clipboard)
    box.append(
      button(words.copy, async (made) => {
        await navigator.clipboard.writeText(text);
        made.textContent = said.textContent = words.copied;
      }),
    );
  box.append(button(words.print, () => print()), said);
  list.after(box);
}

document.querySelectorAll(".codes").forEach(addButtons);
