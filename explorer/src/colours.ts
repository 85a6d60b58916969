// Colour scales that people with any colour vision can read: counts by lightness, the other two between blue and orange.

type Theme = "dark" | "light";
const COUNT: Record<Theme, string[]> = {
  dark: ["#0e1018", "#231a4a", "#4b2270", "#7d2a78", "#ae3a6c", "#d95954", "#f28a3c", "#f8c553", "#fdfbd4"],
  light: ["#f7f5f0", "#f6e3b8", "#f5c184", "#ee9463", "#db6459", "#b53c62", "#842766", "#52195c", "#2a0f45"],
};
const ERROR: Record<Theme, string[]> = {
  dark: ["#9fd8ff", "#56a8ea", "#2f72b0", "#3a434f", "#4d3c29", "#644724", "#7d5622"],
  light: ["#0b4f8a", "#2f7fba", "#8fbbd8", "#e4e5e4", "#ebdcbf", "#e6cb9b", "#dfb674"],
};
const DIFFERENCE: Record<Theme, string[]> = {
  dark: ["#d3ebff", "#6fb6f5", "#2f7fc4", "#1b3f63", "#12141c", "#5f3413", "#b8641f", "#f2994a", "#ffe3c2"],
  light: ["#0a2f5c", "#1f65ad", "#6ba7d8", "#c9dff0", "#f7f5f0", "#f6d9bb", "#e19a55", "#b45c14", "#6b2f05"],
};

/** 256 colours, RGBA. */
export function palette(shown: "count" | "error" | "diff", theme: Theme): Uint8Array<ArrayBuffer> {
  const stops = { count: COUNT, error: ERROR, diff: DIFFERENCE }[shown][theme].map(channels);
  const colours = new Uint8Array(256 * 4);
  for (let at = 0; at < 256; at++) {
    const where = (at / 255) * (stops.length - 1), low = Math.min(Math.floor(where), stops.length - 2);
    for (let channel = 0; channel < 3; channel++) {
      colours[4 * at + channel] = stops[low][channel] + (where - low) * (stops[low + 1][channel] - stops[low][channel]);
    }
    colours[4 * at + 3] = 255;
  }
  return colours;
}

export function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

const STEEP = 60; // how much of the scale small counts get
/** Where on the scale a value stands: 0 to 1 for a count, the same on both sides of 0 for a difference. */
export const place = (value: number, top: number) => Math.log1p((STEEP * value) / top) / Math.log1p(STEEP);
export { STEEP };
