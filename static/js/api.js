// Requests to the server. Every problem+json becomes an Error whose message a person can act on.

export class Problem extends Error {
  constructor(problem, status) {
    const faults = (problem.errors || []).map((e) => `${e.pointer}: ${e.message}`);
    const findings = (problem.findings || []).map((f) => f.message);
    super([problem.detail || problem.title || `HTTP ${status}`, ...faults, ...findings].join("\n"));
    this.problem = problem;
    this.status = status;
  }
}

async function fail(response) {
  let problem = {};
  try {
    problem = await response.json();
  } catch {
    problem = { detail: `the server answered ${response.status}` };
  }
  throw new Problem(problem, response.status);
}

export async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ detail: "the server does not answer" }, 0);
  }
  if (!response.ok) await fail(response);
  return response;
}

export async function getJson(path) {
  return (await request(path)).json();
}

export async function postJson(path, body, options = {}) {
  return request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    ...options,
  });
}

// Uploads one file with progress in 0...1 (fetch cannot report it).
export function putFile(path, file, progress) {
  return new Promise((resolve, reject) => {
    const upload = new XMLHttpRequest();
    upload.open("PUT", path);
    upload.upload.onprogress = (event) =>
      event.lengthComputable && progress(event.loaded / event.total);
    upload.onerror = () => reject(new Problem({ detail: "the upload was cut" }, 0));
    upload.onload = () => {
      if (upload.status < 300) return resolve(JSON.parse(upload.responseText || "{}"));
      let problem = {};
      try {
        problem = JSON.parse(upload.responseText);
      } catch {
        problem = { detail: `the server answered ${upload.status}` };
      }
      return reject(new Problem(problem, upload.status));
    };
    upload.send(file);
  });
}

export const scenePath = (id) => `/v1/scenes/${encodeURIComponent(id)}`;

export function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  while (bytes >= 1000 && i < units.length - 1) {
    bytes /= 1000;
    i += 1;
  }
  return `${bytes.toFixed(i && bytes < 100 ? 1 : 0)} ${units[i]}`;
}

export function secondsText(seconds) {
  if (!(seconds >= 0)) return "";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

// An element with attributes and children; text is always text, never markup.
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
