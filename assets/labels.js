// Names stand at their lines, in the lines' colours, where every one finds a place of its own; elsewhere the legend stays.
// What is drawn as a shape has its name in it or beside it, or above it, where the legend would have been.
// Only charts that say so (`layout.meta.labels`), each time they are drawn.
const CELL = 4;
/** A legend that takes this share of a chart leaves too little of it: names then may cross lines. */
const CROWDED = 0.3;
const GAPS = [6, 14, 28, 44];

/** The places of a trace in pixels of the plot, with enough of them on the way. */
function path({ _fullLayout: { xaxis, yaxis } }, trace, points) {
  const found = [];
  let last = null;
  for (const { x, y } of points) {
    const place = [xaxis.c2p(x), yaxis.c2p(y)];
    if (!place.every(Number.isFinite)) {
      last = null;
      continue;
    }
    const steps = last === null ? 1 : Math.min(Math.ceil(Math.hypot(place[0] - last[0], place[1] - last[1]) / CELL), 500);
    for (let step = 1; step < steps && trace.mode.includes("lines"); step++)
      found.push([0, 1].map((axis) => last[axis] + ((place[axis] - last[axis]) * step) / steps));
    found.push(place);
    last = place;
  }
  return found.filter(([x, y]) => x >= 0 && x <= xaxis._length && y >= -1 && y <= yaxis._length + 1);
}

/** The plot in cells, each with a bit for every trace that passes through it. */
class Cells {
  constructor(width, height, paths) {
    this.across = Math.ceil(width / CELL) + 1;
    this.down = Math.ceil(height / CELL) + 1;
    this.bits = new Int32Array(this.across * this.down);
    paths.forEach((places, number) => {
      for (const [x, y] of places) this.bits[this.at(y, this.down) * this.across + this.at(x, this.across)] |= 1 << number % 31;
    });
  }

  at(pixel, count) {
    return Math.max(0, Math.min(count - 1, Math.floor(pixel / CELL)));
  }

  /** The traces that pass through a box. */
  within([left, top, right, bottom]) {
    let found = 0;
    const [low, high] = [this.at(left, this.across), this.at(right, this.across)];
    for (let y = this.at(top, this.down); y <= this.at(bottom, this.down); y++)
      for (let x = low; x <= high; x++) found |= this.bits[y * this.across + x];
    return found;
  }
}

const bits = (mask) => (mask ? 1 + bits(mask & (mask - 1)) : 0);
const apart = (one, other) => one[2] < other[0] || other[2] < one[0] || one[3] < other[1] || other[3] < one[1];
const wider = ([left, top, right, bottom], by) => [left - by, top - by, right + by, bottom + by];

/** Places for a name beside its line, the best first: near no other line, on one row, and far to the right. */
function beside({ number, shapes }, paths, cells, taken, [width, height]) {
  const found = [];
  const places = paths[number];
  const step = Math.max(1, Math.floor(places.length / 60));
  for (let at = places.length - 1; at >= 0; at -= step) {
    const [x, y] = places[at];
    for (const { rows, size: [w, h] } of shapes)
      for (const gap of GAPS)
        [
          [x - w / 2, y - h - gap], [x - w / 2, y + gap], [x - w, y - h - gap], [x, y - h - gap],
          [x + 2 * gap, y - h / 2], [x - w - 2 * gap, y - h / 2], [x - w, y + gap], [x, y + gap],
        ].forEach(([left, top], way) => {
          const box = [left, top, left + w, top + h];
          if (left < 2 || top < 0 || box[2] > width - 2 || box[3] > height - 2) return;
          if (!taken.every((other) => apart(box, other))) return;
          const crossing = bits(cells.within(wider(box, 1)));
          const near = crossing || bits(cells.within(wider(box, 9)) & ~(1 << number % 31));
          const cost = 100 * crossing + 5 * near + way / 4 + (8 * (width - x)) / width + 3 * rows.length + gap / 2 + (gap > 14 ? 12 : 0);
          found.push({ box, rows, crossing, cost });
        });
  }
  return found.sort((one, other) => one.cost - other.cost);
}

const plain = (text) => text.replace(/<[^>]*>/g, "");

/** A name on one row, and a long one on two as well, with the sizes of their boxes; powers stay on one. */
function shapes(text, height) {
  const ways = [[text]];
  if (text.length > 14 && text.includes(" ") && text === plain(text)) {
    const words = text.split(" ");
    const first = words.findIndex((_, n) => words.slice(0, n + 1).join(" ").length >= text.length / 2) + 1;
    if (first < words.length) ways.push([words.slice(0, first).join(" "), words.slice(first).join(" ")]);
  }
  const widest = (rows) => Math.max(...rows.map((row) => pen.measureText(plain(row)).width));
  return ways.map((rows) => ({ rows, size: [widest(rows) + 4, 1.15 * height * rows.length] }));
}

/** The boxes of what is written in the plot already. */
function written(chart, left, top) {
  return [...chart.querySelectorAll(".annotation-text, .textpoint text, .shape-label text")].map((text) => {
    const box = text.getBoundingClientRect();
    return wider([box.left - left, box.top - top, box.right - left, box.bottom - top], 2);
  });
}

/** The boxes of straight lines that are no traces, and of bars. */
function ruled(chart, left, top) {
  const boxes = (what) => [...chart.querySelectorAll(what)].map((one) => one.getBoundingClientRect());
  const thin = boxes(".shapelayer path").filter((box) => Math.min(box.width, box.height) < CELL);
  const found = [...thin, ...boxes(".barlayer .point path").filter((box) => box.width && box.height)];
  return found.map((box) => wider([box.left - left, box.top - top, box.right - left, box.bottom - top], 2));
}

/** Places for the name of a shape: in it, and above the plot where it ends or begins. */
function within(chart, { trace, shapes }, taken, [left, top], [width, height]) {
  const shape = chart.querySelector(`.shapelayer path[data-index="${trace.meta.shape}"]`)?.getBoundingClientRect();
  if (!shape) return [];
  const [low, high] = [shape.left - left, shape.right - left];
  const found = [];
  for (const { rows, size: [w, h] } of shapes) {
    const line = high - low < CELL;
    const inside = line ? [high + 6, low - 6 - w] : [(low + high - w) / 2];
    const above = line ? [(low + high - w) / 2, low - w, high] : [high - w, low];
    for (const x of inside)
      for (let y = 4; y < height - h; y += 8)
        found.push({ box: [x, y, x + w, y + h], rows, cost: (line ? 0 : 9) + rows.length + y / height });
    for (const x of [...above, Math.max(0, Math.min(width - w, high - w))])
      for (const y of [-h - 3, -2 * h - 5]) found.push({ box: [x, y, x + w, y + h], rows, cost: 4 + rows.length - y / h });
  }
  const fits = ({ box }) =>
    box[0] >= 0 && box[2] <= width && (high - low < CELL || box[1] < 0 || high - low > box[2] - box[0]) && taken.every((other) => apart(box, other));
  return found.filter(fits).sort((one, other) => one.cost - other.cost);
}

const pen = document.createElement("canvas").getContext("2d");

/** Every name with its box; null where the legend tells more. With `any`, names may cross lines. */
function placed(chart, any) {
  const { xaxis, yaxis, legend } = chart._fullLayout;
  const room = [xaxis._length, yaxis._length];
  pen.font = `600 ${legend.font.size}px ${legend.font.family}`;
  const traces = chart._fullData.filter((trace) => trace.visible === true);
  const named = (trace) => trace.showlegend && trace.name;
  if (traces.some((trace) => trace.type !== "scatter" && named(trace))) return null;
  const drawn = (trace) => (trace.type === "scatter" && trace.mode !== "text" ? chart.calcdata[trace.index] ?? [] : []);
  const paths = traces.map((trace) => path(chart, trace, drawn(trace)));
  const cells = new Cells(...room, paths);
  const corner = chart.querySelector(".main-svg").getBoundingClientRect();
  const [left, top] = [corner.left + xaxis._offset, corner.top + yaxis._offset];
  const taken = [...written(chart, left, top), ...ruled(chart, left, top)];
  const names = traces.flatMap((trace, number) => {
    if (!named(trace)) return [];
    const text = trace.name.replace(/<br>/g, " ").replace(/<(?!\/?su[bp]>)[^>]*>/g, "");
    return [{ trace, number, shapes: shapes(text, legend.font.size) }];
  });
  if (names.length < 2 && !names.some(({ trace }) => trace.meta?.shape !== undefined)) return null;
  const places = (one) =>
    one.trace.meta?.shape === undefined ? beside(one, paths, cells, taken, room) : within(chart, one, taken, [left, top], room);
  for (const one of names) one.free = places(one).filter(({ crossing }) => !crossing).length;
  for (const one of names.sort((a, b) => a.free - b.free)) {
    const [best] = places(one);
    if (best === undefined || (best.crossing && !any)) return null;
    Object.assign(one, { box: best.box, rows: best.rows });
    taken.push(wider(best.box, 2));
  }
  return names;
}

/** Of a name: its line's, or its points' where they have one. */
function colour({ mode, line, marker, meta }) {
  if (meta?.shape !== undefined) return null;
  if (mode.includes("lines")) return line.width ? line.color : null;
  return typeof marker.color === "string" ? marker.color : null;
}

/** A row with its powers and indices. */
function write(name, row) {
  let shift = 0;
  for (const part of row.split(/(<su[bp]>.*?<\/su[bp]>)/)) {
    const level = part.startsWith("<sup>") ? -0.5 : part.startsWith("<sub>") ? 0.3 : 0;
    const span = document.createElementNS("http://www.w3.org/2000/svg", "tspan");
    span.textContent = plain(part);
    if (level) span.style.fontSize = "70%";
    span.setAttribute("dy", `${level ? level : -0.7 * shift}em`);
    if (part) name.append(span), (shift = level);
  }
}

function draw(chart) {
  const { xaxis, yaxis, legend, meta } = chart._fullLayout;
  const moving = chart.hasAttribute("data-labels") && document.querySelector("[data-moving]") !== null;
  const crowded = legend?._height > CROWDED * chart.clientHeight;
  const names = meta?.labels && legend ? placed(chart, moving || crowded) : null;
  if (names === null && moving) return;
  chart.querySelector(".names-at-lines")?.remove();
  chart.toggleAttribute("data-labels", names !== null);
  const highest = Math.min(0, ...(names ?? []).map(({ box }) => box[1]));
  const unused = names === null ? 0 : Math.max(0, Math.floor(yaxis._offset - legend.font.size + highest));
  chart.closest('[data-testid="stElementContainer"]')?.style.setProperty("--unused", `${unused}px`);
  if (names === null) return;
  const group = document.createElementNS("http://www.w3.org/2000/svg", "g");
  group.setAttribute("class", "names-at-lines");
  group.setAttribute("transform", `translate(${xaxis._offset}, ${yaxis._offset})`);
  for (const { trace, rows, box } of names)
    rows.forEach((text, row) => {
      const name = document.createElementNS("http://www.w3.org/2000/svg", "text");
      write(name, text);
      name.setAttribute("x", (box[0] + box[2]) / 2);
      name.setAttribute("y", box[1] + (1.15 * row + 0.9) * legend.font.size);
      name.style.font = pen.font;
      name.style.fill = colour(trace) ?? legend.font.color;
      group.append(name);
    });
  chart.querySelector(".infolayer").append(group);
}

const known = new WeakMap();
const PAUSE = 100;

/** What draws a chart's names: at once, and while it moves ten times a second. */
function drawer(chart) {
  let [last, later] = [0, null];
  return () => {
    clearTimeout(later);
    const wait = document.querySelector("[data-moving]") === null ? 0 : last + PAUSE - performance.now();
    if (wait > 0) return (later = setTimeout(drawn, wait));
    drawn();
  };
  function drawn() {
    last = performance.now();
    if (chart.isConnected) draw(chart);
  }
}

function follow() {
  for (const chart of document.querySelectorAll(".js-plotly-plot")) {
    if (!chart.on || !chart._fullLayout?.meta?.labels) continue;
    const again = known.get(chart) ?? drawer(chart);
    if (!known.has(chart)) again();
    known.set(chart, again);
    chart.removeListener("plotly_afterplot", again); // a chart made anew has forgotten it
    chart.on("plotly_afterplot", again);
  }
}

export default function () {
  follow();
  const timer = setInterval(follow, 200);
  return () => clearInterval(timer);
}
