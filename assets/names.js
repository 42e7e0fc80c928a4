// The keyboard comes to the menu before the side bar's controls; on a phone the menu is no list of groups that are none, and
// it moves long formulas.
// What Streamlit leaves without a name: "?" buttons of headings say what they explain, the menu says which page this is,
// and the one at the right what is in it.
const MENU = ["stTopNavLink", "stTopNavSection", "stExpandSidebarButton"].map((name) => `[data-testid="${name}"]`).join();

/** A second link before everything else, as Streamlit's own to the page's content. */
function lead() {
  const first = document.querySelector('[data-testid="stSkipToContent"]');
  if (!first || first.nextElementSibling?.dataset.leads === "menu") return;
  const link = first.cloneNode(true);
  link.textContent = "Skip to the menu";
  link.dataset.leads = "menu";
  link.removeAttribute("data-testid");
  link.addEventListener("click", (event) => {
    event.preventDefault();
    document.querySelector(MENU)?.focus();
  });
  first.after(link);
}

/** What is wider than the screen can be moved by keyboard. */
function reach() {
  for (const formula of document.querySelectorAll(".katex-display")) {
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
    else formula.removeAttribute("tabindex");
  }
}

function name(here) {
  lead();
  reach();
  for (const list of document.querySelectorAll('[data-testid="stSidebarNavItems"], [data-testid="stSidebarNavItems"] li'))
    list.setAttribute("role", "none");
  document.querySelector('[data-testid="stMainMenuButton"]')?.setAttribute("aria-label", "Light or dark, print");
  for (const button of document.querySelectorAll('button[aria-label="Help"]')) {
    const place = button.closest("h1, h2, h3, h4") ?? button.closest('[data-testid="stElementContainer"]');
    const text = (place?.innerText || place?.textContent || "").trim().split("\n")[0];
    if (text) button.setAttribute("aria-label", `Help for ${text}`);
  }
  for (const menu of document.querySelectorAll('[data-testid="stTopNavSection"]')) {
    const words = menu.querySelector("p");
    if (words?.textContent === here.menu) {
      words.dataset.here = here.title;
      menu.setAttribute("aria-label", `${here.menu}, this page: ${here.title}`);
    } else if (words?.dataset.here) {
      delete words.dataset.here;
      menu.removeAttribute("aria-label");
    }
  }
}
export default function ({ data }) {
  name(data);
  const timer = setInterval(() => name(data), 500);
  return () => clearInterval(timer);
}
