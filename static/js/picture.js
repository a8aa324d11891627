// Pictures by plain requests: one in flight, the newest view wins, size follows the time a picture
// takes while the view moves, full size when it rests.
import { Problem, request } from "./api.js";

const STILL_AFTER_MS = 150;
const TARGET_MS = 80; // a moving picture should take about this long

export class PictureLoop {
  // `ask(scale)` returns {path, options} of the request for the current view at that scale (0...1].
  constructor(canvas, ask, report) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.ask = ask;
    this.report = report;
    this.scale = 0.5;
    this.wanted = null;
    this.busy = false;
    this.lastChange = 0;
    this.times = [];
  }

  // Asks for a new picture; `moving` ones are small, a full one follows when the view rests.
  change(moving = true) {
    this.lastChange = performance.now();
    this.wanted = moving ? "moving" : "full";
    clearTimeout(this.timer);
    if (moving) this.timer = setTimeout(() => this.change(false), STILL_AFTER_MS);
    this.pump();
  }

  async pump() {
    if (this.busy) return;
    while (this.wanted) {
      const kind = this.wanted;
      this.wanted = null;
      this.busy = true;
      await this.draw(kind);
      this.busy = false;
    }
  }

  async draw(kind) {
    const started = performance.now();
    const scale = kind === "full" ? 1 : this.scale;
    try {
      const { path, options } = this.ask(scale);
      const response = await request(path, options);
      const bitmap = await createImageBitmap(await response.blob());
      if (this.canvas.width !== bitmap.width || this.canvas.height !== bitmap.height) {
        this.canvas.width = bitmap.width;
        this.canvas.height = bitmap.height;
      }
      this.context.drawImage(bitmap, 0, 0);
      const ms = performance.now() - started;
      if (kind === "moving") {
        const factor = Math.sqrt(TARGET_MS / Math.max(ms, 5));
        this.scale = Math.min(1, Math.max(0.15, this.scale * Math.min(1.3, Math.max(0.6, factor))));
      }
      this.times = [...this.times.filter((t) => performance.now() - t < 1000), performance.now()];
      this.canvas.dataset.pictures = String(Number(this.canvas.dataset.pictures || 0) + 1);
      this.canvas.dataset.kind = kind;
      this.report({
        error: null,
        ms,
        fps: this.times.length,
        width: bitmap.width,
        height: bitmap.height,
        kind,
      });
    } catch (error) {
      await this.failed(error, kind);
    }
  }

  async failed(error, kind) {
    this.report({ error });
    const wait = error instanceof Problem && [0, 503].includes(error.status);
    if (!wait) return;
    // The server is busy, loading the scene, or away: come back, unless a newer view is waiting.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    this.wanted = this.wanted || kind;
  }
}
