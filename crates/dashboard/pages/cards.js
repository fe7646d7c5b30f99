// One rollout in the list: as a card or as a row of a table. Made once, then only changed where it differs.

import { act } from "./actions.js";
import { h, mark, put, say } from "./dom.js";
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
  const open = { promote: ["Progressing", "Paused"], abort: ["Progressing", "Paused"], retry: ["Degraded"] };
  const made = session.isReadOnly ? [] : words.map((word) => ({
    word,
    button: h("button", { class: "button small", "data-action": word, onclick: () => act(word, rollout.namespace, rollout.name) }, word[0].toUpperCase() + word.slice(1)),
  }));
  return {
    nodes: made.map((one) => one.button),
    update(now) {
      for (const { word, button } of made) mark(button, "disabled", open[word] && !open[word].includes(now.status));
    },
  };
}

/** What can be clicked stays in its place; only what is shown around it changes. */
export function card(rollout, session, changed) {
  const bar = buttons(rollout, session, ["restart", "promote"]);
  const [state, facts, meter, roles, text] = [h("span", {}), h("div", { class: "facts" }), h("div", {}), h("div", { class: "sets" }), h("p", { class: "line" })];
  const node = h("article", { class: "card", "data-key": `${rollout.namespace}/${rollout.name}`, "aria-label": rollout.name },
    h("div", { class: "card-head" }, star(rollout, changed), link(rollout), state), facts, meter, roles, text, h("div", { class: "row end" }, bar.nodes));
  node.update = (now) => {
    node.dataset.phase = now.status;
    put(state, badge(now.status));
    put(facts, [now.namespace, now.strategy, now.step && `Step ${now.step}`].filter(Boolean).map((fact) => h("span", { class: "fact" }, fact)));
    put(meter, progress(now));
    put(roles, sets(now));
    say(text, line(now));
    bar.update(now);
  };
  node.update(rollout);
  return node;
}

export function row(rollout, session, changed) {
  const bar = buttons(rollout, session, ["restart", "promote", "abort", "retry"]);
  const [strategy, step, weight, roles, state] = [h("td", {}), h("td", {}), h("td", {}), h("td", { class: "sets" }), h("td", {})];
  const node = h("tr", { "data-key": `${rollout.namespace}/${rollout.name}` },
    h("td", {}, star(rollout, changed)), h("td", {}, link(rollout), h("span", { class: "quiet small" }, ` ${rollout.namespace}`)),
    strategy, step, weight, roles, state, h("td", { class: "row" }, bar.nodes));
  node.update = (now) => {
    say(strategy, now.strategy ?? "");
    say(step, now.step ?? "");
    say(weight, now.strategy === "Canary" ? `${now.actualWeight}%` : "");
    put(roles, sets(now));
    put(state, badge(now.status));
    mark(state, "title", line(now) || undefined);
    bar.update(now);
  };
  node.update(rollout);
  return node;
}
