// What the scripts of the pages share.

/** A new element with these attributes. */
export function make(tag, attributes = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** What the page says about a password, in the reader's language. */
export const wordsOf = (input) => JSON.parse(input.closest("[data-words]").dataset.words);

/** The reader's language: the browser's variant of the page's, such as en-GB. */
export function readersLanguage() {
  const page = document.documentElement.lang;
  return navigator.languages.find((each) => each.split("-")[0] === page) ?? page;
}
