// While a picture is dragged along its slider its headline follows; where it is let go the page takes the value over.
export default function ({ data, parentElement, setTriggerValue }) {
  const line = parentElement.querySelector(".moving");
  const dim = (on) => {
    document.querySelector(".st-key-picture")?.toggleAttribute("data-moving", on);
    document.body.toggleAttribute("data-dragged", on);
  };
  const rest = () => {
    line.replaceChildren();
    dim(false);
  };
  const say = ({ name }) => {
    const parts = (data.headlines[Number(name)] ?? "").split("**").map((text, number) => {
      const node = document.createElement(number % 2 ? "strong" : "span");
      node.textContent = text;
      return node;
    });
    line.replaceChildren(...parts);
    dim(true);
  };
  const settle = ({ slider }) => (slider.active === data.here ? rest() : setTriggerValue("settled", slider.active));
  let chart = null;
  const leave = () => {
    chart?.removeListener?.("plotly_animatingframe", say);
    chart?.removeListener?.("plotly_sliderend", settle);
  };
  const follow = () => {
    const found = document.querySelector(`.st-key-${CSS.escape(data.chart)} .js-plotly-plot`);
    if (!found?.on || found === chart) return;
    leave();
    chart = found;
    chart.on("plotly_animatingframe", say);
    chart.on("plotly_sliderend", settle);
  };
  rest();
  follow();
  const timer = setInterval(follow, 300);
  return () => {
    clearInterval(timer);
    leave();
    rest();
  };
}
