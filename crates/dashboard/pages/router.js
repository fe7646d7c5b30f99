// Which page an address shows. Every address carries the namespace, so that links can be passed on.

const listeners = new Set();

function below() {
  const base = new URL(document.baseURI).pathname;
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : "";
  return path.split("/").filter(Boolean).map(decodeURIComponent);
}

export function current() {
  const parts = below();
  const query = new URLSearchParams(location.search);
  if (parts[0] === "rollout" && parts.length >= 3) return { page: "rollout", namespace: parts[1], name: parts[2], query };
  if (parts[0] === "rollout" && parts.length === 2) return { page: "rollout", namespace: undefined, name: parts[1], query };
  return { page: "list", namespace: parts[0], query };
}

export function address(route) {
  const parts = route.page === "rollout" ? ["rollout", route.namespace, route.name] : [route.namespace].filter(Boolean);
  const query = route.query?.toString();
  return new URL(parts.map(encodeURIComponent).join("/") + (query ? `?${query}` : ""), document.baseURI).href;
}

export function go(route, { replace } = {}) {
  const where = address(route);
  if (where === location.href) return;
  if (replace) history.replaceState(null, "", where);
  else history.pushState(null, "", where);
  if (!route.isQuiet) listeners.forEach((tell) => tell(current()));
}

/** Changes the query without another page. */
export function note(query) {
  const route = current();
  go({ ...route, query, isQuiet: true }, { replace: true });
}

export function listen(tell) {
  listeners.add(tell);
  window.addEventListener("popstate", () => tell(current()));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-route]");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    if (link.href !== location.href) {
      history.pushState(null, "", link.href);
      tell(current());
    }
  });
}
