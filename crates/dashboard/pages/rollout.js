// One rollout: where it stands, what it waits for, what can be done.

import { act, describe, isOpen, WORDS } from "./actions.js";
import { progress } from "./cards.js";
import { h, mark, put, say } from "./dom.js";
import { eventsSection } from "./events.js";
import { live } from "./header.js";
import { historySection } from "./history.js";
import { imagesSection } from "./images.js";
import { keys } from "./keys.js";
import { trouble } from "./notice.js";
import { badge } from "./phases.js";
import { revisionsSection } from "./revisions.js";
import { address, go } from "./router.js";
import { at, get, Stream } from "./server.js";
import { stepsSection } from "./steps.js";
import { weightsSection } from "./weights.js";
import { whySection } from "./why.js";

const RIGHTS_AGAIN = 30000;

function actionBar(route, session) {
  const buttons = WORDS.map((word) => {
    const { title, isDanger } = describe(word);
    const button = h("button", {
      class: word === "promote" ? "button primary" : "button", "data-action": word,
      onclick: () => act(word, route.namespace, route.name),
    }, title);
    if (isDanger) button.classList.add("careful");
    return { word, title, button };
  });
  let rights = {};
  let info = {};
  const show = () => {
    for (const { word, title, button } of buttons) {
      const right = rights[describe(word).right];
      const isDenied = right && !right.isAllowed;
      const isPausedByHand = info.status === "Paused" && info.message === "manually paused";
      button.hidden = word === "resume" ? !isPausedByHand : word === "pause" ? isPausedByHand : false;
      mark(button, "disabled", isDenied || !isOpen(word, info.status));
      const hint = isDenied ? right.reason : word === "restart" ? `Last restart: ${info.restartedAt ?? "Never"}` : "";
      mark(button, "title", hint || undefined);
      mark(button, "aria-label", isDenied ? `${title}: ${right.reason}` : undefined);
    }
  };
  return {
    node: session.isReadOnly ? h("p", { class: "quiet small" }, "This dashboard is read-only.")
      : h("div", { class: "row actions", role: "group", "aria-label": "Actions" }, buttons.map((one) => one.button)),
    update(now) {
      info = now;
      show();
    },
    async ask() {
      try {
        rights = await get(`rollouts/${at(route.namespace, route.name)}/rights`);
        show();
      } catch {
        // The cluster decides anyway when something is done.
      }
    },
  };
}

function summary() {
  const list = h("dl", { class: "summary" });
  const node = h("section", { class: "panel", "aria-labelledby": "summary-title" }, h("h2", { id: "summary-title" }, "Summary"), list);
  return {
    node,
    update(info) {
      const rows = [["Strategy", info.strategy], ["Step", info.step], ["Set weight", info.setWeight && `${info.setWeight}%`],
        ["Actual weight", info.actualWeight && `${info.actualWeight}%`], ["Desired pods", info.desired ?? 0], ["Updated", info.updated ?? 0],
        ["Ready", info.ready ?? 0], ["Available", info.available ?? 0], ["Last restart", info.restartedAt]];
      put(list, rows.filter(([, value]) => value !== undefined && value !== "").map(([word, value]) => [h("dt", {}, word), h("dd", {}, String(value))]));
    },
  };
}

function head(route) {
  const state = h("span", { id: "phase" });
  const message = h("p", { class: "quiet message", role: "status" });
  const meter = h("div", { class: "head-meter" });
  const back = h("a", { class: "quiet", href: address({ page: "list", namespace: localStorage.getItem("namespace") || undefined }), "data-route": "" }, "← All rollouts");
  const title = h("h1", { tabindex: "-1", id: "title" }, route.name);
  return {
    title,
    node: h("div", { class: "rollout-head" }, back, h("div", { class: "row" }, title, h("span", { class: "tag" }, route.namespace), state), message, meter),
    update(info) {
      if (state.dataset.phase !== info.status) {
        put(state, badge(info.status));
        state.dataset.phase = info.status;
      }
      say(message, info.message ?? "");
      put(meter, progress({ ...info, desired: info.desired }));
    },
  };
}

export function rolloutPage(content, route, session) {
  document.title = `${route.name} / Argo Rollouts`;
  const top = head(route);
  const bar = actionBar(route, session);
  const parts = [top, bar, summary(), whySection(route), stepsSection(), weightsSection(route), imagesSection(route, session),
    revisionsSection(route, session), historySection(route, session), eventsSection(route)];
  const [, , facts, why, steps, weights, images, revisions, history, events] = parts;
  const body = h("div", { class: "rollout" },
    h("div", { class: "column main" }, why.node, revisions.node, history.node, events.node),
    h("div", { class: "column side" }, facts.node, steps.node, weights.node, images.node));
  const notFound = h("div", { class: "empty", role: "alert", hidden: true });
  put(content, top.node, bar.node, notFound, body);
  mark(body, "hidden", true);
  let before = "";

  function gone(text) {
    notFound.hidden = false;
    put(notFound, h("h2", {}, text), h("p", {}, h("a", { class: "button", href: address({ page: "list" }), "data-route": "" }, "All rollouts")));
    body.hidden = true;
    bar.node.hidden = true;
    live(false);
  }

  function taken(message) {
    if (message.problem !== undefined) {
      trouble("cluster", message.problem && `The cluster does not answer, so this may be old: ${message.problem}`);
      return;
    }
    const text = JSON.stringify(message.result);
    if (text === before) return;
    before = text;
    notFound.hidden = true;
    body.hidden = false;
    bar.node.hidden = false;
    parts.forEach((part) => part.update(message.result));
  }

  const path = `rollouts/${at(route.namespace, route.name)}`;
  const stream = new Stream(`${path}/info/watch?repeat=false`, {
    message: taken,
    up: () => {
      live(true);
      trouble("dashboard", "");
    },
    down: async () => {
      live(false);
      try {
        taken({ result: await get(`${path}/info`) });
      } catch (refused) {
        if (refused.status === 404) gone(`There is no rollout ${route.name} in ${route.namespace}.`);
        else if (refused.status === 403) gone(`You may not see this: ${refused.message}`);
        else trouble("dashboard", `Nothing new arrives: ${refused.message}. Trying again…`);
      }
    },
    over: (error) => {
      if (error.http_code === 404) gone(`${route.name} was deleted.`);
      // It may be made again under the same name.
      return false;
    },
  });
  bar.ask();
  const timer = setInterval(() => bar.ask(), RIGHTS_AGAIN);
  const press = (word) => () => bar.node.querySelector(`[data-action="${word}"]:not(:disabled)`)?.click();
  keys({
    p: press("promote"), a: press("abort"), r: press("retry"),
    u: () => go({ page: "list", namespace: localStorage.getItem("namespace") || undefined }),
    Escape: () => go({ page: "list", namespace: localStorage.getItem("namespace") || undefined }),
  });
  top.title.focus({ preventScroll: true });
  return () => {
    clearInterval(timer);
    stream.close();
    parts.forEach((part) => part.end?.());
    trouble("cluster", "");
    trouble("dashboard", "");
  };
}
