// The words beside the map: answers, legend, warnings. Text is always set as text, never as HTML.
import type { Cell, Counted, Hotspot, Meta } from "./api";
import type { View } from "./view";
import { clock, day, duration, nice, rough, shortDay } from "./words";

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

function make(name: string, kind: string, text: string): HTMLElement {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  made.textContent = text;
  return made;
}

export function words(into: HTMLElement, text: string): void {
  into.replaceChildren(make("p", "words", text));
}

function figure(label: string, told: { count_text: string; deviation_text: string | null }, name: string): HTMLElement {
  const holder = make("p", "figure", "");
  holder.append(make("span", "label", label));
  const number = make("span", "number", "");
  number.append(make("strong", name, told.count_text), document.createTextNode(told.deviation_text === null ? " pings" : ` ± ${told.deviation_text} pings`));
  holder.append(number);
  return holder;
}

export function boxAnswer(into: HTMLElement, counted: Counted, meta: Meta, view: View, whole: Counted | null): void {
  const start = meta.grid.starts[view.t], parts: HTMLElement[] = [];
  const now = figure(`${shortDay(start)} ${clock(start)}, ${duration(meta.grid.slice_seconds)}`, counted, "count");
  now.id = "box-now";
  now.title = counted.sentence;
  parts.push(now);
  if (!counted.told_from_zero) parts.push(make("p", "doubt", "Cannot be told from zero."));
  if (counted.other && counted.difference) {
    parts.push(figure(view.other === view.release ? "the other time" : "the other release", counted.other, "count"), figure("difference", counted.difference, "count"));
    parts.push(make("p", counted.difference.told_from_zero ? "words" : "doubt",
      counted.difference.told_from_zero ? "± as if both errors were independent." : "The difference cannot be told from zero."));
  }
  if (whole) parts.push(figure("whole period", whole, "count"));
  parts.push(make("p", "words", `${counted.area_km2 >= 0.1 ? counted.area_km2.toFixed(2) : counted.area_km2.toPrecision(2)} km², ${counted.cells.toLocaleString("en")} cells. ± is one standard deviation.`));
  into.replaceChildren(...parts);
}

/** A cell with even odds stands first: people look for a place to go to. The best guess stands beside it. */
export function hotAnswer(into: HTMLElement, found: Hotspot, go: (slice: number) => void): void {
  const guess = cellAnswer(found, found.density_text, found.doubtful ? " away, a guess" : " away", go);
  if (!found.doubtful) into.replaceChildren(...guess);
  else if (found.likelier) into.replaceChildren(...cellAnswer(found.likelier, found.density_text, " away", go), make("h3", "", "Perhaps nearer, less likely than not"), make("p", "words", doubt(found)), ...guess);
  else into.replaceChildren(...guess, make("p", "doubt", "Less likely than not."), make("p", "words", `${doubt(found)} No cell within ${found.extent_text}, at any time, has even odds. Ask for fewer pings, or drag a box.`));
}

/** Why a cell is named that is unlikely itself: somewhere near by there is one, and nobody knows which. */
function doubt(found: Hotspot): string {
  const within = Math.round(100 * (found.probability_within ?? 0));
  return `Some cell as near as the guess, in space and time, holds ${found.density_text} with ${within} %; which one, the release cannot tell.`;
}

/** What a screen reader is told of it. */
export function hotSentence(found: Hotspot): string {
  if (!found.doubtful) return found.sentence;
  const { likelier } = found;
  const first = likelier ? `A cell with even odds or better is ${likelier.distance_text} away: about ${likelier.count_text} pings. ${when(likelier)}` : "No cell has even odds.";
  return `${first} A guess: ${found.sentence} ${doubt(found)}`;
}

function cellAnswer(cell: Cell, density: string, away: string, go: (slice: number) => void): HTMLElement[] {
  const parts = [figure(`${cell.distance_text}${away}`, cell, "count")];
  if (cell.probability !== null) {
    const line = make("p", "chance", ""), meter = document.createElement("meter"), chance = percent(cell.probability);
    Object.assign(meter, { min: 0, max: 1, value: cell.probability });
    meter.setAttribute("aria-label", `Probability ${chance}`);
    line.append(meter, make("span", "", `${chance} likely to hold ${density} or more`));
    parts.push(line);
  }
  const where = make("p", "words", `${cell.lat.toFixed(5)}, ${cell.lon.toFixed(5)}. ${when(cell)} `);
  if (cell.slices_away !== 0) {
    const button = make("button", "quiet small", "Go there") as HTMLButtonElement;
    button.type = "button";
    button.addEventListener("click", () => go(cell.slice));
    where.append(button);
  }
  return [...parts, where];
}

function when(cell: Cell): string {
  const away = Math.abs(cell.slices_away);
  if (away === 0) return "In the slice shown.";
  return `${shortDay(cell.start)} ${clock(cell.start)}, ${away} ${away > 1 ? "slices" : "slice"} ${cell.slices_away > 0 ? "later" : "earlier"}.`;
}

const percent = (share: number) => (share > 0 && share < 0.005 ? "below 1 %" : `${Math.round(100 * share)} %`);

export function legend(meta: Meta, view: View, top: number, colours: Uint8Array<ArrayBuffer>, place: (value: number, top: number) => number): void {
  const side = view.factor, unit = side === 1 ? `cell of ${meta.grid.cell.replaceAll(" ", "\u00a0")}` : `square of ${side} x ${side} cells`;
  const slice = duration(meta.grid.slice_seconds);
  const title = {
    count: `Pings in ${slice}, per ${unit}`,
    error: `Standard deviation as a share of the count, per ${unit}`,
    diff: `Pings more or fewer in ${slice}, per ${unit}`,
  }[view.shown];
  $("legend-title").textContent = title;
  $("view-words").textContent = {
    count: "Released pings. Look at the relative error before you trust a single cell.",
    error: "Blue can be trusted. Hatched cannot be told from zero: choose larger squares, or ask a box.",
    diff: "Orange: more than then. Blue: fewer.",
  }[view.shown];
  const bar = $<HTMLCanvasElement>("legend-bar").getContext("2d")!;
  const row = new ImageData(512, 1);
  for (let at = 0; at < 512; at++) row.data.set(colours.subarray(4 * (at >> 1), 4 * (at >> 1) + 4), 4 * at);
  bar.putImageData(row, 0, 0);
  $("legend-ticks").replaceChildren(...ticks(view, top, place).map(([at, text]) => {
    const tick = make("span", "", text);
    tick.style.left = `${100 * at}%`;
    return tick;
  }));
}

function ticks(view: View, top: number, place: (value: number, top: number) => number): [number, string][] {
  if (view.shown === "error") return [[0, "0"], [0.25, "25 %"], [0.5, "50 %"], [0.75, "75 %"], [1, "≥ 100 %"]];
  const steps = [nice(top / 30), nice(top / 5)].filter((value, at, all) => all.indexOf(value) === at);
  if (view.shown === "count") return [[0, "0"], ...steps.map((value): [number, string] => [place(value, top), rough(value)]), [1, `≥ ${rough(top)}`]];
  const few = steps.slice(-1), half = (value: number) => place(value, top) / 2;
  return [[0, `−${rough(top)}`], ...few.map((v): [number, string] => [0.5 - half(v), `−${rough(v)}`]), [0.5, "0"], ...few.map((v): [number, string] => [0.5 + half(v), `+${rough(v)}`]), [1, `+${rough(top)}`]];
}

export function bands(meta: Meta): void {
  const found: HTMLElement[] = [];
  if (!meta.release.protected) found.push(make("p", "alarm", "UNPROTECTED. The noise came from a test seed, so anyone can take it away again: this release protects nobody."));
  if (meta.release.withdrawn) found.push(make("p", "alarm", `${meta.release.withdrawn}. Not to be used any more.`));
  $("bands").replaceChildren(...found);
  document.title = `${meta.release.protected ? "" : "UNPROTECTED · "}${meta.release.id} · VDR explorer`;
  $("promise").textContent = meta.release.protected ? `${meta.release.promise} for ${meta.release.unit}` : "protects nobody";
  $("promise").classList.toggle("bad", !meta.release.protected);
}

export function facts(meta: Meta): void {
  const { release, grid } = meta, rows: [string, string][] = [
    ["Release", release.id], ["Region", release.region], ["Dataset", release.dataset],
    ["Promise", release.protected ? `${release.promise} for ${release.unit}` : "none: made with a test seed"],
    ["Period", `${day(grid.starts[0])} ${clock(grid.starts[0])} to ${day(grid.starts[grid.slices])} ${clock(grid.starts[grid.slices])}, ${grid.zone}`],
    ["Slices", `${grid.slices} of ${duration(grid.slice_seconds)}`], ["Grid", `${grid.side} x ${grid.side} cells of ${grid.cell}`],
    ["Denoiser", release.model], ["Published", release.created],
    ["Error bars", release.deviations ? "yes" : "no: this denoiser gives none"],
  ];
  $("facts").replaceChildren(...rows.filter(([, value]) => value).flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]));
  const step = Math.max(1, Math.ceil(grid.slices / 7));
  const days = grid.starts.slice(0, -1).map((start, t) => [start, t] as const).filter(([start, t]) => t === 0 || clock(start) === "00:00");
  const every = Math.max(1, Math.ceil(days.length / 14));
  const shown = days.length > 1 ? days.filter((_, at) => at % every === 0) : grid.starts.slice(0, -1).map((start, t) => [start, t] as const).filter(([, t]) => t % step === 0);
  $("days").replaceChildren(...shown.map(([start, t]) => {
    const tick = make("span", "", days.length > 1 ? shortDay(start).slice(0, -4) : clock(start));
    tick.style.left = `${(100 * t) / Math.max(grid.slices - 1, 1)}%`;
    return tick;
  }));
}

export function fillSelects(meta: Meta, view: View): void {
  const name = (entry: Meta["releases"][number]) => `${entry.region ? `${entry.region} · ` : ""}${entry.release_id}${entry.withdrawn ? " (withdrawn)" : ""}${entry.protected ? "" : " (UNPROTECTED)"}`;
  const option = (entry: Meta["releases"][number], disabled: boolean) => {
    const made = new Option(name(entry), entry.release_id);
    made.disabled = disabled;
    return made;
  };
  const release = $<HTMLSelectElement>("release");
  release.replaceChildren(...meta.releases.map((entry) => option(entry, entry.withdrawn && entry.release_id !== view.release)));
  release.value = view.release;
  const other = $<HTMLSelectElement>("other-release");
  other.replaceChildren(...meta.releases.filter((entry) => entry.comparable).map((entry) => option(entry, entry.withdrawn && entry.release_id !== view.release)));
  other.value = view.other;
  $<HTMLSelectElement>("factor").replaceChildren(...meta.grid.factors.slice(0, 7).map((factor) => new Option(factor === 1 ? "1 cell" : `${factor} x ${factor}`, String(factor))));
}
