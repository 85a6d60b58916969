// The series of a box with its error, and what comes next. Drawn as SVG; a table says the same to those who do not see it.
import type { Meta, Series } from "./api";
import { clock, rough, shortDay } from "./words";

const WIDTH = 340, HEIGHT = 128, LEFT = 34, BOTTOM = 18, TOP = 6;
const SVG = "http://www.w3.org/2000/svg";

export function element(name: string, attributes: Record<string, string | number>, parent?: Element): SVGElement {
  const made = document.createElementNS(SVG, name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  parent?.append(made);
  return made;
}

export function drawChart(into: HTMLElement, series: Series, meta: Meta, now: number, go: (t: number) => void): void {
  const ahead = series.forecast, total = series.counts.length + ahead.mean.length;
  const spread = series.counts.map((_, t) => 2 * (series.deviations?.[t] ?? 0));
  const most = Math.max(1e-9, ...series.counts.map((count, t) => count + spread[t]), ...ahead.upper);
  const x = (t: number) => LEFT + ((t + 0.5) / total) * (WIDTH - LEFT - 4);
  const y = (value: number) => HEIGHT - BOTTOM - (Math.max(value, 0) / most) * (HEIGHT - BOTTOM - TOP);
  const path = (values: number[], from: number) => values.map((value, t) => `${t ? "L" : "M"}${x(from + t).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const band = (low: number[], high: number[], from: number) =>
    `${path(high, from)}${low.map((value, t) => `L${x(from + t).toFixed(1)} ${y(value).toFixed(1)}`).reverse().join("")}Z`;
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img", "aria-label": `Pings of the box over time. ${ahead.sentence}` });
  for (const value of [0, most / 2, most]) {
    element("line", { x1: LEFT, x2: WIDTH - 4, y1: y(value), y2: y(value), class: "rule" }, svg);
    element("text", { x: LEFT - 4, y: y(value) + 3, "text-anchor": "end" }, svg).textContent = rough(value);
  }
  const known = series.counts.length;
  const low = series.counts.map((count, t) => count - spread[t]), high = series.counts.map((count, t) => count + spread[t]);
  if (known > 1) {
    element("path", { d: band(low, high, 0), class: "band" }, svg);
    element("path", { d: path(series.counts, 0), class: "line" }, svg);
  } else {
    element("line", { x1: x(0), x2: x(0), y1: y(low[0]), y2: y(high[0]), class: "line" }, svg);
    element("circle", { cx: x(0), cy: y(series.counts[0]), r: 3, class: "dot" }, svg);
  }
  if (ahead.told_from_zero) {
    element("path", { d: band(ahead.lower, ahead.upper, known), class: "band ahead" }, svg);
    element("path", { d: path(ahead.mean, known), class: "line ahead" }, svg);
    if (ahead.mean.length === 1) element("circle", { cx: x(known), cy: y(ahead.mean[0]), r: 2.5, class: "dot" }, svg);
  }
  element("line", { x1: x(known - 0.5), x2: x(known - 0.5), y1: TOP, y2: HEIGHT - BOTTOM, class: "edge" }, svg);
  element("line", { x1: x(now), x2: x(now), y1: TOP, y2: HEIGHT - BOTTOM, class: "now", id: "chart-now" }, svg);
  const step = Math.max(1, Math.ceil(total / 5));
  const starts = [...meta.grid.starts.slice(0, known), ...ahead.starts];
  for (let t = 0; t < total - step / 2; t += step) element("text", { x: x(t), y: HEIGHT - 4, "text-anchor": t ? "middle" : "start" }, svg).textContent = shortDay(starts[t]).slice(4);
  svg.addEventListener("click", (event) => {
    const bounds = svg.getBoundingClientRect(), at = ((event.clientX - bounds.left) / bounds.width) * WIDTH;
    go(Math.max(0, Math.min(known - 1, Math.floor(((at - LEFT) / (WIDTH - LEFT - 4)) * total))));
  });
  into.replaceChildren(svg, caption(series), table(series, starts));
}

function caption(series: Series): HTMLElement {
  const words = document.createElement("p");
  words.className = "words";
  words.textContent = series.forecast.told_from_zero
    ? `With two standard deviations; dashed: forecast by ${series.forecast.method}, 95 %.`
    : series.forecast.sentence;
  return words;
}

function table(series: Series, starts: string[]): HTMLElement {
  const details = document.createElement("details"), summary = document.createElement("summary");
  summary.textContent = "As a table";
  details.append(summary);
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const holder = document.createElement("div"), made = document.createElement("table");
    holder.className = "scroll";
    holder.tabIndex = 0;
    holder.setAttribute("role", "region");
    holder.setAttribute("aria-label", "Series of the box");
    const row = (cells: string[], name: "td" | "th") => {
      const line = made.insertRow();
      for (const text of cells) { const cell = document.createElement(name); cell.textContent = text; line.append(cell); }
    };
    row(["Slice from", "Pings", "±"], "th");
    series.counts.forEach((count, t) => row([`${shortDay(starts[t])} ${clock(starts[t])}`, rough(count), series.deviations ? rough(series.deviations[t]) : "–"], "td"));
    series.forecast.mean.forEach((mean, t) => {
      const at = starts[series.counts.length + t];
      row([`${shortDay(at)} ${clock(at)}, forecast`, rough(mean), `${rough(series.forecast.lower[t])} to ${rough(series.forecast.upper[t])}`], "td");
    });
    holder.append(made);
    details.append(holder);
  });
  return details;
}
