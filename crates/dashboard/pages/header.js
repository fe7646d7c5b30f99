// The top of every page: where we are, which namespace, light or dark.

import { h, put } from "./dom.js";
import { help } from "./keys.js";
import { address, current, go } from "./router.js";
import { remove } from "./server.js";

const THEMES = ["auto", "light", "dark"];

export function theme() {
  return localStorage.getItem("theme") ?? "auto";
}

export function applyTheme() {
  const chosen = theme();
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

function themeButton() {
  const words = { auto: "◐", light: "☀", dark: "☾" };
  const button = h("button", {
    class: "icon-button", id: "theme",
    onclick: () => {
      localStorage.setItem("theme", THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
      applyTheme();
      show();
    },
  });
  const show = () => {
    button.textContent = words[theme()];
    button.setAttribute("aria-label", `Colours: ${theme()}`);
    button.title = `Colours: ${theme()}`;
  };
  show();
  return button;
}

/** The namespace that is shown: that of the address, else the one chosen last, else all. */
export function chosenNamespace() {
  const route = current();
  return route.page === "list" && route.namespace !== undefined ? route.namespace : localStorage.getItem("namespace") ?? "";
}

function namespaceField(namespaces) {
  const list = h("datalist", { id: "namespaces" }, namespaces.map((name) => h("option", { value: name })));
  const field = h("input", {
    id: "namespace", list: "namespaces", placeholder: "all namespaces", autocomplete: "off", spellcheck: "false",
    "aria-label": "Namespace", value: chosenNamespace(),
    onchange: () => {
      const chosen = field.value.trim();
      localStorage.setItem("namespace", chosen);
      go({ page: "list", namespace: chosen || undefined, query: current().page === "list" ? current().query : undefined });
    },
  });
  return h("div", { class: "field" }, field, list);
}

export function showHeader(session, namespaces) {
  const skip = h("button", { class: "skip", onclick: () => document.getElementById("content").focus() }, "Skip to content");
  const who = session.authMode === "none" ? undefined : h("span", { class: "who" }, session.user ?? "",
    h("button", {
      class: "quiet-button",
      onclick: async () => {
        await remove("session");
        location.reload();
      },
    }, "Log out"));
  const readOnly = session.isReadOnly ? h("span", { class: "tag" }, "read-only") : undefined;
  put(document.getElementById("header"),
    skip,
    h("a", { class: "brand", href: address({ page: "list", namespace: chosenNamespace() || undefined }), "data-route": "" },
      h("img", { src: "icon.svg", alt: "", width: "24", height: "24" }),
      h("span", {}, "Rollouts"), h("span", { class: "version" }, session.version ?? "")),
    readOnly,
    h("span", { class: "grow" }),
    h("span", { id: "live", class: "live", title: "Whether what is shown is up to date" }),
    namespaceField(namespaces),
    who,
    h("button", { class: "icon-button", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts", onclick: help }, "⌨"),
    themeButton());
  live(isLive);
}

let isLive;

/** Whether news arrive. */
export function live(is) {
  isLive = is;
  const place = document.getElementById("live");
  if (!place || is === undefined) return;
  place.textContent = is ? "live" : "reconnecting…";
  place.dataset.live = is ? "yes" : "no";
}
