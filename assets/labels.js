// Names stand at their lines, in the lines' colours, where every one finds a place of its own; elsewhere the legend stays.
// What is drawn as a shape has its name in it or beside it, or above it, where the legend would have been.
// Only charts that say so (`layout.meta.labels`), each time they are drawn.
const CELL = 4;
const GAPS = [6, 14, 28, 44]; // between a line and its name, where type has 14 pixels
const FAR = 14; // beyond which a name is hardly at its line
const INK = 65; // per cent of a line's colour in its name, the rest is that of text: names need more contrast than lines
const RIM = 16; // above the plot, which the framework cuts off
/** A legend that takes this share of a chart leaves too little of it: names then may cross lines. */
const CROWDED = 0.2;

/** The axes of a trace, and where their plot begins. */
function axes({ _fullLayout: layout }, trace) {
  const [x, y] = ["x", "y"].map((letter) => layout[(trace[`${letter}axis`] ?? letter).replace(letter, `${letter}axis`)]);
  return { x, y, left: x._offset - layout.xaxis._offset, top: y._offset - corner(layout) };
}

/** Where the uppermost plot begins. */
function corner(layout) {
  return Math.min(...layout._subplots.yaxis.map((id) => layout[id.replace("y", "yaxis")]._offset));
}

/** The places of a trace in pixels of the plot: of a line with enough of them on the way, of bars all within them, of a
 * line or an area that is no trace (`meta`) those on it. With `ends`, of bars the middles of their ends. */
function path(chart, trace, ends = false) {
  const { x: xaxis, y: yaxis, left, top } = axes(chart, trace);
  const inside = ([x, y]) => x >= 0 && x <= xaxis._length && y >= -1 && y <= yaxis._length + 1;
  const moved = (places) => places.filter(inside).map(([x, y]) => [left + x, top + y]);
  if (trace.meta?.area) {
    const [x0, x1, y0, y1] = trace.meta.area;
    const [from, to] = [x0 === null ? 0 : xaxis.d2p(x0), x1 === null ? xaxis._length : xaxis.d2p(x1)];
    const [low, high] = [y0 === null ? yaxis._length : yaxis.d2p(y0), y1 === null ? 0 : yaxis.d2p(y1)];
    return moved(filled(from, high, to, low));
  }
  const points = chart.calcdata[trace.index] ?? [];
  if (trace.type === "bar")
    return moved(
      points.flatMap(({ p0, p1, s0, s1 }) => {
        const across = trace.orientation === "h";
        const corners = [[p0, s0], [p1, s1]].map(([p, s]) => (across ? [s, p] : [p, s]));
        const [[x0, y0], [x1, y1]] = corners.map(([x, y]) => [xaxis.c2p(x, true), yaxis.c2p(y, true)]);
        if (s0 === s1) return [];
        if (ends) return [across ? [x1, (y0 + y1) / 2] : [(x0 + x1) / 2, y1]];
        return filled(Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1));
      }),
    );
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
  return moved(found);
}

/** Places all over a box, its edges included. */
function filled(left, top, right, bottom) {
  const along = (low, high) => {
    const [from, to] = [Math.max(low, 0), Math.min(high, 4000)];
    const count = Math.max(Math.ceil((to - from) / CELL), 1);
    return [...Array(count + 1).keys()].map((step) => from + ((to - from) * step) / count);
  };
  return along(left, right).flatMap((x) => along(top, bottom).map((y) => [x, y]));
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

/** Another line passes between a place and its name. */
function cut([x, y], [left, top, right, bottom], number, cells) {
  const end = [Math.max(left, Math.min(x, right)), Math.max(top, Math.min(y, bottom))];
  const here = cells.within([x - CELL, y - CELL, x + CELL, y + CELL]) | (1 << number % 31);
  return [0.2, 0.4, 0.6, 0.8, 1].some((share) => {
    const [across, down] = [x + share * (end[0] - x), y + share * (end[1] - y)];
    return cells.within([across, down, across, down]) & ~here;
  });
}

/** Places for a name beside its line, the best first: near no other line, on one row, and far to the right. */
function beside({ trace, number, shapes }, paths, cells, taken, [width, height]) {
  const found = [];
  const places = paths[number];
  const step = Math.max(1, Math.floor(places.length / 60));
  const area = wide(trace);
  const scale = shapes[0].size[1] / (1.15 * 14);
  for (let at = places.length - 1; at >= 0; at -= step) {
    const [x, y] = places[at];
    for (const { rows, size: [w, h] } of shapes)
      for (const gap of GAPS.map((gap) => gap * scale))
        (area
          ? [[x - w / 2, y - h / 2]]
          : [
              [x - w / 2, y - h - gap], [x - w / 2, y + gap], [x - w, y - h - gap], [x, y - h - gap],
              [x + 2 * gap, y - h / 2], [x - w - 2 * gap, y - h / 2], [x - w, y + gap], [x, y + gap],
            ]
        ).forEach(([left, top], way) => {
          const box = [left, top, left + w, top + h];
          if (left < 2 || top < 0 || box[2] > width - 2 || box[3] > height - 2) return;
          if (!taken.every((other) => apart(box, other)) || cut(places[at], box, number, cells)) return;
          const crossing = bits(cells.within(wider(box, 1)));
          const near = crossing || bits(cells.within(wider(box, 9)) & ~(1 << number % 31));
          const cost = 100 * crossing + 5 * near + way / 4 + (8 * (width - x)) / width + 3 * rows.length + gap / 2 + (gap > FAR * scale ? 12 : 0);
          found.push({ box, rows, crossing, cost });
        });
  }
  return found.sort((one, other) => one.cost - other.cost);
}

/** Places for the name of a band or an upright line above the plot, where it ends or begins. */
function above(chart, { trace, shapes }, taken, width) {
  const [x0, x1, y0, y1] = trace.meta?.area ?? [0, 0, 0, 0];
  if (y0 !== null || y1 !== null || x0 === null || x1 === null) return [];
  const { x, left } = axes(chart, trace);
  const [low, high] = [x0, x1].map((end) => left + x.d2p(end));
  return shapes
    .flatMap(({ rows, size: [w, h] }) =>
      [(low + high - w) / 2, high - w, low - w, low, high, Math.max(0, Math.min(width - w, high - w))].flatMap((from) =>
        [h + 3, 2 * h + 5].map((up) => ({ box: [from, -up, from + w, h - up], rows, crossing: 0, cost: rows.length + up / h })),
      ),
    )
    .filter(({ box }) => box[0] >= 0 && box[1] >= RIM - corner(chart._fullLayout) && box[2] <= width && taken.every((other) => apart(box, other)))
    .sort((one, other) => one.cost - other.cost);
}

/** An area that is no trace: its name stands within it. */
const wide = ({ meta }) => {
  const [x0, x1, y0, y1] = meta?.area ?? [0, 0, 0, 0];
  return (x0 === null || x0 !== x1) && (y0 === null || y0 !== y1);
};

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
  return [...chart.querySelectorAll(".annotation-text, .textpoint text, .bartext, .shape-label text")].map((text) => {
    const box = text.getBoundingClientRect();
    return wider([box.left - left, box.top - top, box.right - left, box.bottom - top], 2);
  });
}

/** The boxes of straight lines that are no traces. */
function ruled(chart, left, top) {
  const boxes = [...chart.querySelectorAll(".shapelayer path")].map((line) => line.getBoundingClientRect());
  const thin = boxes.filter((box) => Math.min(box.width, box.height) < CELL);
  return thin.map((box) => wider([box.left - left, box.top - top, box.right - left, box.bottom - top], 2));
}

const pen = document.createElement("canvas").getContext("2d");

/** Every name with its box; null where the legend tells more. With `any`, names may cross lines. */
function placed(chart, any) {
  const { _fullLayout: layout } = chart;
  const { legend } = layout;
  pen.font = `600 ${legend.font.size}px ${legend.font.family}`;
  const named = (trace) => trace.showlegend && trace.name;
  const seen = chart._fullData.filter((trace) => trace.visible === true);
  const traces = seen.filter(({ type }) => ["scatter", "bar"].includes(type));
  if (seen.some((trace) => !traces.includes(trace) && named(trace))) return null;
  const room = [0, 0];
  for (const trace of traces) {
    const { x, y, left, top } = axes(chart, trace);
    room[0] = Math.max(room[0], left + x._length);
    room[1] = Math.max(room[1], top + y._length);
  }
  const paths = traces.map((trace) => path(chart, trace, true));
  const behind = (trace) => wide(trace) || trace.mode === "text" || (trace.type === "bar" && faint(trace.marker.color));
  const cells = new Cells(...room, traces.map((trace) => (behind(trace) ? [] : path(chart, trace))));
  const from = chart.querySelector(".main-svg").getBoundingClientRect();
  const [left, top] = [from.left + layout.xaxis._offset, from.top + corner(layout)];
  const taken = [...written(chart, left, top), ...ruled(chart, left, top)];
  const names = traces.flatMap((trace, number) => {
    if (!named(trace)) return [];
    const text = trace.name.replace(/<br>/g, " ").replace(/<(?!\/?su[bp]>)[^>]*>/g, "");
    return [{ trace, number, shapes: shapes(text, legend.font.size) }];
  });
  if (names.length < 2 && !names.some(({ trace }) => trace.meta?.area)) return null;
  for (const one of names) one.free = beside(one, paths, cells, taken, room).filter(({ crossing }) => !crossing).length;
  for (const one of names.sort((a, b) => a.free - b.free)) {
    const within = beside(one, paths, cells, taken, room);
    const best = [...within.filter(({ crossing }) => !crossing), ...above(chart, one, taken, room[0]), ...within][0];
    if (best === undefined || (best.crossing && !any)) return null;
    Object.assign(one, { box: best.box, rows: best.rows });
    taken.push(wider(best.box, 2));
  }
  return names;
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

/** A colour that what is behind it shines through. */
const faint = (colour) => /^rgba/.test(colour);

/** The colour of a line, of bars, or of points that have one; none of an area's. */
function hue({ type, mode, meta, line, marker }) {
  if (meta?.area) return null;
  if (type !== "bar" && mode.includes("lines")) return line.width > 0 ? line.color : null;
  return typeof marker.color === "string" && !faint(marker.color) ? marker.color : null;
}

function draw(chart) {
  const { xaxis, legend, meta } = chart._fullLayout;
  const top = legend && meta?.labels ? corner(chart._fullLayout) : 0;
  const moving = chart.hasAttribute("data-labels") && document.querySelector("[data-moving]") !== null;
  const crowded = legend?._height > CROWDED * chart.clientHeight;
  const names = meta?.labels && legend ? placed(chart, moving || crowded) : null;
  if (names === null && moving) return;
  chart.querySelector(".names-at-lines")?.remove();
  chart.toggleAttribute("data-labels", names !== null);
  const highest = Math.min(0, ...(names ?? []).map(({ box }) => box[1]));
  const unused = names === null ? 0 : Math.max(0, Math.floor(top - legend.font.size + highest));
  chart.closest('[data-testid="stElementContainer"]')?.style.setProperty("--unused", `${unused}px`);
  if (names === null) return;
  const group = document.createElementNS("http://www.w3.org/2000/svg", "g");
  group.setAttribute("class", "names-at-lines");
  group.setAttribute("transform", `translate(${xaxis._offset}, ${top})`);
  for (const { trace, rows, box } of names)
    rows.forEach((text, row) => {
      const name = document.createElementNS("http://www.w3.org/2000/svg", "text");
      write(name, text);
      name.setAttribute("x", (box[0] + box[2]) / 2);
      name.setAttribute("y", box[1] + (1.15 * row + 0.9) * legend.font.size);
      name.style.font = pen.font;
      const own = hue(trace) ?? legend.font.color;
      name.style.fill = `color-mix(in srgb, ${own} ${INK}%, ${legend.font.color})`;
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
