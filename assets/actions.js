// Buttons that need no server: copy the address or a text, save a figure as the chart itself draws it.
export default function ({ data, parentElement }) {
  const row = document.createElement("div");
  row.className = "actions";
  const said = document.createElement("span");
  said.className = "said";
  said.setAttribute("role", "status");
  for (const action of data.actions) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = action.label;
    if (action.help) button.title = action.help;
    button.addEventListener("click", async () => {
      const done = await perform(action);
      said.textContent = done;
      button.textContent = done;
      button.classList.add("done");
      setTimeout(() => { button.textContent = action.label; button.classList.remove("done"); }, 2500);
    });
    row.append(button);
  }
  row.append(said);
  parentElement.querySelector(".actions")?.remove();
  parentElement.append(row);
}

async function perform({ kind, text, without, chart, format, name }) {
  if (kind === "figure") return save(chart, format, name) ? "Saved" : "No figure to save";
  return (await copy(kind === "link" ? address(without) : text)) ? "Copied" : "Not allowed by the browser";
}

// The address without some of its parameters; the others stay as they are written.
function address(without) {
  const { origin, pathname, search } = window.location;
  const kept = search.slice(1).split("&").filter((pair) => pair && !without.includes(pair.split("=")[0]));
  return origin + pathname + (kept.length ? `?${kept.join("&")}` : "");
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without https browsers hide the clipboard; a selected text area still works.
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// Plotly's own button of the chart's mode bar does the drawing; it reads its format when it is pressed.
function save(chart, format, name) {
  const plot = document.querySelector(`.st-key-${CSS.escape(chart)} .js-plotly-plot`);
  const button = plot?.querySelector('.modebar-btn[data-attr="toImage"], .modebar-btn[data-title^="Download"]');
  if (!button) return false;
  plot._context.toImageButtonOptions = { format, filename: name, scale: 3 };
  button.click();
  return true;
}
