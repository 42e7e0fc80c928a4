// While a slider is dragged the headline follows: what is proved at each of its stops has been sent along.
export default function ({ data, parentElement }) {
  const line = parentElement.querySelector(".moving");
  const rest = () => {
    line.replaceChildren();
    document.body.toggleAttribute("data-dragged", false);
  };
  const say = (text) => {
    const parts = text.split("**").map((part, number) => {
      const node = document.createElement(number % 2 ? "strong" : "span");
      node.textContent = part;
      return node;
    });
    line.replaceChildren(...parts);
    document.body.toggleAttribute("data-dragged", true);
  };
  const look = () => {
    const grip = document.querySelector(`.st-key-${CSS.escape(data.slider)} input[type="range"]`);
    const stop = Number(grip?.value);
    const text = data.headlines[stop];
    if (!grip || stop === data.here || !text) rest();
    else say(text);
  };
  rest();
  // The slider may be drawn anew while this stays: all of the page is watched, for what sliders alone have.
  const watcher = new MutationObserver(look);
  watcher.observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext"] });
  return () => {
    watcher.disconnect();
    rest();
  };
}
