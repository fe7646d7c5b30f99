// Short notes at the edge of the page, read out by screen readers, and lasting trouble at its top.

import { h, say } from "./dom.js";

const SHOWN = 8000;

export function notice(text, kind = "good") {
  const close = h("button", { class: "quiet-button", "aria-label": "Dismiss", onclick: () => note.remove() }, "×");
  const note = h("div", { class: `notice ${kind}` }, h("span", {}, text), close);
  document.getElementById("notices").append(note);
  setTimeout(() => note.remove(), SHOWN);
}

const reasons = new Map();

/** Shows why what is seen may be old; an empty text takes it back. */
export function trouble(source, text) {
  if (text) reasons.set(source, text);
  else reasons.delete(source);
  const place = document.getElementById("trouble");
  const [first] = reasons.values();
  place.hidden = !first;
  say(place, first ?? "");
}
