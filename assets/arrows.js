// In a field for a number the arrow keys go one step, as its two buttons do.
function step(event) {
  const way = { ArrowUp: "more", ArrowDown: "less" }[event.key];
  const field = way && event.target.closest('[class*="st-key-number_"]');
  if (!field || event.target.tagName !== "INPUT") return;
  event.preventDefault();
  event.target.blur(); // what was typed is taken over first
  field.querySelector(`[class*="_${way}"] button`).click();
  event.target.focus();
}
export default function () {
  document.addEventListener("keydown", step);
  return () => document.removeEventListener("keydown", step);
}
