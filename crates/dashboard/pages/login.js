// Logging in: with a token of the cluster, or at a provider.

import { h, put } from "./dom.js";
import { post } from "./server.js";

export function loginPage(content, session) {
  document.title = "Log in / Argo Rollouts";
  const problem = h("p", { class: "problem", role: "alert" });
  if (session.authMode === "oidc") {
    const back = location.pathname.slice(new URL(document.baseURI).pathname.length) + location.search;
    const link = new URL(`auth/login?back=${encodeURIComponent(back)}`, document.baseURI).href;
    put(content, h("div", { class: "login" }, h("h1", {}, "Log in"),
      h("p", {}, "You are sent to your login provider and back."), h("a", { class: "button primary", href: link }, "Log in")));
    return;
  }
  const field = h("textarea", { id: "token", rows: "4", required: true, autocomplete: "off", spellcheck: "false" });
  const form = h("form", {
    class: "login",
    onsubmit: async (event) => {
      event.preventDefault();
      try {
        await post("session", { token: field.value.trim() });
        location.reload();
      } catch (refused) {
        problem.textContent = refused.message;
        field.focus();
      }
    },
  },
  h("h1", {}, "Log in"),
  h("p", {}, "Everything you do here is done with the rights of your token."),
  h("label", { for: "token" }, "Bearer token of the cluster"), field,
  h("p", { class: "quiet" }, "For example: ", h("code", {}, "kubectl create token NAME -n NAMESPACE")),
  problem,
  h("button", { class: "button primary", type: "submit" }, "Log in"));
  put(content, form);
  field.focus();
}
