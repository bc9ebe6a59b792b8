// Where one looks from: dragged, pinched, turned by the wheel; what it shows is asked for in pixels of the screen.
const CLICK_PX = 5;
const WHEEL = 0.0016;
const FURTHEST = 0.25;
const CLOSEST = 60;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Camera {
  // `moved` after each change; `tapped` and `hovered` with the place in pixels, `hovered` with null when nobody points any more.
  constructor(place, { moved, tapped, hovered }) {
    Object.assign(this, { place, moved, x: 0, y: 0, scale: 1, whole: 1, touched: false, pointers: new Map(), far: 0 });
    const ending = new AbortController();
    const on = (name, act, options) => place.addEventListener(name, act, { signal: ending.signal, ...options });
    on("pointerdown", (event) => {
      place.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, this.#of(event));
      this.far = this.pointers.size > 1 ? CLICK_PX : 0;
    });
    on("pointermove", (event) => (this.pointers.has(event.pointerId) ? this.#drag(event) : hovered(this.#of(event))));
    on("pointerup", (event) => {
      if (this.pointers.delete(event.pointerId) && this.far < CLICK_PX) tapped(this.#of(event));
    });
    on("pointercancel", (event) => this.pointers.delete(event.pointerId));
    on("pointerleave", () => hovered(null));
    on("wheel", (event) => {
      event.preventDefault();
      this.zoomAt(this.#of(event), Math.exp(-event.deltaY * (event.deltaMode ? 20 : 1) * WHEEL));
    }, { passive: false });
    on("dblclick", (event) => this.zoomSlowly(2, this.#of(event)));
    this.close = () => (ending.abort(), cancelAnimationFrame(this.turn));
  }

  #of(event) {
    const box = this.place.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #drag(event) {
    const before = this.pointers.get(event.pointerId);
    const [x, y] = this.#of(event);
    const other = [...this.pointers.entries()].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, [x, y]);
    this.far += Math.hypot(x - before[0], y - before[1]);
    if (this.far < CLICK_PX) return;
    const share = other ? 0.5 : 1;
    this.x -= (share * (x - before[0])) / this.scale;
    this.y -= (share * (y - before[1])) / this.scale;
    if (other) {
      const apart = (of) => Math.max(1, Math.hypot(of[0] - other[0], of[1] - other[1]));
      this.zoomAt([(x + other[0]) / 2, (y + other[1]) / 2], apart([x, y]) / apart(before));
    } else this.#tell();
  }

  #tell() {
    this.touched = true;
    this.moved();
  }

  zoomAt([px, py], factor) {
    const scale = Math.min(CLOSEST * this.whole, Math.max(FURTHEST * this.whole, this.scale * factor));
    const dx = px - this.place.clientWidth / 2, dy = py - this.place.clientHeight / 2;
    this.x += dx / this.scale - dx / scale;
    this.y += dy / this.scale - dy / scale;
    this.scale = scale;
    this.#tell();
  }

  zoomSlowly(factor, at = [this.place.clientWidth / 2, this.place.clientHeight / 2]) {
    const steps = calm.matches ? 1 : 9;
    let left = steps;
    const step = () => {
      this.zoomAt(at, factor ** (1 / steps));
      if (--left) this.turn = requestAnimationFrame(step);
    };
    cancelAnimationFrame(this.turn);
    step();
  }

  // Everything in view, until somebody moves.
  fit({ left, right, top, bottom }, padding) {
    const width = Math.max(1, this.place.clientWidth - 2 * padding), height = Math.max(1, this.place.clientHeight - 2 * padding);
    this.whole = Math.min(width / Math.max(1e-6, right - left), height / Math.max(1e-6, bottom - top), 90);
    Object.assign(this, { x: (left + right) / 2, y: (top + bottom) / 2, scale: this.whole, touched: false });
  }

  // From the graph's places to pixels, as [scale, x, y].
  view() {
    return [this.scale, this.place.clientWidth / 2 - this.x * this.scale, this.place.clientHeight / 2 - this.y * this.scale];
  }
}
