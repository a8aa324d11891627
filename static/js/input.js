// Pointer, wheel and keys. One table makes both the key handler and the help dialog.
import { make } from "./api.js";

const MOVES = {
  KeyW: [0, 0, 1],
  ArrowUp: [0, 0, 1],
  KeyS: [0, 0, -1],
  ArrowDown: [0, 0, -1],
  KeyD: [1, 0, 0],
  ArrowRight: [1, 0, 0],
  KeyA: [-1, 0, 0],
  ArrowLeft: [-1, 0, 0],
  KeyE: [0, 1, 0],
  KeyQ: [0, -1, 0],
};

// `actions`: name -> function. Rows: code (KeyboardEvent.code), label, what it does, action name.
export const KEYS = [
  ["KeyV", "V", "orbit or fly", "mode"],
  ["KeyR", "R", "back to the first view", "reset"],
  ["Digit0", "0", "level the horizon", "level"],
  ["Comma", ",", "previous recorded frame", "previous"],
  ["Period", ".", "next recorded frame", "next"],
  ["Home", "Home", "first frame", "first"],
  ["End", "End", "last frame", "last"],
  ["Escape", "Esc", "leave the recorded camera", "leave"],
  ["KeyP", "P", "save the picture", "save"],
  ["KeyY", "Y", "copy a link to this view", "link"],
  ["Slash", "?", "this help", "help"],
];

const POINTER_HELP = [
  ["left drag, one finger", "orbit (flying: look around)"],
  ["right or middle drag, two fingers", "pan"],
  ["wheel, pinch", "nearer and farther (flying: speed; Ctrl: field of view)"],
  ["double click", "orbit about the point under the cursor"],
  ["W A S D, arrows; E Q", "move; up, down (Shift fast, Ctrl slow)"],
  ["1 ... 9", "recorded camera n"],
];

export function fillHelp(table) {
  const rows = [...POINTER_HELP, ...KEYS.map(([, label, text]) => [label, text])];
  table.replaceChildren(
    make(
      "tbody",
      {},
      ...rows.map(([keys, text]) =>
        make("tr", {}, make("th", { scope: "row" }, make("kbd", {}, keys)), make("td", {}, text)),
      ),
    ),
  );
}

const inField = () =>
  ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement?.tagName) ||
  document.querySelector("dialog[open]");

export function listenKeys(actions) {
  const held = new Set();
  let last = 0;
  function frame(now) {
    if (!held.size) return;
    const seconds = Math.min(0.1, (now - last) / 1000);
    last = now;
    const move = [0, 0, 0];
    for (const code of held) MOVES[code].forEach((value, i) => (move[i] += value));
    actions.move(move, seconds);
    requestAnimationFrame(frame);
  }
  window.addEventListener("keydown", (event) => {
    actions.modifiers = { fast: event.shiftKey, slow: event.ctrlKey };
    if (inField() || event.metaKey || event.altKey) return;
    if (MOVES[event.code]) {
      event.preventDefault();
      if (!held.size) {
        last = performance.now();
        requestAnimationFrame(frame);
      }
      held.add(event.code);
      return;
    }
    if (event.ctrlKey) return;
    const digit = /^Digit([1-9])$/.exec(event.code);
    const row = KEYS.find(([code]) => code === event.code);
    if (digit) actions.sensor(Number(digit[1]) - 1);
    else if (row) actions[row[3]]();
    else return;
    event.preventDefault();
  });
  window.addEventListener("keyup", (event) => {
    actions.modifiers = { fast: event.shiftKey, slow: event.ctrlKey };
    held.delete(event.code);
  });
  window.addEventListener("blur", () => held.clear());
}

export function listenPointer(canvas, actions) {
  const pointers = new Map();
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, button: event.button });
  });
  const drop = (event) => pointers.delete(event.pointerId);
  canvas.addEventListener("pointerup", drop);
  canvas.addEventListener("pointercancel", drop);
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.x;
    const dy = event.clientY - before.y;
    if (pointers.size === 2) {
      const other = [...pointers.entries()].find(([id]) => id !== event.pointerId)[1];
      const spread = (x, y) => Math.hypot(x - other.x, y - other.y) || 1;
      actions.dolly(
        Math.log(spread(before.x, before.y) / spread(event.clientX, event.clientY)) * 5,
      );
      actions.pan(dx / 2, dy / 2);
    } else if (before.button === 0) actions.drag(dx, dy);
    else actions.pan(dx, dy);
    pointers.set(event.pointerId, { ...before, x: event.clientX, y: event.clientY });
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const steps = Math.sign(event.deltaY) * Math.min(3, Math.abs(event.deltaY) / 100 || 1);
      if (event.ctrlKey) actions.zoom(steps);
      else actions.dolly(steps);
    },
    { passive: false },
  );
  canvas.addEventListener("dblclick", (event) => actions.pick(event));
}
