// Weights over time: what was asked for, what there was.

import { h, put, s } from "./dom.js";
import { at, get } from "./server.js";

const WIDE = 320;
const HIGH = 110;
const LEFT = 30;
const BOTTOM = 18;
const TICK = 2000;

function path(points, value, x, y, end) {
  let line = "";
  points.forEach((point, index) => {
    line += index === 0 ? `M${x(point[0])},${y(value(point))}` : `H${x(point[0])}V${y(value(point))}`;
  });
  return `${line}H${end}`;
}

export function weightsSection(route) {
  const place = h("div", {});
  const node = h("section", { class: "panel", id: "weights", "aria-labelledby": "weights-title", hidden: true },
    h("h2", { id: "weights-title" }, "Weight over time"), place,
    h("p", { class: "legend small" }, h("span", { class: "key actual" }, "actual"), h("span", { class: "key asked" }, "set")));
  let points = [];
  let skew = 0;
  let timer;
  let last = "";

  function draw() {
    if (!points.length) return;
    const now = Date.now() + skew;
    const start = Math.min(points[0][0], now - 60000);
    const most = Math.max(100, ...points.map((point) => Math.max(point[1], point[2])));
    const x = (time) => (LEFT + ((time - start) / (now - start)) * (WIDE - LEFT - 4)).toFixed(1);
    const y = (weight) => (6 + (1 - weight / most) * (HIGH - BOTTOM - 6)).toFixed(1);
    const minutes = Math.round((now - start) / 60000);
    const grid = [0, most / 2, most].map((weight) => [
      s("line", { class: "grid-line", x1: LEFT, x2: WIDE - 4, y1: y(weight), y2: y(weight) }),
      s("text", { class: "axis", x: LEFT - 4, y: Number(y(weight)) + 4, "text-anchor": "end" }, String(Math.round(weight))),
    ]);
    const latest = points.at(-1);
    put(place, s("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "chart", role: "img", "aria-label": `Weight: set to ${latest[1]}%, actually ${latest[2]}%` },
      grid,
      s("path", { class: "line-set", d: path(points, (point) => point[1], x, y, WIDE - 4) }),
      s("path", { class: "line-actual", d: path(points, (point) => point[2], x, y, WIDE - 4) }),
      s("text", { class: "axis", x: LEFT, y: HIGH - 3 }, `${minutes} min ago`),
      s("text", { class: "axis", x: WIDE - 4, y: HIGH - 3, "text-anchor": "end" }, "now")));
  }

  async function begin() {
    try {
      const answer = await get(`rollouts/${at(route.namespace, route.name)}/weights`);
      skew = answer.now - Date.now();
      points = answer.weights.filter((point) => !points.length || point[0] < points[0][0]).concat(points);
      draw();
    } catch {
      // What comes from now on is shown.
    }
  }
  begin();
  timer = setInterval(() => document.hidden || draw(), TICK);
  return {
    node,
    update(info) {
      node.hidden = info.strategy !== "Canary";
      if (node.hidden) return;
      const [set, actual] = [Number(info.setWeight), Number(info.actualWeight)];
      const text = `${set}/${actual}`;
      if (text !== last) {
        last = text;
        points.push([Date.now() + skew, set, actual]);
        if (points.length > 500) points.shift();
      }
      draw();
    },
    end() {
      clearInterval(timer);
    },
  };
}
