// On a phone the side bar lies over the page and begins with all pages. It opens at this page's controls, the end of that
// list in sight above them, and closes when an answer is to be looked at.
const PHONE = "(max-width: 768px)";
const ABOVE = 110; // pixels of what stands above the controls
const WHILE = 800; // milliseconds in which what is in it still comes
const find = (name, inside = document) => inside.querySelector(`[data-testid="${name}"]`);
let last = null;

function opened(event) {
  if (!event.target.closest?.('[data-testid="stExpandSidebarButton"]') || !matchMedia(PHONE).matches) return;
  const until = performance.now() + WHILE;
  let at = null; // where this left it: whoever moves it elsewhere, or touches it, is let alone
  let left = false;
  const leave = () => (left = true);
  document.addEventListener("pointerdown", leave, { once: true, capture: true });
  const look = () => {
    const content = find("stSidebarContent");
    if (content && at !== null && content.scrollTop !== at) leave();
    const controls = content && !left && find("stSidebarUserContent", content);
    if (controls && find("stWidgetLabel", controls)) {
      content.scrollTop += controls.getBoundingClientRect().top - content.getBoundingClientRect().top - ABOVE;
      at = content.scrollTop;
    }
    if (!left && performance.now() < until) requestAnimationFrame(look);
    else document.removeEventListener("pointerdown", leave, true);
  };
  requestAnimationFrame(look);
}

export default function ({ data }) {
  if (last !== null && data.time !== last && matchMedia(PHONE).matches) {
    const bar = find("stSidebar");
    if (bar?.getBoundingClientRect().right > 0) find("stSidebarCollapseButton", bar)?.querySelector("button")?.click();
  }
  last = data.time;
  document.addEventListener("click", opened);
  return () => document.removeEventListener("click", opened);
}
