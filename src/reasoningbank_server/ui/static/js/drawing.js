// A graph drawn on a canvas in the page's colours: nodes by their labels, one path lit in its order.
// It is painted a few milliseconds at a time beside the picture that is seen, which follows the hand meanwhile.
import { Camera } from "./camera.js";
import { paint, radius } from "./painting.js";

const NAMES = ["UserRequest", "UserPreference", "AgentAnswer", "AgentAction", "Event", "DataSource", "Lesson"];
const LIGHT = ["#2563a8", "#8a4fb0", "#0b7a6c", "#5f7a12", "#b8501c", "#6b6459", "#a3324f"];
const DARK = ["#74b0f0", "#c79be8", "#57cdb9", "#b3cf5e", "#f29a63", "#b5ac9d", "#f07f9c"];
const PAINT_MS = 7;
const MARGIN = 0.25;
const PADDING = 70;
const LONGEST_NAME = 34;
const LONGEST_SENTENCE = 110;
const NEAR_PX = 5;
const dark = matchMedia("(prefers-color-scheme: dark)");

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export const labelNames = NAMES;
export function labelColour(label) {
  return (dark.matches ? DARK : LIGHT)[Math.max(0, NAMES.indexOf(label))];
}

function theme() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["ink", "muted", "line", "strong-line", "accent", "paper", "raised"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export class Drawing {
  constructor(place, picked) {
    Object.assign(this, { place, nodes: [], links: [], named: [], byId: new Map(), hidden: () => false, lit: null, chosen: null, pointed: null, theme: theme() });
    this.canvas = place.appendChild(document.createElement("canvas"));
    this.screen = this.canvas.getContext("2d");
    this.seen = this.#sheet();
    this.coming = this.#sheet();
    this.camera = new Camera(this.canvas, {
      moved: () => this.refresh(),
      tapped: (at) => (picked(this.#at(at)?.id ?? null), this.#point(this.#under(at))),
      hovered: (at) => this.#point(at && this.#under(at)),
    });
    this.restyle = () => {
      this.theme = theme();
      for (const node of this.nodes) node.colour = labelColour(node.kind);
      this.refresh();
    };
    dark.addEventListener("change", this.restyle);
    this.resized = new ResizeObserver(() => this.#resize());
    this.resized.observe(place);
  }

  #sheet() {
    const canvas = document.createElement("canvas");
    return { canvas, context: canvas.getContext("2d", { willReadFrequently: true }), view: null };
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.place;
    const dense = Math.min(2, devicePixelRatio || 1);
    Object.assign(this.canvas, { width: width * dense, height: height * dense });
    this.size = { width, height, dense };
    this.work = null;
    if (!this.camera.touched) this.#fit();
    this.refresh();
  }

  #at([x, y]) {
    const [scale, dx, dy] = this.camera.view();
    let best = null, least = Infinity;
    for (const node of this.nodes) {
      const far = Math.hypot(node.x * scale + dx - x, node.y * scale + dy - y);
      if (far < least && far <= radius(node, this.#zoom()) + 3 && !this.hidden(node.id)) [best, least] = [node, far];
    }
    return best;
  }

  // The node under a place, or the line that runs close by.
  #under([x, y]) {
    const node = this.#at([x, y]);
    if (node) return node;
    const [scale, dx, dy] = this.camera.view();
    let best = null, least = NEAR_PX;
    for (const link of this.links) {
      const { source, target } = link;
      const ax = source.x * scale + dx, ay = source.y * scale + dy, bx = target.x * scale + dx - ax, by = target.y * scale + dy - ay;
      const along = Math.max(0, Math.min(1, ((x - ax) * bx + (y - ay) * by) / (bx * bx + by * by || 1)));
      const far = Math.hypot(x - ax - along * bx, y - ay - along * by);
      if (far < least && link.text && !this.hidden(source.id) && !this.hidden(target.id)) [best, least] = [link, far];
    }
    return best;
  }

  #zoom() {
    return Math.sqrt(this.camera.scale / this.camera.whole) * Math.min(1, Math.sqrt(900 / (this.nodes.length + 1)));
  }

  #point(node) {
    if (this.pointed === node) return;
    this.pointed = node;
    this.canvas.style.cursor = node && !node.source ? "pointer" : "";
    this.#ask();
  }

  // Nodes and links as the server tells them, laid out anew.
  show({ nodes, links }) {
    const before = this.byId;
    this.byId = new Map();
    const degree = new Map();
    for (const link of links) for (const end of [link.source, link.target]) degree.set(end, (degree.get(end) ?? 0) + 1);
    this.nodes = nodes.map((node, index) => {
      const angle = index * 2.399963, far = Math.sqrt(index + 1);
      const name = node.title || node.text || node.key_lesson || node.id;
      const { x, y } = before.get(node.id) ?? { x: far * Math.cos(angle), y: far * Math.sin(angle) };
      const made = { id: node.id, x, y, index, size: 4 + 2 * Math.sqrt(degree.get(node.id) ?? 0), kind: node.label, colour: labelColour(node.label), name: shortened(name, LONGEST_NAME) };
      this.byId.set(node.id, made);
      return made;
    });
    this.links = [];
    for (const link of links) {
      const source = this.byId.get(link.source), target = this.byId.get(link.target);
      if (source && target) this.links.push({ id: link.id, source, target, weight: link.weight, width: 0.6 + 2 * link.weight, text: shortened(link.text ?? "", LONGEST_SENTENCE) });
    }
    this.named = [...this.nodes].sort((a, b) => b.size - a.size);
    this.pointed = null;
    this.work = null;
    this.#layOut();
    // More of the same graph: whoever looks at a part of it goes on doing so.
    if (!this.camera.touched || !nodes.some((node) => before.has(node.id))) this.#fit();
    this.refresh();
  }

  #layOut() {
    this.worker?.terminate();
    this.places = null;
    if (this.nodes.length < 2) return;
    const ends = new Int32Array(2 * this.links.length), weights = new Float32Array(this.links.length), start = new Float32Array(2 * this.nodes.length);
    this.links.forEach(({ source, target, weight }, number) => {
      ends.set([source.index, target.index], 2 * number);
      weights[number] = weight;
    });
    for (const { index, x, y } of this.nodes) start.set([x, y], 2 * index);
    this.worker = new Worker(new URL("./layout_worker.js", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data: { places, over } }) => {
      this.places = places;
      this.refresh();
      if (over) this.worker.terminate();
    };
    this.worker.postMessage({ count: this.nodes.length, ends, weights, start });
  }

  #fit() {
    const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
    for (const { x, y } of this.nodes) {
      box.left = Math.min(box.left, x);
      box.right = Math.max(box.right, x);
      box.top = Math.min(box.top, y);
      box.bottom = Math.max(box.bottom, y);
    }
    if (this.nodes.length) this.camera.fit(box, PADDING);
  }

  refresh() {
    this.stale = true;
    this.#ask();
  }

  #ask() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.size?.width) this.#draw();
    });
  }

  #draw() {
    const until = performance.now() + PAINT_MS;
    if (!this.work && this.stale) this.work = this.#begin();
    while (this.work && performance.now() < until) {
      const { done } = this.work.next();
      // A browser puts drawing off until somebody looks: then all of it would be done at once.
      this.coming.context.getImageData(0, 0, 1, 1);
      if (!done) continue;
      this.work = null;
      [this.seen, this.coming] = [this.coming, this.seen];
    }
    this.#put();
    if (this.work || this.stale) this.#ask();
  }

  #begin() {
    this.stale = false;
    if (this.places) {
      for (const node of this.nodes) [node.x, node.y] = [this.places[2 * node.index], this.places[2 * node.index + 1]];
      this.places = null;
      if (!this.camera.touched) this.#fit();
    }
    const { width, height, dense } = this.size;
    const [scale, x, y] = this.camera.view();
    const wide = Math.ceil(width * (1 + 2 * MARGIN)), high = Math.ceil(height * (1 + 2 * MARGIN));
    Object.assign(this.coming.canvas, { width: wide * dense, height: high * dense });
    this.coming.context.setTransform(dense, 0, 0, dense, 0, 0);
    this.coming.view = [scale, x + MARGIN * width, y + MARGIN * height];
    return paint(this.coming.context, this, { view: this.coming.view, width: wide, height: high, edges: [MARGIN * width, (1 + MARGIN) * width], zoom: this.#zoom() });
  }

  // The last whole picture, moved to where one looks now.
  #put() {
    const { width, height, dense } = this.size, screen = this.screen;
    screen.setTransform(1, 0, 0, 1, 0, 0);
    screen.clearRect(0, 0, width * dense, height * dense);
    const [scale, x, y] = this.camera.view();
    if (this.seen.view) {
      const [was, wasX, wasY] = this.seen.view, by = scale / was;
      screen.setTransform(by, 0, 0, by, dense * (x - wasX * by), dense * (y - wasY * by));
      screen.drawImage(this.seen.canvas, 0, 0);
    }
    screen.setTransform(dense, 0, 0, dense, 0, 0);
    const { pointed } = this;
    if (pointed?.source) this.#sentence(pointed, ((pointed.source.x + pointed.target.x) / 2) * scale + x, ((pointed.source.y + pointed.target.y) / 2) * scale + y);
    else if (pointed) this.#label(pointed, pointed.x * scale + x, pointed.y * scale + y);
  }

  // Over the middle of its line, as far as the view reaches.
  #sentence({ text }, x, y) {
    const screen = this.screen;
    screen.font = "12px ui-sans-serif, system-ui, sans-serif";
    const wide = screen.measureText(text).width + 16;
    const left = Math.max(4, Math.min(this.size.width - wide - 4, x - wide / 2));
    screen.fillStyle = this.theme.paper;
    screen.strokeStyle = this.theme.accent;
    screen.lineWidth = 1;
    screen.beginPath();
    screen.roundRect(left, y - 12, wide, 24, 6);
    screen.fill();
    screen.stroke();
    screen.fillStyle = this.theme.ink;
    screen.fillText(text, left + 8, y + 4);
  }

  #label(node, x, y) {
    const screen = this.screen, size = radius(node, this.#zoom());
    screen.font = "12px ui-sans-serif, system-ui, sans-serif";
    screen.fillStyle = this.theme.paper;
    screen.strokeStyle = node.colour;
    screen.lineWidth = 1.5;
    screen.beginPath();
    screen.roundRect(x - size - 4, y - 12, screen.measureText(node.name).width + 2 * size + 16, 24, 6);
    screen.fill();
    screen.stroke();
    screen.beginPath();
    screen.fillStyle = node.colour;
    screen.arc(x, y, size, 0, 2 * Math.PI);
    screen.fill();
    screen.fillStyle = this.theme.ink;
    screen.fillText(node.name, x + size + 5, y + 4);
  }

  zoom(factor) {
    this.camera.zoomSlowly(factor);
  }

  whole() {
    this.#fit();
    this.refresh();
  }

  close() {
    this.worker?.terminate();
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.camera.close();
    this.resized.disconnect();
    dark.removeEventListener("change", this.restyle);
    this.canvas.remove();
  }
}
