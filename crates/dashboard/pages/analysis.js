// An AnalysisRun: how it went, and every metric with its values.

import { dialog } from "./dialog.js";
import { age, h, put } from "./dom.js";
import { notice } from "./notice.js";
import { badge, shape, tone } from "./phases.js";
import { plot } from "./plot.js";
import { numberOf, thresholds } from "./thresholds.js";
import { yaml } from "./yaml.js";

export function runButton(run, open) {
  const figures = [["successful", "✔"], ["failed", "✖"], ["inconclusive", "?"], ["error", "⚠"]].filter(([name]) => run[name]).map(([name, mark]) => `${mark} ${run[name]}`).join("  ");
  return h("button", { class: `run ${tone(run.status)}`, "data-run": run.objectMeta.name, onclick: open, "aria-label": `Analysis ${run.objectMeta.name}: ${run.status ?? "Pending"}` },
    h("span", { "aria-hidden": "true", class: "shape" }, shape(run.status)), h("span", { class: "run-name" }, run.objectMeta.name), h("span", { class: "quiet small" }, figures));
}

/** How a run went, in one line. */
export function verdict(run) {
  const issues = [["failed", "with measurement failures"], ["error", "with measurement errors"], ["inconclusive", "with inconclusive measurements"]].filter(([name]) => run[name]);
  switch (run.status) {
    case "Successful": return issues.length > 1 ? "Analysis passed with multiple issues" : `Analysis passed${issues.length ? ` ${issues[0][1]}` : ""}`;
    case "Failed": return "Analysis failed";
    case "Error": return "Analysis errored";
    case "Inconclusive": return "Analysis inconclusive";
    case "Running": return "Analysis in progress";
    default: return "Analysis pending";
  }
}

function find(info, name) {
  const inside = (info.experiments ?? []).flatMap((one) => one.analysisRuns ?? []);
  return [...(info.analysisRuns ?? []), ...inside].find((run) => run.objectMeta.name === name);
}

/** `{{args.x}}` filled in. */
function resolved(text, args) {
  return text.replace(/\{\{\s*args\.([\w-]+)\s*\}\}/g, (whole, name) => args.find((arg) => arg.name === name)?.value ?? whole);
}

function requirement(limit, word) {
  return limit > 0 ? `Fewer than ${limit + 1} ${word}.` : `No ${word}.`;
}

function requirements(metric) {
  const number = (value, usual) => (value === undefined ? usual : Number(value));
  const lines = [requirement(number(metric.failureLimit, 0), "measurement failures"), requirement(number(metric.inconclusiveLimit, 0), "inconclusive measurements"),
    requirement(number(metric.consecutiveErrorLimit, 4), "consecutive measurement errors")];
  if (number(metric.consecutiveSuccessLimit, 0) > 0) lines.push(`${metric.consecutiveSuccessLimit} consecutive successes.`);
  return lines;
}

function summaryPane(run, info) {
  const { spec, status } = run.specAndStatus;
  const images = (info.replicaSets ?? []).filter((set) => set.revision === run.revision).flatMap((set) => set.images ?? []);
  const rows = [["Status", verdict(run)], ["Revision", run.revision], ["Images", images.join(", ")], ["Started", status?.startedAt ? `${age(status.startedAt)} ago` : ""],
    ["Message", status?.message], ["Measurements", `${run.successful ?? 0} successful, ${run.failed ?? 0} failed, ${run.inconclusive ?? 0} inconclusive, ${run.error ?? 0} errors`]];
  const args = (spec?.args ?? []).filter((arg) => arg.value !== undefined);
  return h("div", {}, badge(run.status), h("dl", { class: "summary" }, rows.filter(([, value]) => value !== undefined && value !== "").map(([word, value]) => [h("dt", {}, word), h("dd", {}, String(value))])),
    args.length ? [h("h3", {}, "Arguments"), h("pre", {}, yaml(Object.fromEntries(args.map((arg) => [arg.name, arg.value]))))] : undefined);
}

function table(measurements) {
  return h("div", { class: "scroll" }, h("table", { class: "table" }, h("thead", {}, h("tr", {}, ["Time", "Value", "Result", "Message"].map((word) => h("th", { scope: "col" }, word)))),
    h("tbody", {}, measurements.map((one) => h("tr", {}, h("td", {}, (one.startedAt ?? "").slice(11, 19)), h("td", {}, one.value ?? ""), h("td", {}, badge(one.phase)), h("td", {}, one.message ?? ""))))));
}

function metricPane(run, metric, isTable, toggle) {
  const result = (run.specAndStatus.status?.metricResults ?? []).find((one) => one.name === metric.name) ?? {};
  const measurements = result.measurements ?? [];
  const points = measurements.map((one) => ({ time: Date.parse(one.startedAt), value: numberOf(metric, one.value), phase: one.phase })).filter((point) => point.value !== undefined && !Number.isNaN(point.time));
  const lines = thresholds(metric);
  const provider = Object.keys(metric.provider ?? {})[0];
  const asked = metric.provider?.[provider];
  const query = resolved(typeof asked?.query === "string" ? asked.query : yaml(asked ?? {}), run.specAndStatus.spec?.args ?? []);
  const conditions = [["Passes when", metric.successCondition], ["Fails when", metric.failureCondition]].filter(([, text]) => text);
  return h("div", { class: "metric" },
    h("div", { class: "row" }, badge(result.phase ?? "Pending"), result.dryRun ? h("span", { class: "tag" }, "dry run") : undefined, result.message ? h("span", { class: "small" }, result.message) : undefined,
      h("span", { class: "grow" }), points.length ? h("button", { class: "button small", onclick: toggle, "data-toggle": "table" }, isTable ? "Chart" : "Table") : undefined),
    points.length && !isTable ? plot(metric.name, points, lines) : table(measurements),
    h("p", { class: "small" }, `${result.successful ?? 0} successful, ${result.failed ?? 0} failed, ${result.inconclusive ?? 0} inconclusive, ${result.error ?? 0} errors`),
    conditions.map(([word, text]) => h("p", { class: "small" }, `${word}: `, h("code", {}, text))),
    h("h3", {}, "To pass"), h("ul", { class: "small" }, requirements(metric).map((line) => h("li", {}, line))),
    h("div", { class: "row" }, h("h3", {}, `Query (${provider ?? "none"})`), h("button", { class: "button small", onclick: () => navigator.clipboard?.writeText(query).then(() => notice("Copied")) }, "Copy")),
    h("pre", { class: "query", tabindex: "0" }, query));
}

export function analysisDialog(name, latest) {
  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Analysis" });
  const pane = h("div", { role: "tabpanel", tabindex: "0", id: "analysis-pane" });
  let chosen = "";
  let isTable = false;
  let before = "";
  const box = dialog(`Analysis ${name}`, h("div", {}, tabs, pane), { wide: true });

  function show() {
    const info = latest();
    const run = find(info, name);
    if (!run) {
      put(pane, h("p", { class: "quiet" }, "This run was deleted."));
      return;
    }
    const metrics = [...(run.specAndStatus.spec?.metrics ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1));
    const names = ["", ...metrics.map((metric) => metric.name)];
    const select = (tab) => {
      chosen = tab;
      before = "";
      show();
      tabs.querySelector('[aria-selected="true"]')?.focus();
    };
    const text = JSON.stringify([run, chosen, isTable]);
    if (text === before) return;
    before = text;
    put(tabs, names.map((tab, index) => h("button", {
      role: "tab", class: "tab", "aria-selected": String(tab === chosen), tabindex: tab === chosen ? "0" : "-1", "aria-controls": "analysis-pane", "data-tab": tab || "summary",
      onclick: () => select(tab),
      onkeydown: (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (by) select(names[(index + by + names.length) % names.length]);
      },
    }, tab || "Summary")));
    const metric = metrics.find((one) => one.name === chosen);
    put(pane, metric ? metricPane(run, metric, isTable, () => { isTable = !isTable; show(); }) : summaryPane(run, info));
  }
  show();
  document.addEventListener("analysis-news", show);
  box.addEventListener("close", () => document.removeEventListener("analysis-news", show));
}
