// Asks for the numbers once a second and draws them. Versions keep their colour as long as the page is open.
const COLOURS = 5;
const RECENT = 10;
const colours = new Map();
const byId = (id) => document.getElementById(id);

function colour(version) {
  if (version === "no pod") return "unreached";
  if (!colours.has(version)) colours.set(version, `v${colours.size % COLOURS}`);
  return colours.get(version);
}

function element(name, text, cssClass) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (cssClass) made.className = cssClass;
  return made;
}

function recent(seconds) {
  const sums = new Map();
  for (const second of seconds.slice(-RECENT)) {
    for (const [version, [good, failed]] of Object.entries(second)) {
      const [g, f] = sums.get(version) ?? [0, 0];
      sums.set(version, [g + good, f + failed]);
    }
  }
  return sums;
}

function percent(part, whole) {
  return whole ? `${(100 * part / whole).toFixed(part && part < whole / 100 ? 1 : 0)} %` : "–";
}

function drawBar(sums, all) {
  const parts = [...sums].map(([version, [good, failed]]) => {
    const part = element("div", `${version} · ${percent(good + failed, all)}`, colour(version));
    part.style.flexGrow = good + failed;
    part.style.flexBasis = "0";
    return part;
  });
  byId("bar").replaceChildren(...parts);
}

function drawTable(sums, all, totals) {
  const rows = Object.entries(totals).map(([version, [good, failed]]) => {
    const row = element("tr");
    const name = element("td");
    name.append(element("span", "", `swatch ${colour(version)}`), version);
    const [g, f] = sums.get(version) ?? [0, 0];
    const mark = (count) => (count ? "failed" : "");
    row.append(name, element("td", percent(g + f, all)), element("td", String(f), mark(f)),
      element("td", (good + failed).toLocaleString()), element("td", failed.toLocaleString(), mark(failed)));
    return row;
  });
  byId("versions").replaceChildren(...rows);
}

function drawChart(seconds) {
  const sum = (second) => Object.values(second).reduce((all, [good, failed]) => all + good + failed, 0);
  const most = Math.max(1, ...seconds.map(sum));
  const made = [];
  seconds.forEach((second, index) => {
    const x = 120 - seconds.length + index;
    let y = 40;
    const add = (count, cssClass) => {
      if (!count) return;
      const height = 38 * count / most;
      y -= height;
      const part = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      Object.entries({ x, y, width: 1.02, height, class: cssClass }).forEach(([key, value]) => part.setAttribute(key, value));
      made.push(part);
    };
    Object.entries(second).forEach(([version, [good]]) => add(good, colour(version)));
    Object.values(second).forEach(([, failed]) => add(failed, "bad"));
  });
  byId("chart").replaceChildren(...made);
}

function draw({ totals, seconds }) {
  const sums = recent(seconds);
  const all = [...sums.values()].reduce((count, [good, failed]) => count + good + failed, 0);
  const failed = [...sums.values()].reduce((count, one) => count + one[1], 0);
  byId("summary").textContent = all
    ? `${Math.round(all / Math.min(RECENT, seconds.length))} requests a second, ${failed} failed in the last ten seconds`
    : "No requests in the last ten seconds";
  drawBar(sums, all);
  drawTable(sums, all, totals);
  drawChart(seconds);
}

async function look() {
  try {
    draw(await (await fetch("/.playground/mix")).json());
  } catch {
    byId("summary").textContent = "The playground does not answer; it may have ended. Trying again…";
  }
  setTimeout(look, 1000);
}

look();
