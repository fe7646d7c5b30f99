// The server: questions, changes, streams.

const RETRY_FIRST = 500;
const RETRY_MOST = 5000;

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function place(path) {
  return new URL(`api/v1/${path}`, document.baseURI).href;
}

export function at(...parts) {
  return parts.map(encodeURIComponent).join("/");
}

async function ask(method, path, body) {
  let answer;
  try {
    answer = await fetch(place(path), {
      method,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refused(0, "the dashboard does not answer");
  }
  const text = await answer.text();
  let value = {};
  try {
    value = text ? JSON.parse(text) : {};
  } catch {
    throw new Refused(answer.status, `the answer cannot be read (status ${answer.status})`);
  }
  if (!answer.ok) {
    const refused = new Refused(answer.status, value.message ?? `status ${answer.status}`);
    if (answer.status === 401) window.dispatchEvent(new CustomEvent("logged-out"));
    throw refused;
  }
  return value;
}

export const get = (path) => ask("GET", path);
export const put = (path, body) => ask("PUT", path, body ?? {});
export const post = (path, body) => ask("POST", path, body ?? {});
export const remove = (path) => ask("DELETE", path);

/** A stream that comes back by itself, and rests while nobody looks at the page. */
export class Stream {
  constructor(path, { message, down, up, over }) {
    this.path = path;
    this.handlers = { message, down, up, over };
    this.wait = RETRY_FIRST;
    this.looked = () => (document.hidden ? this.rest() : this.open());
    document.addEventListener("visibilitychange", this.looked);
    this.open();
  }

  open() {
    if (this.source || this.isOver || document.hidden) return;
    clearTimeout(this.timer);
    this.source = new EventSource(place(this.path));
    this.source.onopen = () => {
      this.wait = RETRY_FIRST;
      this.handlers.up?.();
    };
    this.source.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.error) {
        const over = this.handlers.over;
        this.rest();
        if (over?.(message.error)) this.close();
        else this.again();
        return;
      }
      this.handlers.message(message);
    };
    this.source.onerror = () => {
      this.rest();
      this.handlers.down?.();
      this.again();
    };
  }

  again() {
    clearTimeout(this.timer);
    if (this.isOver) return;
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, RETRY_MOST);
  }

  rest() {
    this.source?.close();
    this.source = undefined;
  }

  close() {
    this.isOver = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.looked);
    this.rest();
  }
}
