// The page of one reconstruction: progress, live picture, charts, log, controls.
import { bytesText, getJson, make, postJson, request, secondsText } from "./api.js";
import { Charts } from "./charts.js";

const $ = (id) => document.getElementById(id);
const id = new URLSearchParams(location.search).get("id") || "";
const path = `/v1/reconstructions/${encodeURIComponent(id)}`;
const charts = new Charts($("charts"));
const ENDED = ["succeeded", "failed", "cancelled"];
let row = null;

const showProblem = (error) => ($("problem").textContent = error ? error.message : "");

function numbersText(p) {
  const parts = [];
  if (p.steps) parts.push(`step ${p.step} of ${p.steps}`);
  if (p.step_ms) parts.push(`${(1000 / p.step_ms).toFixed(1)} steps/s`);
  if (p.splats) parts.push(`${p.splats.toLocaleString()} splats`);
  if (p.psnr_db) parts.push(`held-out PSNR ${p.psnr_db.toFixed(2)} dB`);
  if (row.state === "running" && p.eta_s >= 0) parts.push(`${secondsText(p.eta_s)} left`);
  if (row.result && row.result.psnr_db) {
    parts.push(
      `result ${row.result.psnr_db.toFixed(2)} dB after ${secondsText(row.result.seconds)}`,
    );
    parts.push(bytesText(row.result.file_bytes));
  }
  return parts.join(" - ");
}

function showButtons() {
  const allowed = {
    pause: ["queued", "running"],
    resume: ["paused", "failed", "cancelled"],
    publish: ["running", "paused"],
    cancel: ["queued", "running", "paused"],
  };
  for (const [name, states] of Object.entries(allowed))
    $(name).disabled = !states.includes(row.state);
}

function showRow(next) {
  row = { ...row, ...next };
  const p = row.progress || {};
  $("name").textContent = `${row.id}: ${row.recording} to ${row.scene}`;
  document.title = `${row.id} ${row.state} - Retake`;
  $("state").textContent = row.state;
  $("state").className = `state ${row.state}`;
  $("phase").textContent = [row.state === "running" ? row.phase : "", row.requested, row.reason]
    .filter(Boolean)
    .join(" - ");
  $("progress").value = row.state === "succeeded" ? 1 : p.fraction || 0;
  $("numbers").textContent = numbersText(p);
  $("scene-link").href = `/scene.html?scene=${encodeURIComponent(row.live_scene || row.scene)}`;
  showButtons();
}

function showPreview(step) {
  const img = new Image();
  img.onload = () => ($("preview").src = img.src);
  img.src = `${path}/preview.jpg?w=640&step=${step}`;
}

let chartTimer = 0;
function showCharts() {
  if (chartTimer) return; // at most one request per second
  chartTimer = setTimeout(async () => {
    chartTimer = 0;
    try {
      await charts.show(await getJson(`${path}/metrics?max_points=500`));
    } catch (error) {
      if (error.status !== 404) showProblem(error);
    }
  }, 1000);
}

async function showFiles() {
  const artifacts = await getJson(`${path}/artifacts`);
  $("artifacts").replaceChildren(
    ...artifacts.items.map((file) =>
      make(
        "li",
        {},
        make("a", { href: `${path}/artifacts/${file.name}`, download: file.name }, file.name),
        ` ${bytesText(file.bytes)}`,
      ),
    ),
  );
}

function showRequest() {
  const rows = [["preset", row.preset], ...Object.entries(row.config || {})];
  $("config").replaceChildren(
    make(
      "tbody",
      {},
      ...rows.map(([name, value]) =>
        make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, String(value))),
      ),
    ),
  );
}

function addLog(text) {
  const log = $("log");
  const atEnd = log.scrollTop + log.clientHeight > log.scrollHeight - 8;
  log.textContent = `${log.textContent}${text}\n`.slice(-60000);
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function listen() {
  const events = new EventSource(`${path}/events`);
  const on = (name, work) => events.addEventListener(name, (event) => work(JSON.parse(event.data)));
  on("state", showRow);
  on("gap", showRow);
  on("progress", (progress) => {
    showRow({ progress });
    showCharts();
  });
  on("eval", showCharts);
  on("preview", (preview) => showPreview(preview.step));
  on("log", (line) => addLog(line.text));
  on("done", (last) => {
    events.close();
    showRow(last);
    showPreview("last");
    showCharts();
    showFiles().catch(showProblem);
  });
}

function control(name, body) {
  $(name).addEventListener("click", async () => {
    try {
      showProblem(null);
      const action = name === "publish" ? "cancel" : name;
      showRow(await (await postJson(`${path}/${action}`, body)).json());
      if (name === "resume") listen();
    } catch (error) {
      showProblem(error);
    }
  });
}

async function start() {
  control("pause", {});
  control("resume", {});
  control("cancel", {});
  control("publish", { publish: true });
  showRow(await getJson(path));
  showRequest();
  showPreview("first");
  showCharts();
  showFiles().catch(() => {});
  try {
    const text = await (await request(`${path}/log?tail=200`)).text();
    $("log").textContent = text;
  } catch {
    // No log yet.
  }
  if (!ENDED.includes(row.state)) listen();
}

start().catch(showProblem);
