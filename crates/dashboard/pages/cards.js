// One rollout in the list: as a card or as a row of a table. Made once, then only changed where it differs.

import { act } from "./actions.js";
import { h, keepFocus, mark, put, say } from "./dom.js";
import { isFavourite, toggleFavourite } from "./favourites.js";
import { badge } from "./phases.js";
import { address } from "./router.js";

function star(rollout, changed) {
  const button = h("button", {
    class: "star",
    onclick: () => {
      toggleFavourite(rollout.namespace, rollout.name);
      show();
      changed();
    },
  });
  const show = () => {
    const is = isFavourite(rollout.namespace, rollout.name);
    say(button, is ? "★" : "☆");
    mark(button, "aria-pressed", String(is));
    mark(button, "aria-label", `Favourite ${rollout.name}`);
  };
  show();
  return button;
}

function link(rollout) {
  const href = address({ page: "rollout", namespace: rollout.namespace, name: rollout.name });
  return h("a", { class: "name", href, "data-route": "" }, rollout.name);
}

const roles = { canary: "Canary", stable: "Stable", preview: "Preview", active: "Active", "": "Rev" };

function sets(rollout) {
  return (rollout.sets ?? []).map((set) => h("span", { class: `set ${set.role || "old"}` },
    `${roles[set.role]} `, h("b", {}, `rev ${set.revision}`), ` ${set.available ?? 0}/${set.replicas ?? 0}`));
}

/** How far it is: the weight of a canary, the updated pods of a blue-green rollout. */
export function progress(rollout) {
  const weight = Number(rollout.actualWeight);
  const isCanary = rollout.strategy === "Canary" && rollout.actualWeight !== undefined;
  const share = isCanary ? weight : rollout.desired ? Math.min(100, Math.round((100 * (rollout.updated ?? 0)) / rollout.desired)) : 100;
  const label = isCanary ? `Weight ${weight}%` : `Updated ${rollout.updated ?? 0} of ${rollout.desired ?? 0}`;
  const wanted = isCanary && rollout.setWeight !== rollout.actualWeight
    ? h("span", { class: "wanted", "left%": Math.min(100, Number(rollout.setWeight)), title: `set to ${rollout.setWeight}%` }) : undefined;
  return h("div", { class: "progress-line" },
    h("div", { class: "progress", role: "meter", "aria-label": label, "aria-valuenow": share, "aria-valuemin": "0", "aria-valuemax": "100" },
      h("span", { class: "done", "width%": Math.min(100, share) }), wanted),
    h("span", { class: "figure" }, isCanary ? `${weight}%` : `${rollout.updated ?? 0}/${rollout.desired ?? 0}`));
}

function line(rollout) {
  if (rollout.waitingFor?.length) return `waiting for ${rollout.waitingFor[0]}`;
  return rollout.message && rollout.message !== "CanaryPauseStep" ? rollout.message : "";
}

function buttons(rollout, session, words) {
  if (session.isReadOnly) return [];
  const open = { promote: ["Progressing", "Paused"], abort: ["Progressing", "Paused"], retry: ["Degraded"] };
  return words.map((word) => h("button", {
    class: "button small", "data-action": word, disabled: open[word] && !open[word].includes(rollout.status),
    onclick: () => act(word, rollout.namespace, rollout.name),
  }, word[0].toUpperCase() + word.slice(1)));
}

export function card(rollout, session, changed) {
  const node = h("article", { class: "card", "data-key": `${rollout.namespace}/${rollout.name}`, "aria-label": rollout.name });
  node.update = (now) => {
    node.dataset.phase = now.status;
    const steps = now.step ? h("span", { class: "fact" }, `Step ${now.step}`) : undefined;
    keepFocus(node, () => put(node,
      h("div", { class: "card-head" }, star(now, changed), link(now), badge(now.status)),
      h("div", { class: "facts" }, h("span", { class: "fact" }, now.namespace), h("span", { class: "fact" }, now.strategy ?? ""), steps),
      progress(now),
      h("div", { class: "sets" }, sets(now)),
      h("p", { class: "line" }, line(now)),
      h("div", { class: "row end" }, buttons(now, session, ["restart", "promote"]))));
  };
  node.update(rollout);
  return node;
}

export function row(rollout, session, changed) {
  const node = h("tr", { "data-key": `${rollout.namespace}/${rollout.name}` });
  node.update = (now) => {
    keepFocus(node, () => put(node,
      h("td", {}, star(now, changed)),
      h("td", {}, link(now), h("span", { class: "quiet small" }, ` ${now.namespace}`)),
      h("td", {}, now.strategy ?? ""),
      h("td", {}, now.step ?? ""),
      h("td", {}, now.strategy === "Canary" ? `${now.actualWeight}%` : ""),
      h("td", { class: "sets" }, sets(now)),
      h("td", { title: line(now) }, badge(now.status)),
      h("td", { class: "row" }, buttons(now, session, ["restart", "promote", "abort", "retry"]))));
  };
  node.update(rollout);
  return node;
}
