// Dialogs: the browser keeps the focus inside and gives it back afterwards.

import { h } from "./dom.js";

export function dialog(title, content, { wide } = {}) {
  const heading = h("h2", { id: "dialog-title", tabindex: "-1" }, title);
  const close = h("button", { class: "quiet-button", "aria-label": "Close", onclick: () => box.close() }, "×");
  const box = h("dialog", { class: wide ? "dialog wide" : "dialog", "aria-labelledby": "dialog-title" },
    h("div", { class: "dialog-head" }, heading, close), content);
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => {
    if (event.target === box) box.close();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

/** Asks; true when it is to be done. */
export function confirm({ title, text, action, isDanger }) {
  return new Promise((resolve) => {
    let answer = false;
    const yes = h("button", {
      class: isDanger ? "button danger" : "button primary", "data-confirm": "yes",
      onclick: () => {
        answer = true;
        box.close();
      },
    }, action);
    const no = h("button", { class: "button", onclick: () => box.close() }, "Cancel");
    const box = dialog(title, h("div", {}, h("p", {}, text), h("div", { class: "row end" }, no, yes)));
    box.addEventListener("close", () => resolve(answer));
    yes.focus();
  });
}
