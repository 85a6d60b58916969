// What is on screen, and how it stands in the address, so that a link brings it back.

export type Shown = "count" | "error" | "diff";
export interface Box { south: number; west: number; north: number; east: number }
export interface Place { lat: number; lon: number }
export interface View {
  release: string; t: number; shown: Shown; factor: number; bright: number;
  x: number; y: number; zoom: number;
  box: Box | null; place: Place | null; hot: number;
  other: string; otherT: number; theme: "" | "dark" | "light";
}

export const degrees = (value: number) => String(Number(value.toFixed(9)));

export function toHash(view: View): string {
  const parts: Record<string, string> = { r: view.release, t: String(view.t), v: view.shown, f: String(view.factor) };
  if (view.bright) parts.l = String(view.bright);
  if (view.zoom !== 1 || view.x !== 0.5 || view.y !== 0.5) parts.c = [view.x.toFixed(5), view.y.toFixed(5), view.zoom.toFixed(3)].join(",");
  if (view.box) parts.b = [view.box.south, view.box.west, view.box.north, view.box.east].map(degrees).join(",");
  if (view.place) parts.p = [view.place.lat, view.place.lon].map(degrees).join(",");
  if (view.hot) parts.d = String(view.hot);
  if (view.shown === "diff") { parts.o = view.other; parts.ot = String(view.otherT); }
  if (view.theme) parts.th = view.theme;
  return "#" + Object.entries(parts).map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%2C", ",")}`).join("&");
}

/** What an address says; what it does not say, or says badly, is left out. */
export function fromHash(hash: string): Partial<View> {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const found: Partial<View> = {};
  const numbers = (name: string, count: number): number[] | null => {
    const values = (parts.get(name) ?? "").split(",").map((text) => (text === "" ? NaN : Number(text)));
    return values.length === count && values.every(Number.isFinite) ? values : null;
  };
  const one = (name: string, take: (value: number) => void) => { const value = numbers(name, 1); if (value) take(value[0]); };
  if (parts.get("r")) found.release = parts.get("r")!;
  if (parts.get("o")) found.other = parts.get("o")!;
  const shown = parts.get("v"), theme = parts.get("th");
  if (shown === "count" || shown === "error" || shown === "diff") found.shown = shown;
  if (theme === "dark" || theme === "light") found.theme = theme;
  one("t", (value) => { found.t = Math.round(value); });
  one("ot", (value) => { found.otherT = Math.round(value); });
  one("f", (value) => { found.factor = value; });
  one("l", (value) => { found.bright = Math.max(-6, Math.min(6, value)); });
  one("d", (value) => { if (value >= 1) found.hot = value; });
  const centre = numbers("c", 3), box = numbers("b", 4), place = numbers("p", 2);
  if (centre) { [found.x, found.y, found.zoom] = centre; }
  if (box) { const [south, west, north, east] = box; found.box = { south, west, north, east }; }
  if (place) { const [lat, lon] = place; found.place = { lat, lon }; }
  return found;
}
