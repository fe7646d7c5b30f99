// What a rollout waits for, in the words of the engine.

import { age, h, put } from "./dom.js";
import { at, get } from "./server.js";

const CALM = 1500;

export function whySection(route) {
  const list = h("div", { "aria-live": "polite" });
  const node = h("section", { class: "panel why", id: "why", "aria-labelledby": "why-title" }, h("h2", { id: "why-title" }, "Waiting for"), list);
  let timer;
  let isAsking = false;
  let isEnded = false;

  function show(why) {
    node.dataset.phase = why.phase;
    const things = why.waitingFor.map(({ what, since }) => h("li", {}, what,
      since ? h("span", { class: "quiet small", title: since }, ` for ${age(since)}`) : undefined));
    put(list,
      things.length ? h("ul", { class: "waiting" }, things) : h("p", { class: "quiet" }, "Nothing: all is as asked."),
      why.chain.length ? h("ol", { class: "chain" }, why.chain.map((line) => h("li", {}, line))) : undefined,
      why.unblock ? h("p", { class: "small" }, "To unblock: ", h("code", {}, why.unblock)) : undefined,
      why.notes ? h("p", { class: "quiet small" }, why.notes.join("; ")) : undefined);
  }

  async function ask() {
    if (isAsking || isEnded) return;
    isAsking = true;
    try {
      show(await get(`rollouts/${at(route.namespace, route.name)}/why`));
    } catch (refused) {
      put(list, h("p", { class: "quiet" }, refused.message));
    }
    isAsking = false;
  }

  let asked = 0;
  return {
    node,
    update() {
      clearTimeout(timer);
      const wait = Math.max(0, asked + CALM - Date.now());
      timer = setTimeout(() => {
        asked = Date.now();
        ask();
      }, wait);
    },
    end() {
      isEnded = true;
      clearTimeout(timer);
    },
  };
}
