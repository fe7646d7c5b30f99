// The steps of a canary: done, current, to come.

import { h, mark, put } from "./dom.js";
import { yaml } from "./yaml.js";

function seconds(duration) {
  const text = String(duration);
  return /^\d+$/.test(text) ? `${text}s` : text;
}

function folded(word, content) {
  return h("details", {}, h("summary", {}, word), h("div", { class: "small quiet" }, content));
}

function templates(list) {
  return (list ?? []).map((template) => h("div", {}, template.templateName ?? template.name ?? ""));
}

function scale(step) {
  if (step.matchTrafficWeight) return "as the traffic";
  if (step.replicas !== undefined) return `${step.replicas} pods`;
  return `${step.weight ?? 0}%`;
}

function described(step) {
  if (step.setWeight !== undefined) return `Set Weight: ${step.setWeight}%`;
  if (step.pause !== undefined) return step.pause?.duration !== undefined ? `Pause: ${seconds(step.pause.duration)}` : "Pause";
  if (step.analysis) return folded("Analysis", templates(step.analysis.templates));
  if (step.setCanaryScale) return folded("Canary Scale", scale(step.setCanaryScale));
  if (step.experiment) {
    return folded("Experiment", (step.experiment.templates ?? []).map((template) => h("div", {},
      `${template.name} (${template.specRef ?? ""}${template.weight !== undefined ? `, ${template.weight}%` : ""})`)));
  }
  if (step.setHeaderRoute) return `${step.setHeaderRoute.match ? "Set" : "Remove"} Header: ${step.setHeaderRoute.name}`;
  if (step.setMirrorRoute) return `${step.setMirrorRoute.match ? "Set" : "Remove"} Mirror: ${step.setMirrorRoute.name}`;
  if (step.plugin) return folded(step.plugin.name, h("pre", {}, yaml(step.plugin.config ?? {})));
  return "Step";
}

export function stepsSection() {
  const list = h("ol", { class: "steps" });
  const node = h("section", { class: "panel", id: "steps", "aria-labelledby": "steps-title", hidden: true }, h("h2", { id: "steps-title" }, "Steps"), list);
  let before = "";
  return {
    node,
    update(info) {
      const steps = info.steps ?? [];
      node.hidden = steps.length === 0;
      const text = JSON.stringify(steps);
      if (text !== before) {
        before = text;
        put(list, steps.map((step) => h("li", {}, described(step))));
      }
      const index = Number((info.step ?? "").split("/")[0]);
      [...list.children].forEach((item, place) => {
        const state = place < index ? "done" : place === index ? "current" : "pending";
        mark(item, "data-state", state);
        mark(item, "aria-current", state === "current" ? "step" : undefined);
      });
    },
  };
}
