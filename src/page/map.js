// The map: notes as points, near each other if their meaning is similar. Drawn on a canvas, so that 10,000
// notes are quick; with the keyboard, the arrow keys go from note to note.
import { app, call, here, inProject, withParams } from "./app.js";
import { fill, h } from "./dom.js";
import { empty, noProject, page, sentence } from "./parts.js";
import { dayName, number, percent, plural } from "./text.js";

export const title = "Map";

const COLORS = 8;
const NAMED = 150; // at most so many notes in view have labels

// The largest groups get a color each; the others share the last one.
function colorsOf(points) {
  const count = new Map();
  for (const { groupId } of points) count.set(groupId, (count.get(groupId) ?? 0) + 1);
  const order = [...count].sort((a, b) => b[1] - a[1]);
  return order.map(([group, notes], i) => ({ group, notes, color: Math.min(i, COLORS - 1) }));
}

class Plot {
  constructor(canvas, points, groups, label) {
    Object.assign(this, { canvas, points, label, groups: new Map(groups.map((g) => [g.group, g])) });
    this.off = new Set();
    this.reset();
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.#listen();
  }

  reset() {
    Object.assign(this, { scale: 1, x: 0, y: 0, current: undefined });
  }

  get shown() {
    return this.off.size ? this.points.filter(({ groupId }) => !this.off.has(groupId)) : this.points;
  }

  // The place of a point on the canvas, in CSS pixels.
  at({ x, y }) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const half = (Math.min(w, h * 1.6) / 2 - 16) * this.scale;
    return [w / 2 + (x - this.x) * half, h / 2 - (y - this.y) * half * 0.62];
  }

  // Draws the points into a picture, which is shown until they move.
  draw() {
    const { canvas } = this;
    const ratio = devicePixelRatio;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    this.size = this.points.length > 3000 ? 2.2 : this.points.length > 600 ? 3.2 : 5.5;
    this.placed = this.shown.map((point) => [point, ...this.at(point)]);
    this.picture = new OffscreenCanvas(canvas.width || 1, canvas.height || 1);
    const c = this.picture.getContext("2d");
    c.scale(ratio, ratio);
    c.globalAlpha = this.points.length > 3000 ? 0.6 : 0.8;
    const style = getComputedStyle(canvas);
    const dots = Array.from({ length: COLORS }, (_, i) => this.#dot(style.getPropertyValue(`--group-${i}`), ratio));
    const half = this.size + 1;
    for (const [point, x, y] of this.placed)
      c.drawImage(dots[this.groups.get(point.groupId).color], x - half, y - half, 2 * half, 2 * half);
    c.globalAlpha = 1;
    this.#name(c, style, this.size);
    this.#show();
  }

  #dot(color, ratio) {
    const half = this.size + 1;
    const side = Math.ceil(2 * half * ratio);
    const dot = new OffscreenCanvas(side, side);
    const c = dot.getContext("2d");
    c.fillStyle = color;
    c.scale(side / (2 * half), side / (2 * half));
    c.arc(half, half, this.size, 0, 7);
    c.fill();
    return dot;
  }

  #show() {
    const c = this.canvas.getContext("2d");
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    c.drawImage(this.picture, 0, 0);
    c.scale(devicePixelRatio, devicePixelRatio);
    if (this.current) this.#ring(c, getComputedStyle(this.canvas), this.size);
  }

  // Writes the labels of the notes in view, if these are few, where there is space.
  #name(c, style, size) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const inView = this.placed.filter(([, x, y]) => x > 0 && x < w && y > 0 && y < h);
    if (inView.length > NAMED) return;
    c.fillStyle = style.getPropertyValue("--soft");
    c.font = `12px ${style.fontFamily}`;
    c.textBaseline = "middle";
    const taken = inView.map(([, x, y]) => [x - size, y - size, x + size, y + size]);
    for (const [point, x, y] of inView) {
      const text = point.label.length > 38 ? `${point.label.slice(0, 36)}…` : point.label;
      const wide = c.measureText(text).width;
      const box = [[size + 5, 0], [-size - 5 - wide, 0], [-wide / 2, -15], [-wide / 2, 15]]
        .map(([dx, dy]) => [x + dx, y + dy - 8, x + dx + wide, y + dy + 8])
        .find((b) => b[0] > 4 && b[2] < w - 4 && !taken.some((o) => b[0] < o[2] && o[0] < b[2] && b[1] < o[3] && o[1] < b[3]));
      if (!box) continue;
      taken.push(box);
      c.fillText(text, box[0], (box[1] + box[3]) / 2);
    }
  }

  #ring(c, style, size) {
    const [x, y] = this.at(this.current);
    c.strokeStyle = style.getPropertyValue("--ink");
    c.lineWidth = 2;
    c.beginPath();
    c.arc(x, y, size + 4, 0, 7);
    c.stroke();
  }

  nearest(x, y, most) {
    let best;
    let distance = most ** 2;
    for (const [point, px, py] of this.placed) {
      const d = (px - x) ** 2 + (py - y) ** 2;
      if (d < distance) [best, distance] = [point, d];
    }
    return best;
  }

  // The nearest note in a direction; notes far off that direction count less.
  next(dx, dy) {
    if (!this.current) return this.placed[0]?.[0];
    const [x, y] = this.at(this.current);
    let best;
    let least = Infinity;
    for (const [point, px, py] of this.placed) {
      const along = (px - x) * dx + (py - y) * dy;
      const across = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
      const cost = along + 2 * across;
      if (along > 0.5 && across <= along * 1.5 && cost < least) [best, least] = [point, cost];
    }
    return best ?? this.current;
  }

  select(point) {
    if (point === this.current) return;
    this.current = point;
    this.label.textContent = point ? `${point.label} · ${point.groupId} · ${dayName(point.createdAt)}` : "";
    this.canvas.classList.toggle("over", Boolean(point));
    this.#show();
  }

  open() {
    if (this.current) location.hash = withParams({ note: this.current.id });
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const scale = Math.min(40, Math.max(1, this.scale * factor));
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const half = Math.min(w, h * 1.6) / 2 - 16;
    this.x += (x - w / 2) * (1 / this.scale - 1 / scale) / half;
    this.y -= (y - h / 2) * (1 / this.scale - 1 / scale) / half / 0.62;
    this.scale = scale;
    if (scale === 1) this.x = this.y = 0;
    this.draw();
  }

  move(dx, dy) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const half = (Math.min(w, h * 1.6) / 2 - 16) * this.scale;
    this.x -= dx / half;
    this.y += dy / half / 0.62;
    this.draw();
  }

  #keys = {
    ArrowLeft: () => this.select(this.next(-1, 0)),
    ArrowRight: () => this.select(this.next(1, 0)),
    ArrowUp: () => this.select(this.next(0, -1)),
    ArrowDown: () => this.select(this.next(0, 1)),
    Enter: () => this.open(),
    "+": () => this.zoom(1.5),
    "-": () => this.zoom(1 / 1.5),
    0: () => (this.select(undefined), this.reset(), this.draw()),
  };

  #listen() {
    const { canvas } = this;
    let drag;
    canvas.addEventListener("keydown", (event) => {
      const run = this.#keys[event.key];
      if (!run || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      run();
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, far: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return this.select(this.nearest(event.offsetX, event.offsetY, 14));
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (Math.abs(dx) + Math.abs(dy) < 4 && !drag.far) return;
      drag = { x: event.clientX, y: event.clientY, far: true };
      this.move(dx, dy);
    });
    canvas.addEventListener("pointerup", (event) => {
      const click = drag && !drag.far;
      drag = undefined;
      if (!click) return;
      this.select(this.nearest(event.offsetX, event.offsetY, 18));
      this.open();
    });
  }
}

function legend(plot, groups) {
  return h("ul.legend", { "aria-label": "Groups" }, groups.slice(0, 40).map(({ group, notes, color }) => h("li", null, h("button", {
    type: "button", "aria-pressed": "true", onclick: (event) => {
      const on = plot.off.delete(group) || !plot.off.add(group);
      event.currentTarget.setAttribute("aria-pressed", String(on));
      plot.select(undefined);
      plot.draw();
    },
  }, h("span", { class: `dot group-${color}`, "aria-hidden": "true" }), h("bdi", null, group), h("span.count", null, number(notes))))));
}

export async function show(main, params) {
  if (!app.project) {
    fill(main, page(title, noProject()));
    return {};
  }
  const body = h("div");
  fill(main, page(title, body));
  let drawn; // the answer that is shown: the same one keeps the focus, the selected note and the zoom
  const read = async () => {
    try {
      const answer = await call("memory.map", inProject(here().params.group ? { groupId: params.group } : {}));
      const text = JSON.stringify(answer);
      if (text === drawn) return;
      drawn = text;
      if (!answer.points.length) {
        fill(body, empty("Nothing to show on a map", h("p", null, answer.pending ? "The vectors of the notes are still being computed." : "This project has no notes.")));
        return;
      }
      const groups = colorsOf(answer.points);
      const label = h("p.label", { role: "status" });
      const canvas = h("canvas.map", {
        tabindex: "0", role: "application", "aria-roledescription": "map",
        "aria-label": `Map of ${plural(answer.points.length, "note")}. Arrow keys go from note to note, Enter opens one, plus and minus zoom, 0 resets.`,
      });
      const plot = new Plot(canvas, answer.points, groups, label);
      const part = answer.sampled ? `A sample of ${number(answer.points.length)} of ${number(answer.total)} notes` : plural(answer.points.length, "note");
      fill(body, h("p.hint", null, `${part}, near each other if their meaning is similar. The two directions show ${percent(answer.share)} of the differences.`,
        answer.pending ? ` ${plural(answer.pending, "note")} without a vector yet.` : ""), legend(plot, groups), h("div.plot", null, canvas, label));
      plot.draw();
    } catch (error) {
      drawn = undefined;
      fill(body, sentence(error));
    }
  };
  await read();
  return { refresh: read };
}
