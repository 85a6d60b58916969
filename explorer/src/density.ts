// The map: two triangles and a few textures of half floats. One slice is one upload, and no number is touched on the way.
import type { Picture } from "./api";
import { channels, palette, STEEP } from "./colours";
import type { Shown } from "./view";

const VERTEX = `#version 300 es
const vec2 corner[3] = vec2[](vec2(-1, -1), vec2(3, -1), vec2(-1, 3));
void main() { gl_Position = vec4(corner[gl_VertexID], 0, 1); }`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform sampler2D now, later, spread, laterSpread, other, palette;
uniform vec4 frame;        // unit coordinates of the lower left corner, and of one pixel
uniform vec3 scales, moreScales; // of now, later, spread; of laterSpread, other
uniform vec2 squares;      // along a side of the picture, cut ones by their share
uniform vec3 ground;
uniform float between, top, ratio;
uniform int shown;
uniform bool smoothly;
out vec4 colour;

float read(sampler2D layer, vec2 at) {
  vec2 place = at * squares;
  return smoothly ? texture(layer, place / vec2(textureSize(layer, 0))).r : texelFetch(layer, ivec2(place), 0).r;
}
float stretch(float value) { return log(1.0 + ${STEEP}.0 * max(value, 0.0) / top) / log(${STEEP}.0 + 1.0); }
float relative(float count, float deviation) { return count > 0.0 ? min(deviation / count, 1.0) : 1.0; }

void main() {
  vec2 at = frame.xy + gl_FragCoord.xy * frame.zw;
  if (at.x < 0.0 || at.y < 0.0 || at.x >= 1.0 || at.y >= 1.0) { colour = vec4(ground, 1); return; }
  float count = read(now, at) * scales.x, place;
  if (shown == 1) {
    float error = relative(count, read(spread, at) * scales.z);
    if (between > 0.0) error = mix(error, relative(read(later, at) * scales.y, read(laterSpread, at) * moreScales.x), between);
    place = error;
  } else {
    if (between > 0.0) count = mix(count, read(later, at) * scales.y, between);
    float change = count - (shown == 2 ? read(other, at) * moreScales.y : 0.0);
    place = shown == 2 ? 0.5 + 0.5 * sign(change) * stretch(abs(change)) : stretch(count);
  }
  vec3 found = texture(palette, vec2(clamp(place, 0.0, 1.0) * 255.0 / 256.0 + 0.5 / 256.0, 0.5)).rgb;
  // Hatched: a count that two deviations bring down to zero. To be seen without any colour.
  if (shown == 1 && place > 0.5 && mod(gl_FragCoord.x + gl_FragCoord.y, 8.0 * ratio) < 2.0 * ratio) found *= 0.72;
  colour = vec4(found, 1);
}`;

const LINE_VERTEX = `#version 300 es
in vec2 point;
uniform vec4 frame;
uniform vec2 size;
void main() { gl_Position = vec4((point - frame.xy) / (frame.zw * size) * 2.0 - 1.0, 0, 1); }`;
const LINE_FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 ink;
out vec4 colour;
void main() { colour = ink; }`;

interface Texture { handle: WebGLTexture; scale: number; side: number }
export interface Frame {
  now: Picture; later: Picture | null; spread: Picture | null; laterSpread: Picture | null; other: Picture | null;
  between: number; shown: Shown; top: number; left: number; bottom: number; pixel: [number, number]; squares: number;
}

export class Density {
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private readonly lineProgram: WebGLProgram;
  private readonly textures = new Map<Picture, Texture>();
  private readonly colours: WebGLTexture;
  private readonly places = new Map<string, WebGLUniformLocation | null>();
  private lines: { array: WebGLVertexArrayObject; starts: number[]; lengths: number[] } | null = null;
  private ground = [0, 0, 0];
  private ink = [1, 1, 1, 0.3];

  constructor(readonly canvas: HTMLCanvasElement) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, powerPreference: "high-performance" });
    if (!gl) throw new Error("This browser has no WebGL 2, so there is no map. Boxes and hot spots can still be asked by the fields beside it.");
    this.gl = gl;
    this.program = link(gl, VERTEX, FRAGMENT);
    this.lineProgram = link(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.colours = gl.createTexture();
    gl.useProgram(this.program);
    ["now", "later", "spread", "laterSpread", "other", "palette"].forEach((name, unit) => gl.uniform1i(this.at(name), unit));
  }

  colour(shown: Shown, theme: "dark" | "light", ground: string): void {
    const gl = this.gl;
    gl.activeTexture(gl.TEXTURE5);
    gl.bindTexture(gl.TEXTURE_2D, this.colours);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, palette(shown, theme));
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    this.ground = channels(ground).map((value) => value / 255);
    this.ink = theme === "dark" ? [1, 1, 1, 0.45] : [0.1, 0.12, 0.2, 0.55];
  }

  /** Takes lines as the server packs them: how many, how long, points. */
  backdrop(content: ArrayBuffer | null): void {
    this.lines = null;
    if (!content) return;
    const gl = this.gl, count = new Uint32Array(content, 0, 1)[0];
    const lengths = [...new Uint32Array(content, 4, count)];
    let start = 0;
    const starts = lengths.map((length) => (start += length) - length);
    const array = gl.createVertexArray(), buffer = gl.createBuffer();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(content, 4 + 4 * count), gl.STATIC_DRAW);
    const place = gl.getAttribLocation(this.lineProgram, "point");
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, 2, gl.FLOAT, false, 0, 0);
    gl.bindVertexArray(null);
    this.lines = { array, starts, lengths };
  }

  resize(ratio: number): void {
    const { clientWidth, clientHeight } = this.canvas;
    const width = Math.max(1, Math.round(clientWidth * ratio)), height = Math.max(1, Math.round(clientHeight * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
  }

  clear(): void {
    const gl = this.gl;
    gl.clearColor(this.ground[0], this.ground[1], this.ground[2], 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  draw(frame: Frame, ratio: number): void {
    const gl = this.gl, { width, height } = this.canvas;
    gl.viewport(0, 0, width, height);
    gl.useProgram(this.program);
    const layers = [frame.now, frame.later, frame.spread, frame.laterSpread, frame.other].map((picture) => (picture ? this.texture(picture) : null));
    layers.forEach((layer, unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, (layer ?? layers[0]!).handle);
    });
    gl.activeTexture(gl.TEXTURE5);
    gl.bindTexture(gl.TEXTURE_2D, this.colours);
    const scale = (number: number) => layers[number]?.scale ?? 1;
    const cell = 1 / frame.squares / frame.pixel[0];
    gl.uniform4f(this.at("frame"), frame.left, frame.bottom, frame.pixel[0], frame.pixel[1]);
    gl.uniform3f(this.at("scales"), scale(0), scale(1), scale(2));
    gl.uniform3f(this.at("moreScales"), scale(3), scale(4), 1);
    gl.uniform2f(this.at("squares"), frame.squares, frame.squares);
    gl.uniform3f(this.at("ground"), this.ground[0], this.ground[1], this.ground[2]);
    gl.uniform1f(this.at("between"), frame.later && (frame.shown !== "error" || frame.laterSpread) ? frame.between : 0);
    gl.uniform1f(this.at("top"), frame.top);
    gl.uniform1f(this.at("ratio"), ratio);
    gl.uniform1i(this.at("shown"), { count: 0, error: 1, diff: 2 }[frame.shown]);
    gl.uniform1i(this.at("smoothly"), cell < 7 * ratio ? 1 : 0);
    this.clear();
    this.onlyTheBox(frame);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.disable(gl.SCISSOR_TEST);
    this.drawLines(frame);
  }

  /** Outside of the release's box there is nothing to work out. */
  private onlyTheBox(frame: Frame): void {
    const { left, bottom, pixel } = frame, gl = this.gl;
    const from = [Math.floor(-left / pixel[0]), Math.floor(-bottom / pixel[1])];
    const to = [Math.ceil((1 - left) / pixel[0]), Math.ceil((1 - bottom) / pixel[1])];
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(from[0], from[1], Math.max(0, to[0] - from[0]), Math.max(0, to[1] - from[1]));
  }

  private drawLines(frame: Frame): void {
    if (!this.lines) return;
    const gl = this.gl;
    gl.useProgram(this.lineProgram);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.uniform4f(gl.getUniformLocation(this.lineProgram, "frame"), frame.left, frame.bottom, frame.pixel[0], frame.pixel[1]);
    gl.uniform2f(gl.getUniformLocation(this.lineProgram, "size"), this.canvas.width, this.canvas.height);
    gl.uniform4fv(gl.getUniformLocation(this.lineProgram, "ink"), this.ink);
    gl.bindVertexArray(this.lines.array);
    this.lines.starts.forEach((start, line) => gl.drawArrays(gl.LINE_STRIP, start, this.lines!.lengths[line]));
    gl.bindVertexArray(null);
    gl.disable(gl.BLEND);
  }

  private texture(picture: Picture): Texture {
    const known = this.textures.get(picture);
    if (known) {
      this.textures.delete(picture); // to the end: used last
      this.textures.set(picture, known);
      return known;
    }
    const gl = this.gl, spare = this.textures.size >= 12 ? this.textures.entries().next().value! : null;
    const handle = spare ? spare[1].handle : gl.createTexture();
    if (spare) this.textures.delete(spare[0]);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, handle);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 2);
    if (spare && spare[1].side === picture.side) {
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, picture.side, picture.side, gl.RED, gl.HALF_FLOAT, picture.half);
    } else {
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.R16F, picture.side, picture.side, 0, gl.RED, gl.HALF_FLOAT, picture.half);
    }
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.LINEAR);
    const made = { handle, scale: 2 ** picture.exponent, side: picture.side };
    this.textures.set(picture, made);
    return made;
  }

  private at(name: string): WebGLUniformLocation | null {
    if (!this.places.has(name)) this.places.set(name, this.gl.getUniformLocation(this.program, name));
    return this.places.get(name)!;
  }
}

function link(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) ?? "no shader");
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program) ?? "no program");
  return program;
}
