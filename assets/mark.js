// The mark of a guess follows the pointer along its axis on the chart, from stop to stop; a sketch takes its heights where
// the pointer passes its `places`, so that one stroke draws it all. The page hears where it is let go.
// On a touch screen the page still scrolls up and down; there a tap sets a mark that lies across, or one height.
const CLOSE = 10; // pixels from a place within which the pointer moves its height up and down

export default function ({ data, setTriggerValue }) {
  let chart = null;
  let held = false;
  let drawn = null; // the heights of a sketch, as numbers of stops, while it is drawn
  let before = null; // where the pointer was
  const sketched = data.places !== undefined;
  const upright = data.along === "x";
  const rail = () => chart._fullLayout[`${data.along}axis`];
  const at = (stop) => rail().d2p(stop); // pixels from the plot's left, or from its top
  const nearest = (values, axis, place) => {
    const away = values.map((value) => Math.abs(axis.d2p(value) - place));
    return away.indexOf(Math.min(...away));
  };
  const pointed = (event) => {
    const plot = chart.querySelector(".nsewdrag").getBoundingClientRect();
    return { x: event.clientX - plot.left, y: event.clientY - plot.top };
  };
  const stopAt = (spot) => nearest(data.stops, rail(), spot[upright ? "x" : "y"]);
  const stop = (event) => stopAt(pointed(event));
  const show = (mark) => {
    const off = mark === null ? 0 : at(data.stops[mark]) - at(data.at);
    for (const shape of chart.querySelectorAll(".shapelayer .shape-group, .shapelayer > path")) {
      shape.style.transform = upright ? `translate(${off}px, 0)` : `translate(0, ${off}px)`;
    }
  };
  const draw = () => {
    const x = chart._fullLayout.xaxis;
    const spots = data.places.map((place, number) => [x.d2p(place), at(data.stops[drawn[number]])]);
    const traces = chart.querySelectorAll(".scatterlayer .trace");
    const trace = traces[traces.length - 1];
    trace?.querySelector(".js-line")?.setAttribute("d", `M${spots.map((spot) => spot.join(",")).join("L")}`);
    trace?.querySelectorAll(".point").forEach((point, number) => {
      point.setAttribute("transform", `translate(${spots[number].join(",")})`);
    });
  };
  const kept = () => data.at.map((height) => data.stops.indexOf(height));
  const follow = (event) => {
    if (!sketched) return show(stop(event));
    const [from, to] = [before ?? pointed(event), pointed(event)];
    const x = chart._fullLayout.xaxis;
    data.places.forEach((place, number) => {
      const share = to.x === from.x ? 1 : (x.d2p(place) - from.x) / (to.x - from.x);
      if (to.x !== from.x && share >= 0 && share <= 1) {
        drawn[number] = stopAt({ y: from.y + share * (to.y - from.y) });
      } else if (Math.abs(x.d2p(place) - to.x) <= CLOSE) drawn[number] = stopAt(to);
    });
    if (before === null) drawn[nearest(data.places, x, to.x)] = stopAt(to);
    before = to;
    draw();
  };
  const take = (event) => {
    if (event.button || !event.target.closest?.(".nsewdrag")) return;
    held = true;
    drawn = sketched ? kept() : null;
    before = null;
    if (event.pointerType === "mouse") chart.setPointerCapture(event.pointerId);
    follow(event);
    event.stopPropagation();
  };
  const move = (event) => held && follow(event);
  const drop = (event) => {
    if (!held) return;
    held = false;
    if (sketched) {
      if (drawn.join() !== kept().join()) setTriggerValue("placed", drawn);
    } else if (data.stops[stop(event)] !== data.at) setTriggerValue("placed", stop(event));
  };
  const cancel = () => {
    if (held && sketched) {
      drawn = kept();
      draw();
    } else if (held) show(null);
    held = false;
  };
  const turns = [["pointerdown", take], ["pointermove", move], ["pointerup", drop], ["pointercancel", cancel]];
  const leave = () => turns.forEach(([name, act]) => chart?.removeEventListener(name, act, true));
  const attach = () => {
    const found = document.querySelector(`.st-key-${CSS.escape(data.chart)} .js-plotly-plot`);
    if (!found?._fullLayout || found === chart) return;
    leave();
    chart = found;
    turns.forEach(([name, act]) => chart.addEventListener(name, act, true));
    const plot = chart.querySelector(".nsewdrag");
    const cursor = sketched ? "crosshair" : upright ? "ew-resize" : "ns-resize";
    if (plot) Object.assign(plot.style, { cursor, touchAction: "pan-y" });
  };
  attach();
  const timer = setInterval(attach, 300);
  return () => {
    clearInterval(timer);
    leave();
  };
}
