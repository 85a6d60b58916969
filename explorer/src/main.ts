// The page: one view, which controls change, and which is drawn, asked about, and written into the address.
import { ask, askBytes, fromHalf, Refused, type Counted, type Hotspot, type Meta, type Picture, type Series } from "./api";
import { Camera, clamp } from "./camera";
import { drawChart } from "./chart";
import { palette, place as placeOnScale } from "./colours";
import { Density } from "./density";
import { Gestures } from "./gestures";
import { drawOverlay, type Marks } from "./overlay";
import { boxAnswer, hotAnswer, hotSentence, legend, fillSelects, bands, facts, words } from "./panel";
import { Slices } from "./slices";
import { degrees, fromHash, toHash, type Shown, type View } from "./view";
import { clock, day, shortDay } from "./words";

const $ = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const canvas = $<HTMLCanvasElement>("density"), overlay = document.getElementById("overlay") as unknown as SVGSVGElement;
const slices = new Slices(), marks: Marks = { drawing: null, cross: null, hotspot: null };
const HORIZON = 8, AHEAD = 6, ALIVE_MS = 10_000;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

const view: View = {
  release: "", t: 0, shown: "count", factor: 1, bright: 0, x: 0.5, y: 0.5, zoom: 1,
  box: null, place: null, hot: 0, other: "", otherT: 0, theme: "",
};
let meta: Meta, camera: Camera, density: Density | null = null, gestures: Gestures;
let shownFrame: { now: Picture } | null = null, series: Series | null = null, seriesOf = "";
let playing = false, position = 0, lastTick = 0, painted = false, gone = false;
let sharpness = 1, pace = 20, overlayDue = false;
let asking: AbortController | null = null, hovered: [number, number] | null = null;

const theme = () => view.theme || (dark.matches ? "dark" : "light");
const top = () => meta.scale.top * view.factor ** 1.4 * 2 ** -view.bright;

// Loading ----------------------------------------------------------------------------------------------------------

async function open(release: string | undefined, wanted: Partial<View>): Promise<void> {
  const told = await ask<Meta>("meta", release ? { release } : {});
  const other = Boolean(meta) && meta.release.id !== told.release.id;
  meta = told;
  gone = false;
  camera = new Camera(canvas, view, meta);
  marks.hotspot = null;
  series = null;
  if (other) Object.assign(view, { box: null, place: null, x: 0.5, y: 0.5, zoom: 1, hot: 0 });
  Object.assign(view, { t: view.release ? view.t : meta.first, otherT: halfADayLater() }, wanted, { release: meta.release.id });
  view.t = clamp(view.t, 0, meta.grid.slices - 1);
  view.otherT = clamp(view.otherT, 0, meta.grid.slices - 1);
  if (!meta.grid.factors.includes(view.factor)) view.factor = meta.grid.factors[0];
  if (!meta.releases.some((entry) => entry.release_id === view.other && entry.comparable && !entry.withdrawn)) view.other = view.release;
  if (!meta.release.deviations && view.shown === "error") view.shown = "count";
  view.hot ||= meta.scale.hot;
  position = view.t;
  bands(meta);
  facts(meta);
  fillSelects(meta, view);
  message("");
  notice("");
  await refreshOther();
  changed();
  if (meta.backdrop && density) density.backdrop(await askBytes("backdrop", { release: view.release }));
  if (view.box) void askBox();
  if (view.place) void askHotspot();
  repaint();
}

/** What a first difference is taken with: a time of day unlike the one on screen. */
const halfADayLater = () => (meta.first + Math.round(43_200 / meta.grid.slice_seconds)) % meta.grid.slices;

/** Fetches what the view needs, and paints. */
async function changed(): Promise<void> {
  controls();
  writeHash();
  const wanted = [view.release, view.t, view.factor, view.shown, view.other, view.otherT].join();
  try {
    await Promise.all(needed(view.t).map(([release, t, layer]) => slices.fetch(release, t, layer, view.factor)));
  } catch (problem) { return failed(problem); }
  if (wanted !== [view.release, view.t, view.factor, view.shown, view.other, view.otherT].join()) return;
  repaint();
  if (!playing && meta.release.deviations) void slices.fetch(view.release, view.t, "deviation", view.factor).catch(() => null);
}

function needed(t: number): [string, number, string][] {
  const layers: [string, number, string][] = [[view.release, t, "count"]];
  if (view.shown === "error") layers.push([view.release, t, "deviation"]);
  if (view.shown === "diff") layers.push([view.other, view.otherT, "count"]);
  return layers;
}

function failed(problem: unknown): void {
  if (problem instanceof DOMException && problem.name === "AbortError") return;
  const words = problem instanceof Error ? problem.message : String(problem);
  if (problem instanceof Refused && problem.gone) {
    stop();
    gone = true;
    slices.clear(); // what is withdrawn must not stay on screen
    shownFrame = null;
    density?.clear();
    overlay.replaceChildren();
    $("box-answer").replaceChildren();
    $("hot-answer").replaceChildren();
    $("chart").replaceChildren();
    message(words);
  } else if (shownFrame) notice(words); else message(words);
}

const message = (text: string) => { $("message").textContent = text; };
const notice = (text: string) => { $("notice").textContent = text; };
const say = (text: string) => { $("said").textContent = text; };

// Painting ---------------------------------------------------------------------------------------------------------

let due = false, mapDue = false;
/** Paints in the next frame. What lies over the map is drawn without it: a box must not wait for pixels that stay. */
function repaint(mapToo = true): void {
  mapDue ||= mapToo;
  if (due) return;
  due = true;
  requestAnimationFrame((now) => {
    due = false;
    tick(now);
    if (mapDue) paint(); else mark();
    mapDue = false;
    if (playing) repaint();
  });
}

function mark(): void {
  if (!gone && shownFrame) drawOverlay(overlay, camera, view, meta, marks);
}

function paint(): void {
  if (!density || gone || !meta) return;
  const ratio = Math.min(devicePixelRatio || 1, 2) * (playing ? sharpness : 1), t = Math.floor(position), next = (t + 1) % meta.grid.slices;
  const at = (release: string, number: number, layer: string) => slices.peek(release, number, layer, view.factor);
  const now = at(view.release, t, "count"), spread = at(view.release, t, "deviation"), other = at(view.other, view.otherT, "count");
  if (!now || (view.shown === "error" && !spread) || (view.shown === "diff" && !other)) return;
  density.resize(ratio);
  const [dx, dy] = camera.pixel, [left, bottom] = camera.unit(0, canvas.clientHeight);
  const fades = playing && !calm.matches && next > t;
  density.draw({
    now, spread, other, later: fades ? at(view.release, next, "count") : null, laterSpread: fades ? at(view.release, next, "deviation") : null,
    between: fades ? position - t : 0, shown: view.shown, top: top(), left, bottom,
    pixel: [dx / ratio, dy / ratio], squares: meta.grid.side / view.factor,
  }, ratio);
  shownFrame = { now };
  if (!playing || overlayDue) drawOverlay(overlay, camera, view, meta, marks);
  overlayDue = false;
  if (!painted) {
    painted = true;
    performance.mark("first-picture");
    document.documentElement.dataset.painted = "yes";
  }
  readout();
}

/** While it plays, fewer pixels where a machine does not manage 30 frames a second with all of them. */
function adapt(gap: number): void {
  pace = 0.8 * pace + 0.2 * Math.min(gap, 200);
  if (pace > 34 && sharpness > 0.4) { sharpness = Math.max(0.4, sharpness * 0.8); pace = 25; }
}

function tick(now: number): void {
  if (!playing) return;
  adapt(now - lastTick);
  const passed = clamp((now - lastTick) / 1000, 0, 0.25) * Number($<HTMLSelectElement>("speed").value);
  lastTick = now;
  const t = Math.floor(position), next = (t + 1) % meta.grid.slices;
  for (let step = 1; step <= AHEAD; step++) {
    for (const [release, number, layer] of needed((t + step) % meta.grid.slices)) slices.fetch(release, number, layer, view.factor).catch(failed);
  }
  const there = needed(next).every(([release, number, layer]) => slices.peek(release, number, layer, view.factor));
  position = there ? position + passed : Math.min(position + passed, t + 0.999); // waits for what is not there yet
  if (position >= meta.grid.slices) position = 0;
  if (Math.floor(position) !== view.t) {
    view.t = Math.floor(position);
    showMoment();
  }
}

function play(): void {
  if (meta.grid.slices < 2 || gone) return;
  playing = true;
  position = view.t;
  lastTick = performance.now();
  controls();
  repaint();
}

function stop(): void {
  if (!playing) return;
  playing = false;
  position = view.t;
  void changed();
  if (view.box) void askBox();
}

function go(t: number): void {
  playing = false;
  view.t = clamp(Math.round(t), 0, meta.grid.slices - 1);
  position = view.t;
  void changed();
  if (view.box) void askBox();
}

// Questions --------------------------------------------------------------------------------------------------------

async function askBox(): Promise<void> {
  if (!view.box || gone) return;
  asking?.abort();
  const mine = (asking = new AbortController()), box = view.box;
  const other: Record<string, string | number> = view.shown === "diff" ? { other: view.other, other_t: view.otherT } : {};
  try {
    const counted = await ask<Counted>("box", { release: view.release, t: view.t, ...box, ...other }, mine.signal);
    boxAnswer($("box-answer"), counted, meta, view, series && seriesOf === keyOf() ? series.whole : null);
    performance.mark("box-answered");
    notice("");
    say(counted.sentence);
    if (seriesOf !== keyOf()) {
      $("chart").replaceChildren();
      const found = await ask<Series>("series", { release: view.release, ...box, horizon: HORIZON }, mine.signal);
      series = found;
      seriesOf = keyOf();
      boxAnswer($("box-answer"), counted, meta, view, found.whole);
    }
    drawChart($("chart"), series!, meta, view.t, go);
  } catch (problem) { failed(problem); }
}

const keyOf = () => JSON.stringify([view.release, view.box]);

async function askHotspot(): Promise<void> {
  if (!view.place || gone) return;
  try {
    const found = await ask<Hotspot>("hotspot", { release: view.release, t: view.t, ...view.place, density: view.hot });
    marks.hotspot = found;
    hotAnswer($("hot-answer"), found, go);
    say(hotSentence(found));
    notice("");
  } catch (problem) {
    marks.hotspot = null;
    if (problem instanceof Refused && !problem.gone) words($("hot-answer"), `None can be named: ${problem.message}.`); else failed(problem);
  }
  repaint(false);
}

async function copy(kind: "link" | "python" | "sql"): Promise<void> {
  const about: Record<string, string | number> = view.box ? { ...view.box } : view.place ? { ...view.place, density: view.hot } : {};
  try {
    writeHash(true);
    const lines = kind === "link" ? null : await ask<{ python: string; sql: string }>("lines", { release: view.release, t: view.t, ...about });
    const text = lines ? lines[kind as "python" | "sql"] : location.href, area = $<HTMLTextAreaElement>("copied");
    area.hidden = false;
    area.value = text;
    area.select();
    area.scrollIntoView({ block: "nearest" });
    const copied = await navigator.clipboard.writeText(text).then(() => true, () => false);
    say(copied ? "Copied." : "Selected; press Control and C to copy.");
    $("copy-" + kind).dataset.done = copied ? "yes" : "";
    setTimeout(() => delete $("copy-" + kind).dataset.done, 1500);
  } catch (problem) { failed(problem); }
}

// Controls ---------------------------------------------------------------------------------------------------------

function showMoment(): void {
  const { grid } = meta, start = grid.starts[view.t], end = grid.starts[view.t + 1];
  const slider = $<HTMLInputElement>("slider"), moment = `${day(start)}, ${clock(start)} to ${clock(end)}`;
  slider.max = String(grid.slices - 1);
  slider.value = String(view.t);
  slider.disabled = grid.slices < 2;
  slider.setAttribute("aria-valuetext", moment);
  $("moment").firstElementChild!.textContent = day(start);
  $("moment").lastElementChild!.textContent = `${clock(start)} – ${clock(end)} ${grid.zone}`;
  canvas.setAttribute("aria-label", `Map of released pings, ${moment}`);
}

function controls(): void {
  const { grid, release } = meta;
  showMoment();
  const button = $<HTMLButtonElement>("play");
  button.textContent = playing ? "❚❚" : "▶";
  button.setAttribute("aria-label", playing ? "Stop" : "Play");
  for (const name of ["play", "back", "forth"]) $<HTMLButtonElement>(name).disabled = grid.slices < 2;
  for (const shown of ["count", "error", "diff"]) $("view-" + shown).setAttribute("aria-pressed", String(view.shown === shown));
  $<HTMLButtonElement>("view-error").disabled = !release.deviations;
  $("other").hidden = view.shown !== "diff";
  $<HTMLSelectElement>("factor").value = String(view.factor);
  $<HTMLInputElement>("bright").value = String(view.bright);
  $<HTMLInputElement>("bright").disabled = view.shown === "error";
  $<HTMLInputElement>("hot").value = String(view.hot);
  $("box-clear").hidden = !view.box;
  document.documentElement.dataset.theme = theme();
  density?.colour(view.shown, theme(), getComputedStyle(document.documentElement).getPropertyValue("--ground").trim());
  legend(meta, view, top(), palette(view.shown, theme()), placeOnScale);
}

let hashTimer = 0;
function writeHash(now = false): void {
  clearTimeout(hashTimer);
  const write = () => history.replaceState(null, "", toHash(view));
  if (now) write(); else hashTimer = window.setTimeout(write, 150);
}

function readout(): void {
  const place = $("readout");
  if (!hovered || !shownFrame || playing || hovered.some((edge) => edge < 0 || edge >= 1)) { place.textContent = ""; return; }
  const squares = meta.grid.side / view.factor, side = shownFrame.now.side;
  const at = Math.floor(hovered[1] * squares) * side + Math.floor(hovered[0] * squares);
  const value = (picture: Picture | null) => (picture ? fromHalf(picture.half[at]) * 2 ** picture.exponent : null);
  const count = value(shownFrame.now)!, spread = value(slices.peek(view.release, view.t, "deviation", view.factor));
  const { lat, lon } = camera.place(...hovered), digits = (number: number) => Number(number.toPrecision(3)).toLocaleString("en");
  place.textContent = `${lat.toFixed(4)}, ${lon.toFixed(4)}   ${digits(count)}${spread === null ? "" : ` ± ${digits(spread)}`} pings`;
}

async function refreshOther(): Promise<void> {
  const select = $<HTMLSelectElement>("other-slice");
  const starts = view.other === view.release ? meta.grid.starts : (await ask<Meta>("meta", { release: view.other })).grid.starts;
  view.otherT = clamp(view.otherT, 0, starts.length - 2);
  select.replaceChildren(...starts.slice(0, -1).map((start, t) => new Option(`${shortDay(start)} ${clock(start)}`, String(t))));
  select.value = String(view.otherT);
  $<HTMLSelectElement>("other-release").value = view.other;
}

function show(shown: Shown): void {
  if (shown === "error" && !meta.release.deviations) return;
  view.shown = shown;
  void changed();
  if (view.box) void askBox();
}

function wire(): void {
  const on = (id: string, event: string, act: (target: HTMLInputElement) => unknown) =>
    $(id).addEventListener(event, (happened) => void act(happened.target as HTMLInputElement));
  on("play", "click", () => (playing ? stop() : play()));
  on("back", "click", () => go(view.t - 1));
  on("forth", "click", () => go(view.t + 1));
  on("slider", "input", (input) => go(Number(input.value)));
  for (const shown of ["count", "error", "diff"] as const) on("view-" + shown, "click", () => show(shown));
  on("factor", "change", (input) => { view.factor = Number(input.value); return changed(); });
  on("bright", "input", (input) => { view.bright = Number(input.value); return changed(); });
  on("hot", "change", (input) => {
    if (!(Number(input.value) >= 1)) return notice("A hot spot holds at least one ping: type 1 or more.");
    view.hot = Number(input.value);
    writeHash();
    return askHotspot();
  });
  on("release", "change", (input) => open(input.value, {}).catch(failed));
  on("other-release", "change", async (input) => { view.other = input.value; await refreshOther().catch(failed); await changed(); await askBox(); });
  on("other-slice", "change", async (input) => { view.otherT = Number(input.value); await changed(); await askBox(); });
  on("box-clear", "click", () => clear());
  for (const kind of ["link", "python", "sql"] as const) on("copy-" + kind, "click", () => copy(kind));
  on("theme", "click", () => { view.theme = theme() === "dark" ? "light" : "dark"; return changed(); });
  on("zoom-in", "click", () => { camera.zoom(1.6); moved(); });
  on("zoom-out", "click", () => { camera.zoom(1 / 1.6); moved(); });
  on("zoom-fit", "click", () => { camera.fit(); moved(); });
  on("tool-box", "click", () => tool("box"));
  on("tool-pan", "click", () => tool("pan"));
  $("edges").addEventListener("submit", (event) => {
    event.preventDefault();
    const form = new FormData(event.target as HTMLFormElement), edge = (name: string) => Number(String(form.get(name)).replace("−", "-"));
    const box = { south: edge("south"), west: edge("west"), north: edge("north"), east: edge("east") };
    if (!Object.values(box).every(Number.isFinite)) return notice("Edges must be numbers of degrees.");
    setBox(box);
  });
  document.addEventListener("keydown", shortcut);
  dark.addEventListener("change", () => void changed());
  new ResizeObserver(() => repaint()).observe(canvas);
  addEventListener("hashchange", () => { const wanted = fromHash(location.hash); open(wanted.release, wanted).catch(failed); });
  setInterval(() => { if (!document.hidden && !gone && meta) ask("alive", { release: view.release }).catch(failed); }, ALIVE_MS);
  canvas.addEventListener("webglcontextlost", (event) => { event.preventDefault(); message("The graphics card took its memory back. Reload the page."); });
}

function shortcut(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (!meta || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
  if (event.key === " " && /^(BUTTON|SUMMARY|A)$/.test(target.tagName)) return; // it presses the button
  const act = ({
    " ": () => (playing ? stop() : play()), ",": () => go(view.t - 1), ".": () => go(view.t + 1),
    "1": () => show("count"), "2": () => show("error"), "3": () => show("diff"),
    v: () => tool("pan"), b: () => tool("box"),
  } as Record<string, () => void>)[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function tool(name: "box" | "pan"): void {
  gestures.tool = name;
  canvas.dataset.tool = name;
  for (const other of ["box", "pan"]) $("tool-" + other).setAttribute("aria-pressed", String(other === name));
}

function moved(): void {
  overlayDue = true;
  writeHash();
  repaint();
}

function setBox(box: View["box"]): void {
  view.box = box;
  if (playing) stop(); // which asks
  else void askBox();
  const form = $<HTMLFormElement>("edges");
  if (box) for (const [name, value] of Object.entries(box)) (form.elements.namedItem(name) as HTMLInputElement).value = degrees(value);
  $("box-clear").hidden = !box;
  writeHash();
  repaint(false);
}

function clear(): void {
  Object.assign(view, { box: null, place: null });
  marks.hotspot = null;
  series = null;
  seriesOf = "";
  $("chart").replaceChildren();
  words($("box-answer"), "Drag a box on the map: how many pings, and how sure that is.");
  words($("hot-answer"), "Click a place: the nearest cell that busy, in space and time, and how likely it is.");
  void changed();
}

function rounded(lat: number, lon: number): { lat: number; lon: number } {
  return { lat: Number(lat.toFixed(6)), lon: Number(lon.toFixed(6)) };
}

function begin(): void {
  wire();
  gestures = new Gestures(canvas, {
    camera: () => camera,
    moved,
    hovers: (unit) => { hovered = unit; readout(); },
    drawing: (corners) => { marks.drawing = corners; overlayDue = true; repaint(false); },
    boxed: ([west, south, east, north]) => {
      const low = camera.place(west, south), high = camera.place(east, north), one = rounded(low.lat, low.lon), two = rounded(high.lat, high.lon);
      const { grid } = meta; // rounding must not push an edge out of the release's box
      setBox({ south: Math.max(one.lat, grid.south), west: Math.max(one.lon, grid.west), north: Math.min(two.lat, grid.north), east: Math.min(two.lon, grid.east) });
    },
    clicked: (unit) => {
      if (unit.some((edge) => edge < 0 || edge > 1)) return;
      const at = camera.place(...unit), found = rounded(at.lat, at.lon), { grid } = meta;
      view.place = { lat: clamp(found.lat, grid.south, grid.north), lon: clamp(found.lon, grid.west, grid.east) };
      marks.hotspot = null;
      writeHash();
      repaint(false);
      void askHotspot();
    },
    cross: (unit) => { marks.cross = unit; hovered = unit; readout(); repaint(false); },
    clear,
  });
  try { density = new Density(canvas); } catch (problem) { message((problem as Error).message); }
  document.documentElement.dataset.theme = theme();
  const wanted = fromHash(location.hash);
  open(wanted.release, wanted).catch(failed);
}

begin();
