"""Charts of lines and bars come from the small library, fill their place, and the screen where that is asked for."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from service.library import NAME

CHART = ".st-key-chart_density .js-plotly-plot"


def width(page) -> int:
    return page.evaluate(f"document.querySelector('{CHART} .main-svg')?.width.baseVal.value ?? 0")


def test_a_first_visit_fetches_the_small_library_alone(service, visitor):
    page, asked = visitor(), []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto(f"{service.address}/optimal_noise?epsilon=1.5")
    page.locator(f"{CHART} .main-svg").first.wait_for()
    page.locator(".st-key-chart_losses .main-svg").first.wait_for()
    assert len([name for name in asked if name.startswith("plotly-basic-")]) == 1
    assert not [name for name in asked if name.startswith("PlotlyChart")]


def test_a_chart_fills_its_place_and_the_screen(dashboard, visitor):
    page = visitor()
    page.goto(f"{dashboard}/optimal_noise?epsilon=1.5")
    page.locator(f"{CHART} .main-svg").first.wait_for()
    before = width(page)
    page.locator('[data-testid="stSidebarCollapseButton"] button').dispatch_event("click")  # seen under a pointer
    page.wait_for_function(f"document.querySelector('{CHART} .main-svg').width.baseVal.value > {before}")
    page.locator(CHART).hover()
    page.locator(f"{CHART} [data-title=Fullscreen]").click()
    page.wait_for_function(f"document.querySelector('{CHART} .main-svg').height.baseVal.value === innerHeight")
    assert width(page) == page.viewport_size["width"]
    page.locator(f"{CHART} [data-title=Fullscreen]").click()
    page.wait_for_function(
        f"""() => {{
            const [place, drawn] = ['{CHART}', '{CHART} .main-svg'].map((part) => document.querySelector(part));
            const width = drawn.width.baseVal.value;
            return !document.fullscreenElement && width === place.offsetWidth && width > {before} && width < innerWidth;
        }}"""
    )


def test_what_does_not_come_is_said_and_asked_for_anew(service, visitor):
    page = visitor()
    page.route("**/plotly-basic-*", lambda route: route.abort())
    page.goto(f"{service.address}/optimal_noise?epsilon=1.5")
    chart = page.locator(".st-key-chart_density .chart")
    expect(chart).to_have_text("The library that draws charts did not come; reload the page.")
    page.unroute("**/plotly-basic-*")
    page.locator(".st-key-log_y label").first.click()
    page.locator(f"{CHART} .main-svg").first.wait_for()
    expect(chart).not_to_contain_text("did not come")


TOO_LATE = """async ([source, library]) => {
    const show = (await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })))).default;
    document.body.innerHTML = '<div class="chart"><div role="figure"></div></div>';
    const [place, parentElement] = [document.querySelector(".chart"), document.body];
    const [newer, older] = ["newer", "older"].map((name) => {
        const layout = { title: { text: name }, height: 300 };
        return { alt: name, config: {}, library, figure: JSON.stringify({ data: [{ y: [0, 1] }], layout }) };
    });
    const end = show({ data: newer, parentElement });
    show({ data: older, parentElement })();
    while (!place.querySelector(".gtitle")) await new Promise(requestAnimationFrame);
    const shown = [place.querySelector(".gtitle").textContent, place.firstElementChild.getAttribute("aria-label")];
    place.remove();
    end();
    return [...shown, place.firstElementChild._fullLayout === undefined];
}"""


def test_a_figure_that_comes_after_a_newer_one_is_not_kept(dashboard, visitor):
    """The framework imports the script anew for every call, so that calls may come in another order; one that is
    overtaken it ends at once."""
    page = visitor()
    page.goto(f"{dashboard}/_stcore/health")
    source = (Path(__file__).parents[2] / "assets/chart.js").read_text(encoding="utf-8")
    assert page.evaluate(TOO_LATE, [source, f"./{NAME}"]) == ["newer", "newer", True]
