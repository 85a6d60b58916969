// Slices that were fetched, kept while there is room. The same slice is asked for once, however many want it.
import { askPicture, type Picture } from "./api";

const ROOM_BYTES = 300e6;

export class Slices {
  private readonly held = new Map<string, Picture>();
  private readonly awaited = new Map<string, Promise<Picture>>();
  private bytes = 0;

  /** The slice, if it is there already. */
  peek(release: string, t: number, layer: string, factor: number): Picture | null {
    return this.held.get([release, t, layer, factor].join(" ")) ?? null;
  }

  fetch(release: string, t: number, layer: string, factor: number): Promise<Picture> {
    const name = [release, t, layer, factor].join(" ");
    const there = this.held.get(name);
    if (there) return Promise.resolve(there);
    const asked = this.awaited.get(name);
    if (asked) return asked;
    const coming = askPicture(release, t, layer, factor)
      .then((picture) => { this.keep(name, picture); return picture; })
      .finally(() => this.awaited.delete(name));
    this.awaited.set(name, coming);
    return coming;
  }

  clear(): void {
    this.held.clear();
    this.bytes = 0;
  }

  private keep(name: string, picture: Picture): void {
    this.held.set(name, picture);
    this.bytes += picture.half.byteLength;
    for (const [oldest, old] of this.held) {
      if (this.bytes <= ROOM_BYTES || oldest === name) break;
      this.held.delete(oldest);
      this.bytes -= old.half.byteLength;
    }
  }
}
