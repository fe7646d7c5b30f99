// Values as YAML, for reading and comparing.

function scalar(value) {
  if (typeof value !== "string") return JSON.stringify(value) ?? "null";
  const isPlain = /^[A-Za-z0-9_./@-][A-Za-z0-9_./@: -]*$/.test(value) && !/[: ]$/.test(value) && !value.includes(": ") && !/^(true|false|null|yes|no|on|off|-?[\d.]+([eE].*)?)$/i.test(value) && !value.startsWith("- ") && value !== "-";
  return isPlain ? value : JSON.stringify(value);
}

function lines(value, indent) {
  const pad = "  ".repeat(indent);
  if (Array.isArray(value)) {
    if (!value.length) return [`${pad}[]`];
    return value.flatMap((item) => {
      if (item === null || typeof item !== "object") return [`${pad}- ${scalar(item)}`];
      const inner = lines(item, indent + 1);
      return [`${pad}- ${inner[0].trimStart()}`, ...inner.slice(1)];
    });
  }
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value).sort();
    if (!keys.length) return [`${pad}{}`];
    return keys.flatMap((key) => {
      const item = value[key];
      const isNested = item !== null && typeof item === "object" && Object.keys(item).length;
      return isNested ? [`${pad}${scalar(key)}:`, ...lines(item, Array.isArray(item) ? indent : indent + 1)]
        : [`${pad}${scalar(key)}: ${item !== null && typeof item === "object" ? (Array.isArray(item) ? "[]" : "{}") : scalar(item)}`];
    });
  }
  return [`${pad}${scalar(value)}`];
}

export function yaml(value) {
  return lines(value, 0).join("\n");
}
