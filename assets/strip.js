// A phone's strip: a slider for each of its controls, told to the page once it is let go.
export default function ({ data, parentElement, setTriggerValue }) {
  const strip = parentElement.querySelector(".strip");
  const names = data.controls.map(({ label }) => label).join("\n");
  if (strip.dataset.names !== names) {
    strip.dataset.names = names;
    strip.replaceChildren(
      ...data.controls.map(({ label }) => {
        const row = document.createElement("label");
        const input = document.createElement("input");
        const [name, value] = ["span", "output"].map((tag) => document.createElement(tag));
        Object.assign(input, { type: "range", min: 0, step: 1 });
        name.textContent = label;
        row.append(name, value, input);
        return row;
      }),
    );
  }
  data.controls.forEach(({ texts, at }, number) => {
    const [, value, input] = strip.children[number].children;
    const say = () => {
      value.textContent = texts[input.value];
      input.setAttribute("aria-valuetext", texts[input.value]);
    };
    input.max = texts.length - 1;
    input.value = at;
    input.oninput = say;
    input.onchange = () => setTriggerValue("moved", [number, Number(input.value)]);
    say();
  });
}
