// Revisions, newest first: ReplicaSets with their pods, analyses and experiments.

import { undo } from "./actions.js";
import { analysisDialog, runButton } from "./analysis.js";
import { h, put } from "./dom.js";
import { notice } from "./notice.js";
import { badge, podTone } from "./phases.js";

const ROLES = ["canary", "stable", "active", "preview", "ping", "pong"];

function pod(one) {
  const name = one.objectMeta.name;
  const text = `${name}: ${one.status}, ready ${one.ready}${one.restarts ? `, ${one.restarts} restarts` : ""}`;
  return h("button", {
    class: `pod ${podTone(one)}`, title: `${text} (click copies the name)`, "aria-label": text,
    onclick: () => navigator.clipboard?.writeText(name).then(() => notice(`Copied ${name}`)),
  }, one.icon?.trim() || "•");
}

function countdown(set) {
  if (!set.scaleDownDeadline) return undefined;
  const left = Math.round((Date.parse(set.scaleDownDeadline) - Date.now()) / 1000);
  return h("span", { class: "tag" }, left > 0 ? `scales down in ${left}s` : "scaling down");
}

function replicaSet(set) {
  const roles = ROLES.filter((role) => set[role]);
  return h("div", { class: "replica-set" },
    h("div", { class: "row" }, h("code", {}, set.objectMeta.name), roles.map((role) => h("span", { class: `tag role ${role}` }, role)),
      set.template ? h("span", { class: "tag" }, `Σ ${set.template}`) : undefined, badge(set.status), countdown(set),
      h("span", { class: "quiet small" }, `${set.available ?? 0}/${set.replicas ?? 0} available`)),
    h("div", { class: "small quiet images" }, [...(set.images ?? []), ...(set.initContainerImages ?? [])].map((image) => h("code", {}, image))),
    set.pods?.length ? h("div", { class: "pods", role: "group", "aria-label": "Pods" }, set.pods.map(pod)) : undefined);
}

function runs(list, info) {
  return list?.length ? h("div", { class: "runs" }, list.map((run) => runButton(run, () => analysisDialog(run.objectMeta.name, info)))) : undefined;
}

function experiment(one, info) {
  return h("div", { class: "experiment" },
    h("div", { class: "row" }, h("span", { class: "tag" }, "Experiment"), h("code", {}, one.objectMeta.name), badge(one.status), one.message ? h("span", { class: "quiet small" }, one.message) : undefined),
    (one.replicaSets ?? []).map(replicaSet), runs(one.analysisRuns, info));
}

export function revisionsSection(route, session) {
  const place = h("div", {});
  const node = h("section", { class: "panel", id: "revisions", "aria-labelledby": "revisions-title" }, h("h2", { id: "revisions-title" }, "Revisions"), place);
  const shown = new Map();
  let latest = {};
  const info = () => latest;

  /** A revision is made once, so that its button is not swept away under somebody's finger. */
  function revision(number, isOpen) {
    const back = h("button", {
      class: "button small", "data-rollback": number,
      onclick: (event) => {
        event.preventDefault();
        undo(route.namespace, route.name, number);
      },
    }, "Rollback");
    const body = h("div", {});
    const details = h("details", { class: "revision", open: isOpen, "data-revision": number },
      h("summary", {}, h("h3", {}, `Revision ${number}`), session.isReadOnly ? undefined : back), body);
    return { node: details, back, body, before: "" };
  }

  function group(now) {
    const groups = new Map();
    const of = (number) => groups.get(number) ?? groups.set(number, { sets: [], runs: [], experiments: [] }).get(number);
    (now.replicaSets ?? []).forEach((set) => of(set.revision ?? 0).sets.push(set));
    (now.analysisRuns ?? []).forEach((run) => of(run.revision ?? 0).runs.push(run));
    (now.experiments ?? []).forEach((one) => of(one.revision ?? 0).experiments.push(one));
    return groups;
  }

  return {
    node,
    update(now) {
      latest = now;
      const groups = group(now);
      const numbers = [...groups.keys()].sort((a, b) => b - a);
      for (const number of shown.keys()) {
        if (groups.has(number)) continue;
        shown.get(number).node.remove();
        shown.delete(number);
      }
      numbers.forEach((number, index) => {
        const content = groups.get(number);
        let entry = shown.get(number);
        if (!entry) {
          entry = revision(number, index === 0 || content.sets.some((set) => set.replicas > 0));
          shown.set(number, entry);
        }
        entry.back.hidden = index === 0;
        const text = JSON.stringify(content);
        if (text !== entry.before) {
          entry.before = text;
          put(entry.body, content.sets.map(replicaSet), runs(content.runs, info), content.experiments.map((one) => experiment(one, info)));
        }
        if (place.children[index] !== entry.node) place.insertBefore(entry.node, place.children[index] ?? null);
      });
      document.dispatchEvent(new CustomEvent("analysis-news"));
    },
  };
}
