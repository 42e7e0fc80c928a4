// A lecture hall: the server draws for the height of this screen, and what only the one at the keyboard needs shows
// itself while the pointer or the keyboard is used, and for a moment at first; the menus only where the pointer is near
// them, and not while the picture is dragged: they lie over the headline.
const REST = 4000;
const NEAR = 100; // pixels from the upper end of the screen
export default function ({ data, setTriggerValue }) {
  const body = document.body;
  let sleep = 0;
  const wake = (event) => {
    body.setAttribute("data-awake", "");
    if (!(event?.clientY > NEAR)) body.setAttribute("data-menus", "");
    else if (event.buttons) body.removeAttribute("data-menus");
    clearTimeout(sleep);
    sleep = setTimeout(rest, REST);
  };
  const rest = () => ["data-awake", "data-menus"].forEach((name) => body.removeAttribute(name));
  const turned = ({ key }) => (key === "Tab" || key === "Escape" ? wake() : null);
  const timer = setInterval(() => {
    const app = document.querySelector('[data-testid="stApp"]');
    const differs = Math.abs(window.innerHeight - data.height) > 16;
    if (!differs || app.dataset.testScriptState !== "notRunning") return;
    clearInterval(timer);
    setTriggerValue("height", window.innerHeight);
  }, 300);
  document.addEventListener("pointermove", wake);
  document.addEventListener("pointerdown", wake);
  document.addEventListener("keydown", turned);
  wake();
  return () => {
    clearInterval(timer);
    clearTimeout(sleep);
    rest();
    document.removeEventListener("pointermove", wake);
    document.removeEventListener("pointerdown", wake);
    document.removeEventListener("keydown", turned);
  };
}
