// What the server answers. All numbers that people read come formatted from the library.

export interface Entry {
  release_id: string; region: string; created: string; model: string;
  protected: boolean; withdrawn: boolean; comparable: boolean;
}
export interface Meta {
  release: {
    id: string; region: string; dataset: string; created: string; model: string; protected: boolean;
    withdrawn: string | null; promise: string; unit: string; deviations: boolean;
  };
  grid: {
    south: number; west: number; north: number; east: number; side: number; slices: number; slice_seconds: number;
    zone: string; starts: string[]; height_m: number; width_m: number; cell: string; factors: number[];
  };
  scale: { top: number; hot: number };
  releases: Entry[];
  backdrop: boolean;
  first: number;
}
export interface Told { count: number; deviation: number | null; count_text: string; deviation_text: string | null; told_from_zero: boolean }
export interface Counted extends Told { cells: number; area_km2: number; sentence: string; other?: Counted; difference?: Told }
export interface Series {
  counts: number[]; deviations: number[] | null; whole: Counted;
  forecast: { starts: string[]; mean: number[]; lower: number[]; upper: number[]; method: string; told_from_zero: boolean; sentence: string };
}
export interface Cell {
  lat: number; lon: number; slice: number; slices_away: number; distance_text: string; count_text: string;
  deviation_text: string | null; probability: number | null; start: string;
}
/** The best guess, and, where that is unlikely, the best of those with even odds. */
export interface Hotspot extends Cell {
  probability_within: number | null; density_text: string; extent_text: string; sentence: string; doubtful: boolean; likelier: Cell | null;
}
export interface Picture { side: number; exponent: number; half: Uint16Array }

/** A refusal, in the server's words. `gone`: nothing of the release may be shown any more. */
export class Refused extends Error {
  constructor(message: string, readonly gone: boolean) { super(message); }
}

type Values = Record<string, string | number>;

async function get(name: string, values: Values, signal?: AbortSignal): Promise<Response> {
  const query = new URLSearchParams(Object.entries(values).map(([key, value]) => [key, String(value)]));
  let response: Response;
  try {
    response = await fetch(`api/${name}?${query}`, { signal });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new Refused("The server does not answer. Was vdr explore ended? Start it again, and open the address it prints.", false);
  }
  if (response.ok) return response;
  const told = (await response.json().catch(() => null)) as { error?: string } | null;
  throw new Refused(told?.error ?? `The server answered ${response.status}.`, response.status === 410);
}

export async function ask<T>(name: string, values: Values, signal?: AbortSignal): Promise<T> {
  return (await get(name, values, signal)).json() as Promise<T>;
}

export async function askBytes(name: string, values: Values): Promise<ArrayBuffer> {
  return (await get(name, values)).arrayBuffer();
}

export async function askPicture(release: string, t: number, layer: string, factor: number): Promise<Picture> {
  const content = await askBytes("slice", { release, t, layer, factor });
  const header = new DataView(content);
  if (header.getUint32(0) !== 0x56445231) throw new Refused("The server sent a picture of another version; start it again.", false);
  return { side: header.getUint32(4, true), exponent: header.getInt32(8, true), half: new Uint16Array(content, 16) };
}

/** The value of a half float. */
export function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1, power = (bits >> 10) & 31, rest = bits & 1023;
  return sign * (power ? 2 ** (power - 15) * (1 + rest / 1024) : 2 ** -24 * rest);
}
