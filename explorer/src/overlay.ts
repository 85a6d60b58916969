// What lies over the map: the box, the place that was clicked, the hot spot, the cross of the keys, and a scale bar.
import type { Cell, Hotspot, Meta } from "./api";
import type { Camera } from "./camera";
import { element } from "./chart";
import type { View } from "./view";
import { nice } from "./words";

export interface Marks { drawing: [number, number, number, number] | null; cross: [number, number] | null; hotspot: Hotspot | null }

export function drawOverlay(svg: SVGSVGElement, camera: Camera, view: View, meta: Meta, marks: Marks): void {
  svg.replaceChildren();
  frame(svg, camera, [0, 0, 1, 1], "edge");
  if (view.box && !marks.drawing) {
    const [west, south] = camera.unitOf({ lat: view.box.south, lon: view.box.west });
    const [east, north] = camera.unitOf({ lat: view.box.north, lon: view.box.east });
    frame(svg, camera, [west, south, east, north], "box");
  }
  if (marks.drawing) frame(svg, camera, marks.drawing, "box drawing");
  if (view.place) {
    const [x, y] = camera.pixelOf(...camera.unitOf(view.place));
    if (marks.hotspot) {
      ring(svg, camera, [x, y], marks.hotspot, marks.hotspot.doubtful ? "hot guess" : "hot");
      if (marks.hotspot.likelier) ring(svg, camera, [x, y], marks.hotspot.likelier, "hot");
    }
    element("circle", { cx: x, cy: y, r: 4, class: "place" }, svg);
  }
  if (marks.cross) {
    const [x, y] = camera.pixelOf(...marks.cross);
    element("path", { d: `M${x - 12} ${y}H${x + 12}M${x} ${y - 12}V${y + 12}`, class: "cross-halo" }, svg);
    element("path", { d: `M${x - 12} ${y}H${x + 12}M${x} ${y - 12}V${y + 12}`, class: "cross" }, svg);
  }
  scaleBar(svg, camera, meta);
}

function ring(svg: SVGSVGElement, camera: Camera, [x, y]: [number, number], cell: Cell, name: string): void {
  const [cx, cy] = camera.pixelOf(...camera.unitOf(cell));
  element("line", { x1: x, y1: y, x2: cx, y2: cy, class: "way" }, svg);
  element("circle", { cx, cy, r: 9, class: "hot-halo" }, svg);
  element("circle", { cx, cy, r: 9, class: name }, svg);
}

function frame(svg: SVGSVGElement, camera: Camera, [west, south, east, north]: number[], name: string): void {
  const [left, bottom] = camera.pixelOf(west, south), [right, top] = camera.pixelOf(east, north);
  const place = { x: left, y: top, width: Math.max(right - left, 1), height: Math.max(bottom - top, 1) };
  if (name !== "edge") element("rect", { ...place, class: "halo" }, svg);
  element("rect", { ...place, class: name }, svg);
}

function scaleBar(svg: SVGSVGElement, camera: Camera, meta: Meta): void {
  const perPixel = camera.pixel[0] * meta.grid.width_m, metres = nice(120 * perPixel), wide = metres / perPixel;
  const right = svg.clientWidth - 16, y = svg.clientHeight - 16;
  element("path", { d: `M${right - wide} ${y - 5}V${y}H${right}V${y - 5}`, class: "scale-halo" }, svg);
  element("path", { d: `M${right - wide} ${y - 5}V${y}H${right}V${y - 5}`, class: "scale" }, svg);
  element("text", { x: right - wide / 2, y: y - 6, "text-anchor": "middle", class: "scale-text" }, svg).textContent =
    metres >= 1000 ? `${metres / 1000} km` : `${metres} m`;
}
