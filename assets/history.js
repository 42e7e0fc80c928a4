// One step of the visitor is one step of the browser's history. Streamlit makes one of every change of the address: of a
// turn to another page two, of what a page adds to its address on arrival another, and one that Back led to ends Forward.
(() => {
  const push = history.pushState;
  let acted = false;
  const act = () => { acted = true; };
  for (const kind of ["pointerdown", "keydown", "click", "input", "drop"]) addEventListener(kind, act, { capture: true, passive: true });
  addEventListener("popstate", () => { acted = false; }, true);
  history.pushState = function (...step) {
    (acted ? push : history.replaceState).apply(history, step);
    acted = false;
  };
})();
