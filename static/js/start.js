// The dialog that starts a reconstruction, with a live dry run.
import { bytesText, getJson, postJson, secondsText } from "./api.js";

const $ = (id) => document.getElementById(id);

function body() {
  const steps = Number($("start-steps").value);
  return {
    recording: $("start-recording").textContent,
    scene: $("start-scene").value.trim(),
    preset: $("start-preset").value,
    replace: $("start-replace").checked,
    config: steps > 0 ? { steps } : {},
  };
}

async function check() {
  try {
    const answer = await (await postJson("/v1/reconstructions/check", body())).json();
    const { splats_max: splats, device_bytes: bytes, seconds } = answer.estimate || {};
    $("start-check").textContent =
      `up to ${(splats || 0).toLocaleString()} splats, ${bytesText(bytes)} of memory` +
      (seconds ? `, about ${secondsText(seconds)} on this machine` : "") +
      (answer.findings || []).map((f) => `\n${f.severity}: ${f.message}`).join("");
    $("start-go").disabled = false;
  } catch (error) {
    $("start-check").textContent = error.message;
    $("start-go").disabled = true;
  }
}

async function go() {
  try {
    const row = await (await postJson("/v1/reconstructions", body())).json();
    location.href = `/reconstruction.html?id=${encodeURIComponent(row.id)}`;
  } catch (error) {
    $("start-check").textContent = error.message;
  }
}

export async function openStart(recording, showProblem) {
  try {
    const schema = await getJson("/v1/reconstructions/schema");
    const presets = Object.keys(schema.presets);
    $("start-preset").replaceChildren(...presets.map((name) => new Option(name, name)));
    if (presets.includes("preview")) $("start-preset").value = "preview";
    $("start-recording").textContent = recording;
    $("start-scene").value = recording;
    $("start-replace").checked = false;
    $("start-dialog").showModal();
    await check();
  } catch (error) {
    showProblem(error);
  }
}

for (const id of ["start-scene", "start-preset", "start-steps", "start-replace"]) {
  $(id).addEventListener("change", check);
}
$("start-go").addEventListener("click", go);
