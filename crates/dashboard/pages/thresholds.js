// The numbers in a condition that a value is compared with.

const ACCESSORS = {
  prometheus: /^result\[0\]$/, graphite: /^result\[0\]$/, influxdb: /^result\[0\]$/,
  datadog: /^(result|default\(result,\s*0\))$/, wavefront: /^result$/, newRelic: /^result\.[\w.]+$/, web: /^(result|asFloat\(result\)|asInt\(result\))$/,
};

function providerOf(metric) {
  return Object.keys(metric.provider ?? {})[0];
}

/** Thresholds of `accessor op number` joined by && and ||; nothing for conditions of another form. */
export function thresholds(metric) {
  const accessor = ACCESSORS[providerOf(metric)];
  if (!accessor) return [];
  const found = [];
  for (const [condition, kind] of [[metric.successCondition, "success"], [metric.failureCondition, "failure"]]) {
    if (!condition) continue;
    for (const part of condition.split(/&&|\|\|/)) {
      const match = part.trim().match(/^(.+?)\s*(<=|>=|<|>)\s*(-?\d+(?:\.\d+)?)$/);
      if (match && accessor.test(match[1].trim())) found.push({ kind, value: Number(match[3]), text: `${match[2]} ${match[3]}` });
    }
  }
  return found;
}

/** The number in a measurement: `[0.97]`, `0.97`, or, for New Relic, one of several. */
export function numberOf(metric, value) {
  if (value === undefined || value === "") return undefined;
  let parsed;
  try {
    parsed = JSON.parse(value);
  } catch {
    return undefined;
  }
  if (Array.isArray(parsed)) parsed = parsed[0];
  else if (parsed !== null && typeof parsed === "object") {
    const key = (metric.successCondition ?? metric.failureCondition ?? "").match(/result\.(\w+)/)?.[1];
    parsed = parsed[key] ?? Object.values(parsed).find((one) => typeof one === "number");
  }
  return typeof parsed === "number" && Number.isFinite(parsed) ? parsed : undefined;
}

/** The top of a chart: a fifth above the largest value or threshold; 1 for shares without thresholds. */
export function top(values, lines) {
  const most = Math.max(...values, ...lines.map((line) => line.value));
  if (!lines.length && values.every((value) => value < 1)) return 1;
  return Math.round(most * 1.2 * 100) / 100 || 1;
}
