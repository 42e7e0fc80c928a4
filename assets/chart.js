// A chart of lines and bars, drawn by Plotly's basic library: a quarter of the one for charts of every kind, with which
// a first visitor's controls would come a second later.
const CORNERS =
  "M0 0h350v100H100v250H0zM1000 0v350H900V100H650V0zM0 1000V650h100v250h250v100zM1000 1000H650V900h250V650h100z";
const fullscreen = {
  name: "Fullscreen",
  title: "Fullscreen",
  icon: { width: 1000, height: 1000, path: CORNERS },
  click: (plot) => (document.fullscreenElement ? document.exitFullscreen() : plot.parentElement.requestFullscreen()),
};

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

/** A chart as it was last told, as large as its place. */
class Chart {
  constructor(place) {
    this.place = place;
    this.plot = place.firstElementChild;
    this.told = this.plotly = this.figure = this.drawn = null;
    this.observer = new ResizeObserver(() => this.fit());
    this.observer.observe(this.plot);
  }

  show(told) {
    const before = this.told;
    this.told = told;
    this.plot.setAttribute("aria-label", told.alt);
    if (told.figure === before?.figure) return; // as it is, whatever of it a reader has enlarged
    const config = { ...told.config, modeBarButtonsToAdd: document.fullscreenEnabled ? [fullscreen] : [] };
    this.figure = { ...JSON.parse(told.figure), config };
    this.plot.style.minHeight = `${this.figure.layout.height}px`;
    fetched(told.library).then(
      (plotly) => {
        if (this.plotly === null) this.plot.replaceChildren();
        this.plotly = plotly;
        this.fit();
      },
      (error) => {
        this.told = null;
        this.plot.textContent = error.message;
      },
    );
  }

  fit() {
    const width = this.plot.offsetWidth;
    if (this.plotly === null || !width) return;
    const { data, layout, frames, config } = this.figure;
    const height = document.fullscreenElement === this.place ? window.innerHeight : layout.height;
    if (this.drawn !== this.figure) {
      this.drawn = this.figure;
      this.plotly.react(this.plot, { data, layout: { ...layout, width, height }, frames, config });
    } else if (this.plot._fullLayout.width !== width || this.plot._fullLayout.height !== height) {
      this.plotly.relayout(this.plot, { width, height });
    }
  }

  end() {
    this.observer.disconnect();
    this.plotly?.purge(this.plot);
  }
}

const charts = new WeakMap();

export default function ({ data, parentElement }) {
  const place = parentElement.querySelector(".chart");
  if (!charts.has(place)) charts.set(place, new Chart(place));
  const chart = charts.get(place);
  const before = chart.told;
  chart.show(data);
  return () => {
    if (!place.isConnected) chart.end();
    else if (chart.told === data && before !== null) chart.show(before); // too late: the framework takes it back
  };
}
