// Charts of the training history. Without the chart library (no `npm ci`) the page says so.
import { make } from "./api.js";

const SERIES = [
  ["loss", "loss", "#6cb6ff"],
  ["psnr_db", "held-out PSNR, dB", "#6fd08c"],
  ["splats", "splats", "#e8b86c"],
  ["step_ms", "ms per step", "#c9a0ff"],
];

export class Charts {
  constructor(node) {
    this.node = node;
    this.plots = new Map();
    this.library = import("/vendor/uPlot.esm.js")
      .then((module) => module.default)
      .catch(() => null);
  }

  async show(columns) {
    const Plot = await this.library;
    if (!Plot) {
      this.node.replaceChildren(
        make("p", { class: "quiet" }, "Charts need `npm ci` in the source folder."),
      );
      return;
    }
    for (const [name, title, stroke] of SERIES) {
      const values = columns[name] || [];
      if (!values.some((value) => value !== null)) continue;
      const rows = [columns.step, values];
      const plot = this.plots.get(name);
      if (plot) plot.setData(rows);
      else this.plots.set(name, this.create(Plot, title, stroke, rows));
    }
  }

  create(Plot, title, stroke, rows) {
    const holder = make("div", { class: "chart" });
    this.node.append(holder);
    const axis = { stroke: "#a9b4c4", grid: { stroke: "#2a313c" }, ticks: { stroke: "#2a313c" } };
    const width = Math.max(220, this.node.clientWidth);
    return new Plot(
      {
        title,
        width,
        height: 170,
        scales: { x: { time: false } },
        axes: [axis, { ...axis, size: 64 }],
        series: [{ label: "step" }, { label: title, stroke, width: 2, spanGaps: true }],
      },
      rows,
      holder,
    );
  }
}
