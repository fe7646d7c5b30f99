// Keyboard shortcuts. What is typed into a field is never one.

import { dialog } from "./dialog.js";
import { h } from "./dom.js";

let bindings = {};

/** The keys of the page that is shown. */
export function keys(map) {
  bindings = map;
}

export function help() {
  const rows = [
    ["/", "search"], ["Shift + H", "this help"], ["Esc", "close, or clear the selection"],
    ["← → ↑ ↓", "move the selection in the list"], ["Enter", "open the selected rollout"],
    ["p", "promote (on a rollout)"], ["a", "abort"], ["r", "retry"], ["u", "back to the list"],
  ];
  return dialog("Keyboard shortcuts", h("dl", { class: "shortcuts" },
    rows.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])));
}

document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.("input, textarea, select, dialog, [contenteditable]");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (field) {
    if (event.key === "Escape" && field.matches("input")) field.blur();
    return;
  }
  if (event.key === "H" && event.shiftKey) {
    event.preventDefault();
    help();
    return;
  }
  // Buttons and links keep their own Enter.
  if (event.key === "Enter" && event.target.closest?.("a, button, summary")) return;
  const action = bindings[event.key];
  if (action && action(event) !== false) event.preventDefault();
});
