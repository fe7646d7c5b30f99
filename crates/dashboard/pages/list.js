// The list of rollouts: of all namespaces or one, filtered, live.

import { card, row } from "./cards.js";
import { h, mark, put, say } from "./dom.js";
import { isFavourite } from "./favourites.js";
import { search } from "./filter.js";
import { chosenNamespace, live } from "./header.js";
import { keys } from "./keys.js";
import { notice, trouble } from "./notice.js";
import { needsAttention, PHASES, tone } from "./phases.js";
import { go, note } from "./router.js";
import { get, Stream } from "./server.js";

const SHOWN_FIRST = 120;
const PAGES = [10, 20, 50, 100];
const COLUMNS = [["", ""], ["name", "Name"], ["strategy", "Strategy"], ["step", "Step"], ["weight", "Weight"], ["", "ReplicaSets"], ["status", "Status"], ["", "Actions"]];

export function listPage(content, route, session) {
  document.title = "Argo Rollouts";
  const namespace = chosenNamespace();
  const query = new URLSearchParams(route.query);
  const all = new Map();
  const shown = new Map();
  let fresh;
  let isComplete = false;
  let selected;
  let most = SHOWN_FIRST;
  let page = 0;
  let size = Number(localStorage.getItem("pageSize")) || 20;
  let sort = { by: "name", isDown: false };
  let isDrawn = true;
  let order = [];

  const isTable = () => query.get("displayMode") === "table";
  const key = (rollout) => `${rollout.namespace}/${rollout.name}`;
  const is = (name) => query.get(name) === "true";
  const toggle = (name) => {
    if (is(name)) query.delete(name);
    else query.set(name, "true");
    changed();
  };
  function changed() {
    page = 0;
    most = SHOWN_FIRST;
    note(query);
    draw();
  }

  const field = h("input", {
    id: "search", type: "search", placeholder: "Search: name, !name, label:value", value: query.get("name") ?? "",
    "aria-label": "Search rollouts", autocomplete: "off", spellcheck: "false",
    oninput: () => {
      if (field.value) query.set("name", field.value);
      else query.delete("name");
      changed();
    },
  });
  const counters = [["showFavorites", "Favourites", "calm"], ["showRequiresAttention", "Needs attention", "bad"], ...PHASES.map((phase) => [phase, phase, tone(phase)])]
    .map(([name, word, colour]) => {
      const number = h("b", {}, "0");
      const button = h("button", { class: `counter ${colour}`, "data-counter": name, onclick: () => toggle(name) }, number, ` ${word}`);
      return { name, number, button };
    });
  const mode = h("button", {
    class: "button small", id: "mode",
    onclick: () => {
      if (isTable()) query.delete("displayMode");
      else query.set("displayMode", "table");
      shown.clear();
      changed();
    },
  });
  const count = h("p", { class: "quiet small", id: "count", role: "status" });
  const place = h("div", { class: "list", "aria-busy": "true" }, h("p", { class: "empty" }, "Loading…"));
  const more = h("div", { class: "row center" });
  put(content, h("h1", { class: "hidden" }, "Rollouts"),
    h("section", { class: "toolbar", "aria-label": "Filter" }, h("div", { class: "counters" }, counters.map((one) => one.button)),
      h("div", { class: "row" }, field, mode)), count, place, more);

  function visible() {
    const finds = search(query.get("name") ?? "");
    const phases = PHASES.filter(is);
    return [...all.values()].filter((rollout) => (!namespace || rollout.namespace === namespace) && finds(rollout) &&
      (!is("showFavorites") || isFavourite(rollout.namespace, rollout.name)) &&
      (!is("showRequiresAttention") || needsAttention(rollout)) &&
      (!phases.length || phases.includes(rollout.status)));
  }

  const values = { name: (r) => key(r), strategy: (r) => r.strategy ?? "", step: (r) => r.step ?? "", weight: (r) => Number(r.actualWeight ?? -1), status: (r) => r.status };
  function ordered(rollouts) {
    const value = values[sort.by];
    const starred = (r) => (isFavourite(r.namespace, r.name) ? 0 : 1);
    return rollouts.map((r) => [starred(r), value(r), r.name + r.namespace, r]).sort((a, b) => a[0] - b[0] ||
      (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0) * (sort.isDown ? -1 : 1) || (a[2] < b[2] ? -1 : 1)).map((entry) => entry[3]);
  }

  function counted() {
    const here = [...all.values()].filter((rollout) => !namespace || rollout.namespace === namespace);
    const numbers = { showFavorites: here.filter((r) => isFavourite(r.namespace, r.name)).length, showRequiresAttention: here.filter(needsAttention).length };
    for (const phase of PHASES) numbers[phase] = here.filter((r) => r.status === phase).length;
    for (const { name, number, button } of counters) {
      say(number, String(numbers[name]));
      mark(button, "aria-pressed", String(is(name)));
    }
    say(mode, isTable() ? "Grid" : "Table");
  }

  function nodes(rollouts, make) {
    const wanted = new Set(rollouts.map(key));
    for (const known of shown.keys()) if (!wanted.has(known)) shown.delete(known);
    return rollouts.map((rollout) => {
      let entry = shown.get(key(rollout));
      if (!entry) shown.set(key(rollout), (entry = { node: make(rollout, session, draw), rollout }));
      else if (entry.rollout !== rollout) {
        entry.node.update(rollout);
        entry.rollout = rollout;
      }
      mark(entry.node, "data-selected", key(rollout) === selected ? "yes" : undefined);
      return entry.node;
    });
  }

  function draw() {
    isDrawn = true;
    if (!isComplete) return;
    counted();
    const rollouts = ordered(visible());
    order = rollouts;
    mark(place, "aria-busy", "false");
    say(count, `${rollouts.length} of ${[...all.values()].filter((r) => !namespace || r.namespace === namespace).length} rollouts`);
    if (!rollouts.length) empty();
    else if (isTable()) table(rollouts);
    else grid(rollouts);
  }

  function empty() {
    shown.clear();
    put(more);
    const where = namespace || "any namespace";
    const isFiltered = [...all.values()].some((rollout) => !namespace || rollout.namespace === namespace);
    const target = namespace ? ` -n ${namespace}` : "";
    const lines = [`kubectl apply${target} -f examples/canary.yaml`, `kubectl apply${target} -f examples/blue-green.yaml`];
    const copy = (text) => h("div", { class: "row copy" }, h("code", {}, text),
      h("button", { class: "button small", onclick: () => navigator.clipboard?.writeText(text).then(() => notice("Copied")) }, "Copy"));
    place.className = "list";
    put(place, h("div", { class: "empty" }, h("h2", {}, "No Rollouts to display!"),
      isFiltered ? h("p", {}, "No rollout matches the filter.") : h("p", {}, `There are no rollouts in ${where}. Make one:`),
      isFiltered ? undefined : lines.map(copy)));
  }

  /** Puts nodes in order and leaves those alone that are in place, so that the focus stays. */
  function arranged(parent, wanted) {
    let next = parent.firstChild;
    for (const node of wanted) {
      if (node === next) next = next.nextSibling;
      else parent.insertBefore(node, next);
    }
    while (next) {
      const gone = next;
      next = next.nextSibling;
      gone.remove();
    }
  }

  function grid(rollouts) {
    place.className = "list grid";
    arranged(place, nodes(rollouts.slice(0, most), card));
    put(more, rollouts.length > most ? h("button", { class: "button", onclick: () => { most += SHOWN_FIRST; draw(); } }, `Show more (${rollouts.length - most})`) : undefined);
  }

  function table(rollouts) {
    place.className = "list";
    const pages = Math.max(1, Math.ceil(rollouts.length / size));
    page = Math.min(page, pages - 1);
    let body = place.querySelector("tbody");
    if (!body) {
      body = h("tbody", {});
      put(place, h("div", { class: "scroll" }, h("table", { class: "table" }, h("thead", {}, h("tr", {}, COLUMNS.map(([by, word]) => h("th", { scope: "col", "data-by": by },
        by ? h("button", { class: "quiet-button", onclick: () => { sort = { by, isDown: sort.by === by && !sort.isDown }; draw(); } }, word) : word)))), body)));
    }
    for (const head of place.querySelectorAll("th")) mark(head, "aria-sort", head.dataset.by && head.dataset.by === sort.by ? (sort.isDown ? "descending" : "ascending") : undefined);
    arranged(body, nodes(rollouts.slice(page * size, (page + 1) * size), row));
    put(more, h("button", { class: "button small", disabled: page === 0, onclick: () => { page -= 1; draw(); } }, "Previous"),
      h("span", { class: "quiet" }, `Page ${page + 1} of ${pages}`),
      h("button", { class: "button small", disabled: page + 1 >= pages, onclick: () => { page += 1; draw(); } }, "Next"),
      h("select", { "aria-label": "Rows per page", onchange: (event) => { size = Number(event.target.value); localStorage.setItem("pageSize", size); page = 0; draw(); } },
        PAGES.map((number) => h("option", { value: number, selected: number === size }, String(number)))));
  }

  function later() {
    if (!isDrawn) return;
    isDrawn = false;
    requestAnimationFrame(draw);
  }

  function taken({ result }) {
    switch (result.type) {
      case "Begin":
        fresh = new Map();
        return;
      case "Complete":
        all.clear();
        for (const [name, rollout] of fresh) all.set(name, rollout);
        fresh = undefined;
        isComplete = true;
        trouble("cluster", result.problem && `The cluster does not answer, so this may be old: ${result.problem}`);
        break;
      case "Problem":
        trouble("cluster", result.problem && `The cluster does not answer, so this may be old: ${result.problem}`);
        return;
      default:
        for (const rollout of result.rollouts) (fresh ?? all).set(key(rollout), rollout);
        for (const gone of result.deleted) all.delete(key(gone));
    }
    later();
  }

  const stream = new Stream("summaries/watch", {
    message: taken,
    up: () => {
      live(true);
      trouble("dashboard", "");
    },
    down: async () => {
      live(false);
      try {
        await get("summaries?check");
      } catch (refused) {
        trouble("dashboard", `Nothing new arrives: ${refused.message}. Trying again…`);
        if (!isComplete) put(place, h("p", { class: "empty", role: "alert" }, `${refused.message}. Trying again…`));
      }
    },
  });

  function columns() {
    if (isTable()) return 1;
    const tops = [...place.children].map((node) => node.offsetTop);
    return Math.max(1, tops.filter((top) => top === tops[0]).length);
  }
  function move(by) {
    const shownOnes = isTable() ? order.slice(page * size, (page + 1) * size) : order.slice(0, most);
    if (!shownOnes.length) return false;
    const index = shownOnes.findIndex((rollout) => key(rollout) === selected);
    const next = index < 0 ? 0 : Math.max(0, Math.min(shownOnes.length - 1, index + by));
    selected = key(shownOnes[next]);
    draw();
    const node = shown.get(selected)?.node;
    node?.scrollIntoView({ block: "nearest" });
    say(count, `${shownOnes[next].name} in ${shownOnes[next].namespace} selected`);
    return true;
  }
  keys({
    "/": () => field.focus(),
    Escape: () => {
      selected = undefined;
      draw();
    },
    ArrowRight: () => (isTable() ? false : move(1)),
    ArrowLeft: () => (isTable() ? false : move(-1)),
    ArrowDown: () => move(columns()),
    ArrowUp: () => move(-columns()),
    Enter: () => {
      const rollout = all.get(selected);
      if (!rollout) return false;
      go({ page: "rollout", namespace: rollout.namespace, name: rollout.name });
      return true;
    },
  });
  return () => {
    stream.close();
    trouble("cluster", "");
    trouble("dashboard", "");
  };
}
