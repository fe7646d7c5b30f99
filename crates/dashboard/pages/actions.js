// What can be done to a rollout: asked about first, and told about afterwards.

import { confirm } from "./dialog.js";
import { notice } from "./notice.js";
import { at, put } from "./server.js";

const ACTIONS = {
  promote: { title: "Promote", text: (name) => `Go on with ${name}: past its pause, or past the current step?`, done: "promoted" },
  promoteFull: { title: "Promote fully", text: (name) => `Send all traffic to the new version of ${name} now? Analyses, pauses and steps that are left are skipped.`, done: "fully promoted", path: "promote", body: { full: true }, right: "promote", isDanger: true },
  abort: { title: "Abort", text: (name) => `Stop the update of ${name} and go back to the stable version?`, done: "aborted", isDanger: true },
  retry: { title: "Retry", text: (name) => `Try the update of ${name} again?`, done: "retried" },
  restart: { title: "Restart", text: (name) => `Replace all pods of ${name}?`, done: "restarts" },
  pause: { title: "Pause", text: (name) => `Pause ${name} until somebody goes on with it?`, done: "paused" },
  resume: { title: "Resume", text: (name) => `Go on with ${name}, which was paused by hand?`, done: "resumed" },
};

export const WORDS = Object.keys(ACTIONS);

export function describe(word) {
  return { right: word, ...ACTIONS[word] };
}

/** When a button makes sense: by phase, and by whether somebody paused it by hand. */
export function isOpen(word, status) {
  if (word === "retry") return status === "Degraded";
  if (["abort", "promote", "promoteFull"].includes(word)) return status === "Progressing" || status === "Paused";
  return true;
}

async function send(what, name, path, body) {
  try {
    await put(path, body);
    notice(`${name}: ${what}`);
    return true;
  } catch (refused) {
    const text = refused.status === 403 ? `You may not do that: ${refused.message}` : refused.message;
    notice(`${name}: ${text}`, "bad");
    return false;
  }
}

export async function act(word, namespace, name) {
  const { title, text, done, path, body, isDanger } = ACTIONS[word];
  if (!(await confirm({ title: `${title} ${name}?`, text: `Are you sure? ${text(name)}`, action: title, isDanger }))) return false;
  return send(done, name, `rollouts/${at(namespace, name, path ?? word)}`, body);
}

export async function undo(namespace, name, revision) {
  const text = `Are you sure? The pod template of ${name} becomes that of revision ${revision} again, and a new update begins.`;
  if (!(await confirm({ title: `Roll back to revision ${revision}?`, text, action: "Roll back", isDanger: true }))) return false;
  return send(`rolling back to revision ${revision}`, name, `rollouts/${at(namespace, name, "undo", String(revision))}`);
}

/** Sets images one after the other; those that did not change are left alone. */
export async function setImages(namespace, name, images) {
  const lines = images.map(({ container, image }) => `${container}: ${image}`).join("\n");
  if (!(await confirm({ title: `Set ${images.length === 1 ? "the image" : "images"} of ${name}?`, text: `Are you sure? ${lines}`, action: "Set image" }))) return false;
  for (const { container, image } of images) {
    const colon = image.lastIndexOf(":");
    const path = `rollouts/${at(namespace, name, "set", container, image.slice(0, colon), image.slice(colon + 1))}`;
    if (!(await send(`${container} is set to ${image}`, name, path))) return false;
  }
  return true;
}
