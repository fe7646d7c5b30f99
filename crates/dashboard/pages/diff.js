// What differs between two texts, line by line.

const MOST = 3000;

/** Lines as [" ", text], ["-", text] or ["+", text]. */
export function diff(before, after) {
  const [a, b] = [before.split("\n").slice(0, MOST), after.split("\n").slice(0, MOST)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const wide = y.length + 1;
  const longest = new Uint16Array((x.length + 1) * wide);
  for (let i = x.length - 1; i >= 0; i -= 1) {
    for (let j = y.length - 1; j >= 0; j -= 1) {
      longest[i * wide + j] = x[i] === y[j] ? longest[(i + 1) * wide + j + 1] + 1 : Math.max(longest[(i + 1) * wide + j], longest[i * wide + j + 1]);
    }
  }
  const middle = [];
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      middle.push([" ", x[i]]);
      i += 1;
      j += 1;
    } else if (i < x.length && (j >= y.length || longest[(i + 1) * wide + j] >= longest[i * wide + j + 1])) middle.push(["-", x[i++]]);
    else middle.push(["+", y[j++]]);
  }
  return [...a.slice(0, start).map((line) => [" ", line]), ...middle, ...a.slice(a.length - end).map((line) => [" ", line])];
}

/** Only what differs and a few lines around it; what is left out becomes one line. */
export function shortened(lines, around = 3) {
  const near = lines.map(() => false);
  lines.forEach(([kind], index) => {
    if (kind === " ") return;
    for (let at = Math.max(0, index - around); at <= Math.min(lines.length - 1, index + around); at += 1) near[at] = true;
  });
  const short = [];
  lines.forEach((line, index) => {
    if (near[index]) short.push(line);
    else if (short.at(-1)?.[0] !== "…") short.push(["…", ""]);
  });
  return short;
}
