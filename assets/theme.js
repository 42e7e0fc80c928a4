// Figures carry their colours with them: when the visitor changes the theme, the page is asked to draw them again.
// A screen reader is told when the headline changes.
// A theme that is not the machine's own is remembered for the next visit's snapshot (service/snapshot.py), and for every
// page: Streamlit keeps one for each address that a visit began with.
// Only a page at rest is asked: a run that is cut short may lose what it was about to tell the browser's controls.
const START = location.pathname;
export default function ({ data, setTriggerValue }) {
  let differed = false;
  let kept = false;
  let wished = null;
  const app = () => document.querySelector('[data-testid="stApp"]'); // another one after a while
  const shown = () => getComputedStyle(app()).colorScheme;
  document.documentElement.dataset.drawn = data.drawn; // paper is white: assets/style.css turns a dark page round
  const timer = setInterval(() => {
    document.querySelector(".st-key-headline")?.setAttribute("aria-live", "polite");
    const differs = shown() !== data.drawn && app().dataset.testScriptState === "notRunning";
    const own = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    const same = shown() === data.drawn && own === wished;
    wished = own;
    if (same && !kept) {
      keep(data, own); // not in the moment in which the machine, or the visitor, turns to the other theme
      kept = true;
    }
    if (differs && differed) {
      clearInterval(timer);
      setTriggerValue("changed", Date.now());
    }
    differed = differs;
  }, 500);
  return () => clearInterval(timer);
}

function keep({ drawn, paths }, own) {
  document.cookie = `dp-frontier-theme=${drawn}; path=/; samesite=lax${drawn === own ? "; max-age=0" : "; max-age=31536000"}`;
  for (const path of paths) {
    const key = `stActiveTheme-${path}-v2`;
    if (path === START) continue; // that one is Streamlit's own
    if (drawn === own) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(drawn === "dark" ? "Dark" : "Light"));
  }
}
