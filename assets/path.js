// In a lecture hall a presenter's keys turn the page: PageDown and → to the next topic, PageUp and ← back.
const WAYS = { PageDown: 1, ArrowRight: 1, PageUp: -1, ArrowLeft: -1 };
function turn(event) {
  const way = WAYS[event.key];
  const typing = event.target.closest?.("input, textarea, select, [role='slider'], [role='radio'], [role='tab']");
  if (!way || typing || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  document.querySelector(`.st-key-turn_${way} button`)?.click();
}
export default function () {
  document.addEventListener("keydown", turn);
  return () => document.removeEventListener("keydown", turn);
}
