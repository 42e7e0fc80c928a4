// A card in the corner that points at three things, once per browser. It blocks nothing and takes no focus.
const SEEN = "dp-frontier-tour-seen";
let step = 0;

function seen() {
  try { return window.localStorage.getItem(SEEN) === "yes"; } catch { return false; }
}

function remember() {
  try { window.localStorage.setItem(SEEN, "yes"); } catch { /* private window: it will show again */ }
}

function point(target, on) {
  const place = target && document.querySelector(target);
  if (place) {
    place.style.outline = on ? "3px solid var(--accent)" : "";
    place.style.outlineOffset = on ? "-3px" : "";
  }
}

export default function ({ data, parentElement }) {
  const close = () => {
    point(data.steps[step]?.target, false);
    parentElement.querySelector(".card")?.remove();
  };
  const end = () => { remember(); close(); };
  const show = () => {
    close();
    const { title, text, target } = data.steps[step];
    const last = step === data.steps.length - 1;
    const card = document.createElement("section");
    card.className = "card";
    card.setAttribute("aria-label", "A short tour");
    const heading = document.createElement("h2");
    heading.textContent = title;
    const words = document.createElement("p");
    words.textContent = text;
    const row = document.createElement("div");
    row.className = "row";
    const count = document.createElement("span");
    count.textContent = `${step + 1} of ${data.steps.length}`;
    const skip = button(last ? "Again" : "Skip", () => { if (!last) return end(); close(); step = 0; show(); });
    const next = button(last ? "Done" : "Next", () => { if (last) return end(); close(); step += 1; show(); });
    next.className = "next";
    row.append(count, skip, next);
    card.append(heading, words, row);
    parentElement.append(card);
    point(target, true);
  };
  const escape = (event) => { if (event.key === "Escape" && parentElement.querySelector(".card")) end(); };
  document.addEventListener("keydown", escape);
  const again = () => { step = 0; show(); };
  window.addEventListener("dp-frontier-tour", again);
  if (!seen()) show();
  return () => {
    window.removeEventListener("dp-frontier-tour", again);
    document.removeEventListener("keydown", escape);
    close();
  };
}

function button(label, act) {
  const one = document.createElement("button");
  one.type = "button";
  one.textContent = label;
  one.addEventListener("click", act);
  return one;
}
