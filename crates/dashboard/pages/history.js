// Earlier templates, and what differs between two of them.

import { undo } from "./actions.js";
import { diff, shortened } from "./diff.js";
import { age, h, put } from "./dom.js";
import { at, get } from "./server.js";
import { yaml } from "./yaml.js";

function compared(before, after) {
  const lines = shortened(diff(yaml(before.template), yaml(after.template)));
  if (!lines.some(([kind]) => kind === "+" || kind === "-")) return h("p", { class: "quiet" }, "The templates are the same.");
  const words = { "+": "added", "-": "removed" };
  return h("pre", { class: "diff", tabindex: "0", "aria-label": `Differences between revision ${before.revision} and revision ${after.revision}` },
    lines.map(([kind, text]) => h("span", { class: kind === "+" ? "plus" : kind === "-" ? "minus" : "same" },
      words[kind] ? h("span", { class: "hidden" }, `${words[kind]}: `) : undefined, `${kind} ${text}\n`)));
}

export function historySection(route, session) {
  const place = h("div", {});
  const node = h("section", { class: "panel", id: "history", "aria-labelledby": "history-title" }, h("h2", { id: "history-title" }, "History"), place);
  let known = "";
  let revisions = [];
  let chosen;

  function show() {
    if (revisions.length < 2) {
      put(place, h("p", { class: "quiet" }, "There is one revision only."));
      return;
    }
    chosen ??= { before: revisions[1].revision, after: revisions[0].revision };
    const find = (number) => revisions.find((one) => one.revision === number);
    if (!find(chosen.before) || !find(chosen.after)) chosen = { before: revisions[1].revision, after: revisions[0].revision };
    const choice = (id, word) => h("label", { class: "small" }, `${word} `, h("select", {
      id: `diff-${id}`,
      onchange: (event) => {
        chosen[id] = Number(event.target.value);
        show();
      },
    }, revisions.map((one) => h("option", { value: one.revision, selected: one.revision === chosen[id] }, `Revision ${one.revision} (${age(one.created)} ago)`))));
    const back = session.isReadOnly || chosen.before === revisions[0].revision ? undefined
      : h("button", { class: "button small", onclick: () => undo(route.namespace, route.name, chosen.before) }, `Roll back to revision ${chosen.before}`);
    put(place, h("div", { class: "row" }, choice("before", "From"), choice("after", "to"), h("span", { class: "grow" }), back), compared(find(chosen.before), find(chosen.after)));
  }

  return {
    node,
    async update(info) {
      const now = (info.replicaSets ?? []).map((set) => `${set.revision}:${set.objectMeta.uid}`).join();
      if (now === known) return;
      known = now;
      try {
        revisions = (await get(`rollouts/${at(route.namespace, route.name)}/revisions`)).revisions;
        chosen = undefined;
        show();
      } catch (refused) {
        put(place, h("p", { class: "quiet" }, refused.message));
      }
    },
  };
}
