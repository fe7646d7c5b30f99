// Favourites, kept in this browser: by namespace and name. Names alone, as older dashboards keep them, count too.

const KEY = "rolloutsFavorites";

function read() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

export function isFavourite(namespace, name) {
  const all = read();
  return all[`${namespace}/${name}`] ?? all[name] ?? false;
}

export function toggleFavourite(namespace, name) {
  const all = read();
  const is = !isFavourite(namespace, name);
  if (is) all[`${namespace}/${name}`] = true;
  else {
    delete all[`${namespace}/${name}`];
    delete all[name];
  }
  localStorage.setItem(KEY, JSON.stringify(all));
  return is;
}
