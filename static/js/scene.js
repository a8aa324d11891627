// The scene page: a free camera or a recorded one, over plain picture requests.
import { getJson, make, postJson, request, scenePath } from "./api.js";
import { FreeCamera } from "./camera.js";
import { fillHelp, listenKeys, listenPointer } from "./input.js";
import { PictureLoop } from "./picture.js";
import * as P from "./pose.js";

const $ = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);
const sceneId = query.get("scene") || "";
const VISUALS = {
  depth: { colormap: "turbo", min: 0, max: 1 },
  alpha: { colormap: "gray", min: 0, max: 1 },
  splat_count: { colormap: "viridis", min: 0, max: 200 },
};

let scene = null;
let cameras = [];
let camera = null; // FreeCamera
let sensor = null; // recorded camera, or null while free
let frame = 0;
let loop = null;

// Output size in device pixels, no larger than the server needs to be asked for.
function outputSize(scale) {
  const box = $("picture").parentElement.getBoundingClientRect();
  const ratio = Math.min(window.devicePixelRatio || 1, 1920 / Math.max(box.width, box.height, 1));
  return [
    Math.max(16, Math.round(box.width * ratio * scale)),
    Math.max(16, Math.round(box.height * ratio * scale)),
  ];
}

function visual() {
  const output = $("output").value;
  if (output === "rgb") return null;
  const shown = { ...VISUALS[output] };
  if (output === "depth") shown.max = Number((2 * camera.reach).toPrecision(3));
  return shown;
}

function freeRequest(size, quality) {
  return {
    fov_y_deg: camera.fovDeg,
    size_px: size,
    T_world_sensor: camera.pose,
    outputs: [$("output").value],
    visual: visual(),
    format: "jpeg",
    quality,
  };
}

function framePath(scale) {
  const native = sensor.camera;
  const parameters = new URLSearchParams();
  const view = $("view").value;
  if (scale < 1) parameters.set("w", Math.max(16, Math.round(native.width_px * scale)));
  if (view !== "rendered") parameters.set("view", view);
  else if ($("output").value !== "rgb") {
    parameters.set("output", $("output").value);
    for (const [name, value] of Object.entries(visual())) parameters.set(name, value);
  }
  const at = sensor.frames && sensor.frames.count ? `f${frame}` : "0";
  return `${scenePath(sceneId)}/frames/${encodeURIComponent(sensor.id)}/${at}.jpg?${parameters}`;
}

function ask(scale) {
  if (sensor) return { path: framePath(scale), options: {} };
  return {
    path: `${scenePath(sceneId)}/render/camera`,
    options: {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(freeRequest(outputSize(scale), scale < 1 ? 70 : 92)),
    },
  };
}

function report(state) {
  $("problem").textContent = state.error ? state.error.message : "";
  if (state.error) {
    $("badge").textContent = "no picture";
    return;
  }
  $("badge").textContent =
    `${state.width}x${state.height}  ${Math.round(state.ms)} ms  ${state.fps}/s` +
    (scene && scene.live ? "  training" : "");
}

function remember() {
  const state = new URLSearchParams({ scene: sceneId });
  if (sensor) {
    state.set("sensor", sensor.id);
    state.set("frame", frame);
    if ($("view").value !== "rendered") state.set("view", $("view").value);
  } else {
    state.set("pose", P.poseText(camera.pose));
    state.set("fov", camera.fovDeg.toPrecision(4));
  }
  if ($("output").value !== "rgb") state.set("output", $("output").value);
  history.replaceState(null, "", `?${state}`);
}

let rememberTimer = 0;
function changed(moving = true) {
  loop.change(moving);
  clearTimeout(rememberTimer);
  rememberTimer = setTimeout(remember, 300);
}

function frameCount() {
  return sensor && sensor.frames ? sensor.frames.count : 0;
}

function showFrame(index) {
  if (!sensor) return;
  frame = Math.min(Math.max(0, index), Math.max(0, frameCount() - 1));
  $("frame").value = frame;
  $("frame-text").textContent = `frame ${frame + 1} of ${frameCount()}`;
  changed(false);
}

function choose(next, index = 0) {
  sensor = next;
  $("sensor").value = sensor ? sensor.id : "";
  $("timeline").hidden = !frameCount();
  $("view-label").hidden = !frameCount() || !scene.origin || scene.origin.type !== "reconstruction";
  $("frame").max = Math.max(0, frameCount() - 1);
  if (sensor) showFrame(index);
  else changed(false);
}

// A drag leaves the recorded camera: the free one takes over near its pose.
async function leave() {
  if (!sensor) return;
  const left = sensor;
  const index = frame;
  choose(null);
  const fov = (360 / Math.PI) * Math.atan(left.camera.height_px / (2 * left.camera.focal_px[1]));
  camera.fovDeg = Math.min(120, Math.max(5, fov));
  try {
    const path = `${scenePath(sceneId)}/sensors?poses=true`;
    const found = (await getJson(path)).cameras.find((c) => c.id === left.id);
    const pose = found && found.frames && found.frames.T_world_sensor;
    if (pose && pose[index]) camera.setPose(pose[index]);
  } catch {
    // The pose of the free camera stays; nothing is lost.
  }
  changed(false);
}

function reset() {
  camera.setPose(scene.default_view);
  camera.fovDeg = 50;
  choose(null);
}

async function pick(event) {
  await leave();
  const canvas = $("picture");
  const box = canvas.getBoundingClientRect();
  const shown = Math.min(box.width / canvas.width, box.height / canvas.height);
  const x = (event.clientX - box.left - (box.width - canvas.width * shown) / 2) / shown;
  const y = (event.clientY - box.top - (box.height - canvas.height * shown) / 2) / shown;
  if (x < 0 || y < 0 || x >= canvas.width || y >= canvas.height) return;
  const size = [canvas.width, canvas.height];
  const body = {
    ...freeRequest(size, 90),
    outputs: ["depth"],
    depth: "median",
    visual: null,
    format: "raw",
    crop_px: [Math.floor(x), Math.floor(y), 1, 1],
  };
  delete body.quality;
  const response = await postJson(`${scenePath(sceneId)}/render/camera`, body);
  const depth = new DataView(await response.arrayBuffer()).getFloat32(0, true);
  if (!(depth > 0)) return;
  const f = size[1] / 2 / Math.tan((camera.fovDeg * Math.PI) / 360);
  const inCamera = [((x - size[0] / 2) / f) * depth, ((y - size[1] / 2) / f) * depth, depth];
  camera.pivot = P.add(camera.pose.t, P.rotate(camera.pose.q_wxyz, inCamera));
  const forward = P.sub(camera.pivot, camera.pose.t);
  camera.pose = P.lookAlong(camera.pose.t, forward, camera.up);
  changed(false);
}

async function save() {
  const { path, options } = ask(1);
  const blob = await (await request(path, options)).blob();
  const url = URL.createObjectURL(blob);
  const link = make("a", { href: url, download: `${sceneId}.jpg` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  const before = button.textContent;
  button.textContent = "copied";
  setTimeout(() => (button.textContent = before), 1200);
}

function curlText() {
  if (sensor) return `curl -o picture.jpg '${location.origin}${framePath(1)}'`;
  const body = JSON.stringify(freeRequest(outputSize(1), 92));
  const url = `${location.origin}${scenePath(sceneId)}/render/camera`;
  return `curl -o picture.jpg '${url}' --json '${body}'`;
}

function free(change) {
  return async (...parameters) => {
    await leave();
    change(...parameters);
    changed(true);
  };
}

function listen() {
  const height = () => $("picture").getBoundingClientRect().height;
  const actions = {
    modifiers: {},
    drag: free((dx, dy) => camera.drag(dx, dy, height())),
    pan: free((dx, dy) => camera.pan(dx, dy, height())),
    dolly: free((steps) => camera.dolly(steps)),
    zoom: free((steps) => camera.zoom(steps)),
    level: free(() => camera.level()),
    move: free((move, seconds) => {
      const { fast, slow } = actions.modifiers;
      camera.fly(move, seconds, fast ? 4 : slow ? 0.25 : 1);
    }),
    pick: (event) => pick(event).catch((error) => report({ error })),
    mode: () => {
      camera.flying = !camera.flying;
      $("mode").textContent = camera.flying ? "fly" : "orbit";
    },
    reset,
    sensor: (i) => cameras[i] && choose(cameras[i]),
    previous: () => showFrame(frame - 1),
    next: () => showFrame(frame + 1),
    first: () => showFrame(0),
    last: () => showFrame(frameCount() - 1),
    leave: () => leave(),
    save: () => save().catch((error) => report({ error })),
    link: () => {
      remember();
      return copy(location.href, $("copy-link"));
    },
    help: () => $("help-dialog").showModal(),
  };
  listenKeys(actions);
  listenPointer($("picture"), actions);
  for (const name of ["mode", "reset", "save", "help", "previous", "next"]) {
    $(name).addEventListener("click", actions[name]);
  }
  $("copy-link").addEventListener("click", actions.link);
  $("copy-curl").addEventListener("click", () => copy(curlText(), $("copy-curl")));
  $("frame").addEventListener("input", () => showFrame(Number($("frame").value)));
  $("output").addEventListener("change", () => changed(false));
  $("view").addEventListener("change", () => changed(false));
  $("sensor").addEventListener("change", () =>
    choose(cameras.find((c) => c.id === $("sensor").value) || null),
  );
  window.addEventListener("resize", () => !sensor && changed(true));
}

// While the scene trains, the picture follows it.
async function followLive() {
  if (!scene.live) return;
  scene = await getJson(scenePath(sceneId));
  loop.change(false);
  setTimeout(() => followLive().catch(() => {}), 2000);
}

async function start() {
  $("name").textContent = sceneId;
  scene = await getJson(scenePath(sceneId));
  $("name").textContent = scene.name || sceneId;
  document.title = `${scene.name || sceneId} - Retake`;
  cameras = (await getJson(`${scenePath(sceneId)}/sensors`)).cameras.filter((c) => !c.virtual);
  for (const c of cameras) $("sensor").append(make("option", { value: c.id }, c.id));
  const [low, high] = scene.bounds_m || [
    [-1, -1, -1],
    [1, 1, 1],
  ];
  const reach = Math.max(0.1, P.length(P.sub(high, low)) / 2);
  camera = new FreeCamera(scene.default_view, scene.up || [0, 0, 1], reach);
  const pose = P.poseParse(query.get("pose"));
  if (pose) camera.setPose(pose);
  const fov = Number(query.get("fov"));
  if (fov >= 5 && fov <= 120) camera.fovDeg = fov;
  if (VISUALS[query.get("output")]) $("output").value = query.get("output");
  if (query.get("view") === "recorded") $("view").value = "recorded";
  loop = new PictureLoop($("picture"), ask, report);
  listen();
  choose(
    cameras.find((c) => c.id === query.get("sensor")) || null,
    Number(query.get("frame")) || 0,
  );
  followLive().catch(() => {});
}

fillHelp($("help-table"));
start().catch((error) => report({ error }));
