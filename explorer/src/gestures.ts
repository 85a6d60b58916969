// What a person does on the map, by pointer, touch and keys, told as a few events.
import { clamp, type Camera } from "./camera";

export interface Events {
  camera(): Camera;
  moved(): void;                                                        // the view has changed
  hovers(unit: [number, number] | null): void;
  drawing(corners: [number, number, number, number] | null): void;      // a box that is not finished: unit coordinates
  boxed(corners: [number, number, number, number]): void;
  clicked(unit: [number, number]): void;
  cross(unit: [number, number] | null): void;                           // the cross of those who use keys
  clear(): void;
}

const CLICK_PIXELS = 5;

export class Gestures {
  tool: "box" | "pan" = "box";
  private readonly fingers = new Map<number, [number, number]>();
  private start: [number, number] | null = null;
  private panning = false;
  private cursor: [number, number] | null = null;
  private corner: [number, number] | null = null;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly events: Events) {
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", (event) => { this.fingers.delete(event.pointerId); this.start = null; events.drawing(null); });
    canvas.addEventListener("pointerleave", () => events.hovers(null));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      events.camera().zoom(Math.exp(-clamp(event.deltaY, -120, 120) / 300), event.offsetX, event.offsetY);
      events.moved();
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => events.cross(null));
  }

  private down(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.start = this.fingers.size === 1 ? [event.offsetX, event.offsetY] : null;
    this.panning = this.tool === "pan" || event.shiftKey || event.button !== 0;
    if (this.fingers.size > 1) this.events.drawing(null);
  }

  private move(event: PointerEvent): void {
    const camera = this.events.camera(), now: [number, number] = [event.offsetX, event.offsetY], before = this.fingers.get(event.pointerId);
    if (!before) return this.events.hovers(camera.unit(...now));
    if (this.fingers.size === 2) return this.pinch(event.pointerId, now);
    this.fingers.set(event.pointerId, now);
    if (!this.start) return;
    if (this.panning) {
      const [dx, dy] = camera.pixel;
      camera.move((before[0] - now[0]) * dx, (now[1] - before[1]) * dy);
      this.events.moved();
    } else if (Math.hypot(now[0] - this.start[0], now[1] - this.start[1]) > CLICK_PIXELS) {
      this.events.drawing(this.corners(this.start, now));
    }
  }

  private pinch(finger: number, now: [number, number]): void {
    const camera = this.events.camera(), other = [...this.fingers].find(([id]) => id !== finger)![1], before = this.fingers.get(finger)!;
    const apart = (point: [number, number]) => Math.max(10, Math.hypot(point[0] - other[0], point[1] - other[1]));
    camera.zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    const [dx, dy] = camera.pixel;
    camera.move(((before[0] - now[0]) / 2) * dx, ((now[1] - before[1]) / 2) * dy);
    this.fingers.set(finger, now);
    this.events.moved();
  }

  private up(event: PointerEvent): void {
    const now: [number, number] = [event.offsetX, event.offsetY], start = this.start;
    this.fingers.delete(event.pointerId);
    this.start = null;
    if (!start) return;
    const moved = Math.hypot(now[0] - start[0], now[1] - start[1]) > CLICK_PIXELS;
    if (!moved && event.button === 0) this.events.clicked(this.events.camera().unit(...now));
    else if (moved && !this.panning) this.finish(this.corners(start, now));
  }

  private corners(one: [number, number], two: [number, number]): [number, number, number, number] {
    const camera = this.events.camera();
    return order(camera.unit(...one), camera.unit(...two));
  }

  private finish(corners: [number, number, number, number]): void {
    this.events.drawing(null);
    const [west, south, east, north] = corners.map((edge) => clamp(edge, 0, 1));
    if (east > west && north > south) this.events.boxed([west, south, east, north]);
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const camera = this.events.camera();
    if (step) {
      const [dx, dy] = camera.pixel, pixels = event.shiftKey ? 40 : 8;
      const from = this.cursor ?? camera.unit(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2);
      this.cursor = [clamp(from[0] + step[0] * pixels * dx, 0, 1), clamp(from[1] + step[1] * pixels * dy, 0, 1)];
      this.events.cross(this.cursor);
      if (this.corner) this.events.drawing(order(this.corner, this.cursor));
    } else if (event.key === "Enter" && this.cursor) {
      if (this.corner) this.endBox(); else this.events.clicked(this.cursor);
    } else if (event.key === "b" || event.key === "B") {
      if (this.corner) this.endBox(); else this.corner = this.cursor ??= camera.unit(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2);
      this.events.cross(this.cursor);
    } else if (event.key === "Escape") {
      this.corner = null;
      this.events.drawing(null);
      this.events.clear();
    } else if (event.key === "+" || event.key === "=") { camera.zoom(1.5); this.events.moved(); }
    else if (event.key === "-") { camera.zoom(1 / 1.5); this.events.moved(); }
    else if (event.key === "0") { camera.fit(); this.events.moved(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private endBox(): void {
    const corners = order(this.corner!, this.cursor!);
    this.corner = null;
    this.finish(corners);
  }
}

function order(one: [number, number], two: [number, number]): [number, number, number, number] {
  return [Math.min(one[0], two[0]), Math.min(one[1], two[1]), Math.max(one[0], two[0]), Math.max(one[1], two[1])];
}
