// Phases as people see them: a word, a shape and a colour, never a colour alone.

import { h } from "./dom.js";

export const PHASES = ["Progressing", "Degraded", "Paused", "Healthy"];

const SHAPES = {
  Healthy: "✔", Progressing: "◌", Paused: "‖", Degraded: "✖", Error: "⚠", InvalidSpec: "⚠", ScaledDown: "•",
  Successful: "✔", Failed: "✖", Inconclusive: "?", Running: "◌", Pending: "◷",
};

const TONES = {
  Healthy: "good", Successful: "good", Running: "busy", Progressing: "busy", Pending: "busy",
  Paused: "held", Inconclusive: "held", Degraded: "bad", Failed: "bad", Error: "bad", InvalidSpec: "bad",
  ReplicaFailure: "bad",
};

export function tone(phase) {
  return TONES[phase] ?? "calm";
}

export function badge(phase) {
  return h("span", { class: `badge ${tone(phase)}` },
    h("span", { "aria-hidden": "true", class: "shape" }, SHAPES[phase] ?? "•"), phase || "Unknown");
}

export function shape(phase) {
  return SHAPES[phase] ?? "•";
}

/** Whether somebody should look at it. */
export function needsAttention(rollout) {
  return rollout.status === "Degraded" || rollout.status === "Unknown" || !rollout.status ||
    (rollout.status === "Paused" && rollout.message !== "CanaryPauseStep");
}

/** A pod's tone: one that runs but is not ready is not there yet. */
export function podTone(pod) {
  const [ready, all] = (pod.ready ?? "").split("/");
  if (pod.status === "Running") return ready === all ? "good" : "busy";
  if (pod.status === "Completed") return "good";
  if (/Pending|Creating|Terminating|^Init:\d|PodInitializing/.test(pod.status ?? "")) return "busy";
  return "bad";
}
