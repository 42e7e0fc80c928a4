// A lecture hall: the server draws for the height of this screen, and what only the one at the keyboard needs shows
// itself while the pointer or the keyboard is used, and for a moment at first.
const REST = 4000;
export default function ({ data, setTriggerValue }) {
  const body = document.body;
  let sleep = 0;
  const wake = () => {
    body.setAttribute("data-awake", "");
    clearTimeout(sleep);
    sleep = setTimeout(() => body.removeAttribute("data-awake"), REST);
  };
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
    body.removeAttribute("data-awake");
    document.removeEventListener("pointermove", wake);
    document.removeEventListener("pointerdown", wake);
    document.removeEventListener("keydown", turned);
  };
}
