// Between pixels of the map and places. Unit coordinates: 0 to 1 from west to east, and from south to north.
import type { Meta } from "./api";
import type { Place, View } from "./view";

const MARGIN = 16;

export class Camera {
  constructor(private readonly canvas: HTMLCanvasElement, private readonly view: View, private readonly meta: Meta) {}

  /** Unit coordinates of one CSS pixel, to the right and upwards. */
  get pixel(): [number, number] {
    const { width_m, height_m } = this.meta.grid;
    const room = [Math.max(this.canvas.clientWidth - 2 * MARGIN, 50), Math.max(this.canvas.clientHeight - 2 * MARGIN, 50)];
    const metres = Math.max(width_m / room[0], height_m / room[1]) / this.view.zoom;
    return [metres / width_m, metres / height_m];
  }

  /** Unit coordinates of a pixel, from the upper left corner of the map. */
  unit(x: number, y: number): [number, number] {
    const [dx, dy] = this.pixel;
    return [this.view.x + (x - this.canvas.clientWidth / 2) * dx, this.view.y - (y - this.canvas.clientHeight / 2) * dy];
  }

  pixelOf(x: number, y: number): [number, number] {
    const [dx, dy] = this.pixel;
    return [(x - this.view.x) / dx + this.canvas.clientWidth / 2, this.canvas.clientHeight / 2 - (y - this.view.y) / dy];
  }

  place(x: number, y: number): Place {
    const { south, west, north, east } = this.meta.grid;
    return { lat: south + y * (north - south), lon: west + x * (east - west) };
  }

  unitOf(place: Place): [number, number] {
    const { south, west, north, east } = this.meta.grid;
    return [(place.lon - west) / (east - west), (place.lat - south) / (north - south)];
  }

  /** Zoom so that the place below a pixel stays there. */
  zoom(factor: number, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2): void {
    const before = this.unit(x, y);
    this.view.zoom = Math.max(0.8, Math.min(80, this.view.zoom * factor));
    const after = this.unit(x, y);
    this.move(before[0] - after[0], before[1] - after[1]);
  }

  move(dx: number, dy: number): void {
    this.view.x = clamp(this.view.x + dx, 0, 1);
    this.view.y = clamp(this.view.y + dy, 0, 1);
  }

  fit(): void {
    Object.assign(this.view, { x: 0.5, y: 0.5, zoom: 1 });
  }
}

export const clamp = (value: number, least: number, most: number) => Math.max(least, Math.min(most, value));
