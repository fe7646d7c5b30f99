// Measured values over time, with the thresholds they are held to.

import { s } from "./dom.js";
import { top } from "./thresholds.js";

const HIGH = 220;
const LEFT = 52;
const RIGHT = 12;
const BOTTOM = 26;
const MARKS = { Successful: "good", Failed: "bad", Error: "bad", Inconclusive: "held" };

function rounded(number) {
  return String(Math.round(number * 1000) / 1000);
}

/** `points` have a time, a number and a phase. */
export function plot(name, points, lines) {
  // Letters keep their size, so a narrow page gets a narrower drawing.
  const wide = window.innerWidth < 640 ? 360 : 680;
  const values = points.map((point) => point.value);
  const high = top(values, lines);
  const low = Math.min(0, ...values);
  const [first, last] = [points[0].time, points.at(-1).time];
  const x = (time) => (last === first ? (wide + LEFT) / 2 : LEFT + ((time - first) / (last - first)) * (wide - LEFT - RIGHT));
  const y = (value) => 8 + (1 - (value - low) / (high - low)) * (HIGH - BOTTOM - 8);
  const ticks = [low, (low + high) / 2, high];
  const clock = (time) => new Date(time).toISOString().slice(11, 19);
  return s("svg", { viewBox: `0 0 ${wide} ${HIGH}`, class: "chart plot", role: "img", "aria-label": `${name}: ${points.length} measurements, the last is ${rounded(values.at(-1))}` },
    ticks.map((value) => [s("line", { class: "grid-line", x1: LEFT, x2: wide - RIGHT, y1: y(value), y2: y(value) }),
      s("text", { class: "axis", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, rounded(value))]),
    lines.map((line) => [s("line", { class: `threshold ${line.kind}`, x1: LEFT, x2: wide - RIGHT, y1: y(line.value), y2: y(line.value) }),
      s("text", { class: `axis threshold-text ${line.kind}`, x: wide - RIGHT, y: y(line.value) - 4, "text-anchor": "end" }, `${line.kind} ${line.text}`)]),
    s("polyline", { class: "line-actual", points: points.map((point) => `${x(point.time).toFixed(1)},${y(point.value).toFixed(1)}`).join(" ") }),
    points.map((point) => s("circle", { class: `point ${MARKS[point.phase] ?? "calm"}`, cx: x(point.time), cy: y(point.value), r: 4 },
      s("title", {}, `${clock(point.time)}: ${rounded(point.value)} ${point.phase}`))),
    s("text", { class: "axis", x: LEFT, y: HIGH - 6 }, clock(first)),
    s("text", { class: "axis", x: wide - RIGHT, y: HIGH - 6, "text-anchor": "end" }, clock(last)));
}
