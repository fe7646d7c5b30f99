// The beginning: who looks, at what, and which page that is.

import { h, put } from "./dom.js";
import { applyTheme, showHeader } from "./header.js";
import { keys } from "./keys.js";
import { listPage } from "./list.js";
import { loginPage } from "./login.js";
import { rolloutPage } from "./rollout.js";
import { current, go, listen } from "./router.js";
import { get } from "./server.js";

let session;
let leave = () => {};

function banner(text) {
  const place = document.getElementById("banner");
  place.hidden = !text;
  place.textContent = text ?? "";
}

function show(route) {
  leave();
  keys({});
  const content = document.getElementById("content");
  put(content);
  if (route.page === "rollout" && route.namespace === undefined) {
    go({ ...route, namespace: localStorage.getItem("namespace") || session.namespace }, { replace: true });
    return;
  }
  leave = route.page === "rollout" ? rolloutPage(content, route, session) : listPage(content, route, session);
  document.querySelectorAll("dialog").forEach((open) => open.close());
}

async function start() {
  applyTheme();
  const content = document.getElementById("content");
  try {
    session = await get("session");
  } catch (refused) {
    put(content, h("p", { class: "empty", role: "alert" }, `${refused.message}. Trying again…`));
    setTimeout(start, 2000);
    return;
  }
  banner(session.banner);
  if (!session.isLoggedIn) {
    loginPage(content, session);
    return;
  }
  let namespaces = [];
  showHeader(session, namespaces);
  listen(show);
  show(current());
  try {
    namespaces = (await get("namespace")).availableNamespaces ?? [];
    showHeader(session, namespaces);
  } catch {
    // The list says by itself what is wrong.
  }
}

window.addEventListener("logged-out", () => {
  if (session?.isLoggedIn) location.reload();
});

start();
