// The mark of a guess follows the pointer along its axis on the chart, from stop to stop; the page hears where it is let
// go. On a touch screen the page still scrolls up and down: there a tap sets a mark that lies across.
export default function ({ data, setTriggerValue }) {
  let chart = null;
  let held = false;
  const upright = data.along === "x";
  const rail = () => chart._fullLayout[`${data.along}axis`];
  const at = (stop) => rail().d2p(stop); // pixels from the plot's left, or from its top
  const nearest = (event) => {
    const plot = chart.querySelector(".nsewdrag").getBoundingClientRect();
    const place = upright ? event.clientX - plot.left : event.clientY - plot.top;
    const away = data.stops.map((stop) => Math.abs(at(stop) - place));
    return away.indexOf(Math.min(...away));
  };
  const show = (stop) => {
    const off = stop === null ? 0 : at(data.stops[stop]) - at(data.at);
    for (const shape of chart.querySelectorAll(".shapelayer .shape-group, .shapelayer > path")) {
      shape.style.transform = upright ? `translate(${off}px, 0)` : `translate(0, ${off}px)`;
    }
  };
  const take = (event) => {
    if (event.button || !event.target.closest?.(".nsewdrag")) return;
    held = true;
    if (event.pointerType === "mouse") chart.setPointerCapture(event.pointerId);
    show(nearest(event));
    event.stopPropagation();
  };
  const move = (event) => held && show(nearest(event));
  const drop = (event) => {
    if (!held) return;
    held = false;
    const stop = nearest(event);
    if (data.stops[stop] !== data.at) setTriggerValue("placed", stop);
  };
  const cancel = () => {
    if (held) show(null);
    held = false;
  };
  const turns = [["pointerdown", take], ["pointermove", move], ["pointerup", drop], ["pointercancel", cancel]];
  const leave = () => turns.forEach(([name, act]) => chart?.removeEventListener(name, act, true));
  const follow = () => {
    const found = document.querySelector(`.st-key-${CSS.escape(data.chart)} .js-plotly-plot`);
    if (!found?._fullLayout || found === chart) return;
    leave();
    chart = found;
    turns.forEach(([name, act]) => chart.addEventListener(name, act, true));
    const plot = chart.querySelector(".nsewdrag");
    if (plot) Object.assign(plot.style, { cursor: upright ? "ew-resize" : "ns-resize", touchAction: "pan-y" });
  };
  follow();
  const timer = setInterval(follow, 300);
  return () => {
    clearInterval(timer);
    leave();
  };
}
