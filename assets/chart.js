// A chart of lines and bars, drawn by Plotly's basic library: a quarter of the one for charts of every kind, for which a
// first visitor would wait more than a second longer.
const CORNERS = "M0 0h350v100H100v250H0zM1000 0v350H900V100H650V0zM0 1000V650h100v250h250v100zM1000 1000H650V900h250V650h100z";
let library = null; // there, or on its way

function fetched(address) {
  return (library ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.onload = () => done(window.Plotly);
    script.onerror = () => {
      library = null;
      script.remove();
      failed(new Error("The library that draws charts did not come; reload the page."));
    };
    script.src = address;
    document.head.append(script);
  }));
}

/** Over the whole screen and back. */
const whole = {
  name: "Fullscreen",
  title: "Fullscreen",
  icon: { width: 1000, height: 1000, path: CORNERS },
  click: (chart) => (document.fullscreenElement ? document.exitFullscreen() : chart.parentElement.requestFullscreen()),
};

const keepers = new WeakMap();

/** What keeps one chart as it was last asked for, and as large as its place. */
function keeper(place) {
  const chart = place.firstElementChild;
  let [plotly, text, figure, shown] = [null, null, null, null];
  const fit = () => {
    const { offsetWidth: width } = chart;
    if (plotly === null || !width) return;
    const height = document.fullscreenElement === place ? window.innerHeight : figure.layout.height;
    if (shown !== figure) {
      shown = figure;
      const { data, layout, frames, config } = figure;
      plotly.react(chart, { data, layout: { ...layout, width, height }, frames, config });
    } else if (chart._fullLayout.width !== width || chart._fullLayout.height !== height) {
      plotly.relayout(chart, { width, height });
    }
  };
  const observer = new ResizeObserver(fit);
  observer.observe(chart);
  return {
    show(told) {
      chart.setAttribute("aria-label", told.alt);
      if (told.figure === text) return; // as it is, whatever of it a reader has enlarged
      text = told.figure;
      const config = { ...told.config, modeBarButtonsToAdd: document.fullscreenEnabled ? [whole] : [] };
      figure = { ...JSON.parse(text), config };
      chart.style.minHeight = `${figure.layout.height}px`;
      fetched(told.library).then(
        (found) => {
          if (plotly === null) chart.replaceChildren();
          plotly = found;
          fit();
        },
        (error) => {
          text = null;
          chart.textContent = error.message;
        },
      );
    },
    end() {
      observer.disconnect();
      plotly?.purge(chart);
    },
  };
}

export default function ({ data, parentElement }) {
  const place = parentElement.querySelector(".chart");
  if (!keepers.has(place)) keepers.set(place, { ...keeper(place), told: null });
  const known = keepers.get(place);
  const before = known.told;
  const show = (told) => {
    known.told = told;
    if (told !== null) known.show(told);
  };
  show(data);
  return () => {
    if (!place.isConnected) known.end();
    else if (known.told === data) show(before); // the framework takes back at once what has come too late
  };
}
