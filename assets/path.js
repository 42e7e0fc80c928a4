// In a lecture hall a presenter's keys turn the page: PageDown and → to the next state or topic, PageUp and ← back.
// A presenter's own two keys do so wherever the focus is, but where text of several lines is written or a table is read.
const WAYS = { PageDown: 1, ArrowRight: 1, PageUp: -1, ArrowLeft: -1 };
const OWN = "input, select, [role='slider'], [role='radio'], [role='tab']";
function turn(event) {
  const way = WAYS[event.key];
  if (!way || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const busy = event.key.startsWith("Page") ? "textarea, [role='listbox'], [role='grid']" : `textarea, ${OWN}`;
  if (event.target.closest?.(busy)) return;
  event.preventDefault();
  event.stopPropagation();
  document.querySelector(`.st-key-turn_${way} button`)?.click();
}
// The page says that it listens: what is pressed before is not heard.
export default function () {
  document.addEventListener("keydown", turn, true);
  document.body.setAttribute("data-keys", "");
  return () => {
    document.removeEventListener("keydown", turn, true);
    document.body.removeAttribute("data-keys");
  };
}
