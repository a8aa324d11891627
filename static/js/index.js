// The first page: scenes, reconstructions, recordings, uploads.
import {
  bytesText,
  getJson,
  make,
  postJson,
  putFile,
  request,
  scenePath,
  secondsText,
} from "./api.js";
import { openStart } from "./start.js";

const $ = (id) => document.getElementById(id);
const SCENE_ENDINGS = [".retake", ".ply", ".splat", ".spz"];
const RECORDING_ENDINGS = [".zip", ".tar", ".tar.gz", ".tgz"];

export function showProblem(error) {
  $("problem").textContent = error ? error.message : "";
}

const act = (work) => async () => {
  try {
    showProblem(null);
    await work();
  } catch (error) {
    showProblem(error);
  }
  refresh();
};

function sceneCard(row) {
  const path = scenePath(row.id);
  const picture =
    row.state === "failed"
      ? null
      : make("img", {
          src: `${path}/frames/default/0.jpg?w=480&v=${encodeURIComponent(row.version || "")}`,
          alt: `view of ${row.name || row.id}`,
          loading: "lazy",
        });
  const loaded = row.state === "loaded";
  return make(
    "article",
    { class: "card", "data-scene": row.id },
    make("a", { href: `/scene.html?scene=${encodeURIComponent(row.id)}` }, picture || "open"),
    make(
      "div",
      { class: "text" },
      make("h3", {}, row.name || row.id),
      make(
        "p",
        { class: "quiet" },
        `${row.id} - ${(row.splats || 0).toLocaleString()} splats, ${bytesText(row.file_bytes)}` +
          (row.device_bytes ? `, ${bytesText(row.device_bytes)} in memory` : ""),
      ),
      make(
        "div",
        { class: "row" },
        make(
          "span",
          { class: `state ${row.state}`, title: row.reason || "" },
          row.live ? "training" : row.state,
        ),
        make(
          "button",
          {
            "aria-label": `${loaded ? "unload" : "load"} ${row.id}`,
            onclick: act(() => postJson(`${path}/${loaded ? "unload" : "load"}`, {})),
          },
          loaded ? "unload" : "load",
        ),
        make(
          "button",
          {
            "aria-label": `delete ${row.id}`,
            onclick: act(async () => {
              if (confirm(`Delete the scene ${row.id} from disk?`))
                await request(path, { method: "DELETE" });
            }),
          },
          "delete",
        ),
      ),
    ),
  );
}

function table(node, names, rows, empty) {
  const head = make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)));
  const body = rows.length
    ? rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))))
    : [make("tr", {}, make("td", { colspan: names.length, class: "quiet" }, empty))];
  node.replaceChildren(make("thead", {}, head), make("tbody", {}, ...body));
}

function jobRow(row) {
  const progress = row.progress || {};
  const percent = Math.round(100 * (progress.fraction || 0));
  return [
    make("a", { href: `/reconstruction.html?id=${encodeURIComponent(row.id)}` }, row.id),
    make("span", { class: `state ${row.state}` }, row.state),
    row.recording,
    row.scene,
    row.state === "running"
      ? `${percent} %, ${secondsText(progress.eta_s)} left`
      : row.reason || "",
    row.result && row.result.psnr_db ? `${row.result.psnr_db.toFixed(2)} dB` : "",
  ];
}

function recordingRow(row) {
  return [
    row.id,
    row.format || "",
    String(row.frames ?? ""),
    bytesText(row.bytes),
    make("button", { onclick: () => openStart(row.id, showProblem) }, "reconstruct"),
    make(
      "button",
      {
        "aria-label": `delete recording ${row.id}`,
        onclick: act(async () => {
          if (!confirm(`Delete the recording ${row.id}?`)) return;
          await request(`/v1/recordings/${encodeURIComponent(row.id)}`, { method: "DELETE" });
        }),
      },
      "delete",
    ),
  ];
}

let shownScenes = "";

function showScenes(items) {
  const wanted = $("search").value.trim().toLowerCase();
  const rows = items.filter((row) => `${row.id} ${row.name || ""}`.toLowerCase().includes(wanted));
  const key = JSON.stringify(
    rows.map((r) => [r.id, r.name, r.state, r.version, r.live, r.device_bytes]),
  );
  $("no-scenes").hidden = rows.length > 0;
  if (key === shownScenes) return; // keeps focus and pictures where nothing changed
  shownScenes = key;
  $("scenes").replaceChildren(...rows.map(sceneCard));
}

let timer = 0;

export async function refresh() {
  clearTimeout(timer);
  let delay = 10000;
  try {
    const [scenes, jobs, recordings, devices] = await Promise.all(
      ["scenes?limit=1000", "reconstructions?limit=50", "recordings", "devices"].map((name) =>
        getJson(`/v1/${name}`),
      ),
    );
    showScenes(scenes.items);
    table(
      $("reconstructions"),
      ["job", "state", "recording", "scene", "progress", "held-out PSNR"],
      jobs.items.map(jobRow),
      "none yet",
    );
    table(
      $("recordings"),
      ["recording", "format", "frames", "size", "", ""],
      recordings.items.map(recordingRow),
      "none yet",
    );
    const device = (devices.items || devices)[0];
    $("device").textContent = device
      ? `${device.id}: ${bytesText(device.bytes.scenes)} of scenes in memory`
      : "";
    const busy =
      jobs.items.some((row) => ["queued", "running"].includes(row.state)) ||
      scenes.items.some((row) => ["loading", "unloading"].includes(row.state));
    if (busy) delay = 2000;
  } catch (error) {
    showProblem(error);
    delay = 3000;
  }
  timer = setTimeout(refresh, delay);
}

function suggestId(name) {
  const stem = name.replace(/\.(tar\.gz|[^.]*)$/, "");
  return (
    stem
      .replace(/[^A-Za-z0-9_-]+/g, "-")
      .replace(/^[^A-Za-z0-9]+/, "")
      .slice(0, 64) || "upload"
  );
}

async function upload() {
  const file = $("file").files[0];
  if (!file) throw new Error("Choose a file first.");
  const name = file.name.toLowerCase();
  const isScene = SCENE_ENDINGS.some((ending) => name.endsWith(ending));
  if (!isScene && !RECORDING_ENDINGS.some((ending) => name.endsWith(ending))) {
    throw new Error(
      `${file.name}: the name must end in ${[...SCENE_ENDINGS, ...RECORDING_ENDINGS].join(" ")}`,
    );
  }
  const id = $("upload-id").value.trim() || suggestId(file.name);
  const format = name.endsWith(".splat") ? "?format=splat" : "";
  const bar = $("upload-progress");
  bar.hidden = false;
  try {
    const kind = isScene ? "scenes" : "recordings";
    await putFile(
      `/v1/${kind}/${encodeURIComponent(id)}${format}`,
      file,
      (part) => (bar.value = part),
    );
    if (!isScene) openStart(id, showProblem);
  } finally {
    bar.hidden = true;
    bar.value = 0;
  }
}

function listenDrop() {
  const zone = $("drop");
  const stop = (event) => event.preventDefault();
  zone.addEventListener("dragover", (event) => {
    stop(event);
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    stop(event);
    zone.classList.remove("over");
    $("file").files = event.dataTransfer.files;
    $("file").dispatchEvent(new Event("change"));
  });
  $("file").addEventListener("change", () => {
    const file = $("file").files[0];
    if (file) $("upload-id").value = suggestId(file.name);
  });
}

$("upload").addEventListener("click", act(upload));
$("search").addEventListener("input", () => refresh());
listenDrop();
refresh();
