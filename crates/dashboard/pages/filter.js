// Which rollouts a search finds.

/** One term: `text`, `"text"`, `!text`, `!"text"`, `key:value`, `key:"value"`. */
function term(text) {
  const isNot = text.startsWith("!");
  const rest = isNot ? text.slice(1) : text;
  const colon = rest.indexOf(":");
  if (!isNot && colon > 0) {
    const [key, value] = [rest.slice(0, colon).trim(), rest.slice(colon + 1).trim()];
    const exact = quoted(value);
    return (rollout) => {
      const label = rollout.labels?.[key];
      if (label === undefined) return false;
      return exact === undefined ? label.includes(value) : label === exact;
    };
  }
  const exact = quoted(rest);
  const finds = (rollout) => (exact === undefined ? rollout.name.includes(rest) : rollout.name === exact);
  return isNot ? (rollout) => !finds(rollout) : finds;
}

function quoted(text) {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : undefined;
}

/** Terms are separated by commas; any that matches is enough. */
export function search(text) {
  const terms = text.split(",").map((part) => part.trim()).filter(Boolean).map(term);
  return (rollout) => terms.length === 0 || terms.some((matches) => matches(rollout));
}
