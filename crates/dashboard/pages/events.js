// What the controller said lately.

import { age, h, put } from "./dom.js";
import { at, get } from "./server.js";

const CALM = 2000;

export function eventsSection(route) {
  const list = h("ul", { class: "events" });
  const node = h("section", { class: "panel", id: "events", "aria-labelledby": "events-title" }, h("h2", { id: "events-title" }, "Events"), list);
  let timer;
  async function ask() {
    try {
      const { events } = await get(`rollouts/${at(route.namespace, route.name)}/events`);
      put(list, events.length ? events.map((event) => h("li", { class: event.type === "Warning" ? "warning" : "" },
        h("span", { class: "quiet small", title: event.seen }, age(event.seen)), h("b", {}, event.reason), h("span", {}, event.message),
        event.count > 1 ? h("span", { class: "tag" }, `×${event.count}`) : undefined)) : h("li", { class: "quiet" }, "None."));
    } catch (refused) {
      put(list, h("li", { class: "quiet" }, refused.message));
    }
  }
  return {
    node,
    update() {
      clearTimeout(timer);
      timer = setTimeout(ask, list.childElementCount ? CALM : 0);
    },
    end() {
      clearTimeout(timer);
    },
  };
}
