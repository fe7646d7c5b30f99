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
  const open = new Map();
  let before = "";
  let latest = {};
  const info = () => latest;

  function revision(number, group, isNewest) {
    const isOpen = open.get(number) ?? (isNewest || group.sets.some((set) => set.replicas > 0));
    const back = isNewest || session.isReadOnly ? undefined
      : h("button", { class: "button small", "data-rollback": number, onclick: (event) => { event.preventDefault(); undo(route.namespace, route.name, number); } }, "Rollback");
    return h("details", { class: "revision", open: isOpen, "data-revision": number, ontoggle: (event) => open.set(number, event.target.open) },
      h("summary", {}, h("h3", {}, `Revision ${number}`), back),
      group.sets.map(replicaSet), runs(group.runs, info), group.experiments.map((one) => experiment(one, info)));
  }

  return {
    node,
    update(now) {
      latest = now;
      const text = JSON.stringify([now.replicaSets, now.experiments, now.analysisRuns]);
      if (text === before) return;
      before = text;
      const groups = new Map();
      const group = (number) => groups.get(number) ?? groups.set(number, { sets: [], runs: [], experiments: [] }).get(number);
      (now.replicaSets ?? []).forEach((set) => group(set.revision ?? 0).sets.push(set));
      (now.analysisRuns ?? []).forEach((run) => group(run.revision ?? 0).runs.push(run));
      (now.experiments ?? []).forEach((one) => group(one.revision ?? 0).experiments.push(one));
      const numbers = [...groups.keys()].sort((a, b) => b - a);
      const focused = document.activeElement?.closest?.("[data-revision]")?.dataset.revision;
      put(place, numbers.map((number, index) => revision(number, groups.get(number), index === 0)));
      if (focused) place.querySelector(`[data-revision="${focused}"] summary`)?.focus({ preventScroll: true });
      document.dispatchEvent(new CustomEvent("analysis-news"));
    },
  };
}
