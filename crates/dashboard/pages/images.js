// Containers and their images, and changing them.

import { setImages } from "./actions.js";
import { h, put } from "./dom.js";

export function imagesSection(route, session) {
  const place = h("div", {});
  const node = h("section", { class: "panel", id: "images", "aria-labelledby": "images-title" }, h("h2", { id: "images-title" }, "Containers"), place);
  let info = {};
  let isEditing = false;
  let before = "";

  function line({ name, image }, word) {
    return h("div", { class: "container" }, h("span", { class: "quiet small" }, word ? `${name} (${word})` : name), h("code", {}, image));
  }

  function show() {
    const init = info.initContainers ?? [];
    const edit = session.isReadOnly ? undefined : h("button", { class: "button small", id: "edit-images", onclick: () => { isEditing = true; form(); } }, "Edit");
    put(place, (info.containers ?? []).map((one) => line(one)), init.map((one) => line(one, "init")), h("div", { class: "row end" }, edit));
  }

  function form() {
    const all = [...(info.containers ?? []), ...(info.initContainers ?? [])];
    const known = [...new Set((info.replicaSets ?? []).flatMap((set) => [...(set.images ?? []), ...(set.initContainerImages ?? [])]))];
    const problem = h("p", { class: "problem small", role: "alert" });
    const fields = all.map((one, index) => ({ one, input: h("input", { id: `image-${index}`, list: "known-images", value: one.image, spellcheck: "false", "data-container": one.name }) }));
    const done = () => {
      isEditing = false;
      show();
      node.querySelector("#edit-images")?.focus();
    };
    put(place, h("form", {
      class: "edit",
      onsubmit: async (event) => {
        event.preventDefault();
        const changed = fields.map(({ one, input }) => ({ container: one.name, image: input.value.trim(), before: one.image })).filter((one) => one.image !== one.before);
        const bad = changed.find((one) => !one.image.slice(one.image.lastIndexOf("/") + 1).includes(":"));
        if (bad) {
          problem.textContent = `${bad.image || "The image"}: a tag or a digest is needed, such as ${bad.before.split(":")[0]}:1.2`;
          return;
        }
        if (!changed.length || (await setImages(route.namespace, route.name, changed))) done();
      },
    },
    h("datalist", { id: "known-images" }, known.map((image) => h("option", { value: image }))),
    fields.map(({ one, input }) => h("div", { class: "edit-line" }, h("label", { for: input.id, class: "small" }, one.name), input)),
    problem,
    h("div", { class: "row end" }, h("button", { class: "button small", type: "button", onclick: done }, "Cancel"),
      h("button", { class: "button small primary", type: "submit", id: "save-images" }, "Save"))));
    fields[0]?.input.focus();
  }

  return {
    node,
    update(now) {
      info = now;
      const text = JSON.stringify([now.containers, now.initContainers]);
      if (isEditing || text === before) return;
      before = text;
      show();
    },
  };
}
