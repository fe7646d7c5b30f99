// Elements from code: text never becomes markup, so nothing a cluster says can become script.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else if (name === "value") node.value = value;
    else if (name === "width%") node.style.width = `${value}%`;
    else if (name === "left%") node.style.left = `${value}%`;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function put(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

/** Sets an attribute or takes it away, and touches nothing that is so already. */
export function mark(node, name, value) {
  const text = value === true ? "" : value;
  if (value === undefined || value === null || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(text)) node.setAttribute(name, text);
}

export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A moment as an age: 3m, 2h, 5d. */
export function age(moment, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - Date.parse(moment)) / 1000));
  if (Number.isNaN(seconds)) return "";
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}
