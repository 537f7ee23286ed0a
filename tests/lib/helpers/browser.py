"""A page in headless Chromium, with everything it says and asks for recorded."""

from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Opened:
    page: object
    complaints: list = field(default_factory=list)
    requests: list = field(default_factory=list)

    def exact(self, name):
        """Return the exact number behind a value that the slider moves."""
        return float(self.page.locator(f'[data-value="{name}"]').first.get_attribute("data-exact"))

    def text(self, name):
        return self.page.locator(f'[data-value="{name}"]').first.text_content()

    def move(self, epsilon):
        """Move the slider as a script or an assistive tool would: set its value, and say so."""
        self.page.evaluate(
            """e => { const s = document.getElementById("epsilon"); s.value = String(e);
                      s.dispatchEvent(new Event("input", {bubbles: true})); }""",
            epsilon,
        )
        return float(self.page.evaluate("document.body.dataset.epsilon"))


@contextmanager
def opened(browser, path, *, width=1200, height=900, scheme="light"):
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    context.set_default_timeout(300_000)  # a busy machine is slow, not wrong
    page = context.new_page()
    found = Opened(page)
    page.on("console", lambda message: found.complaints.append(message.text))
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on("request", lambda request: found.requests.append(request.url))
    page.goto(f"file://{path}")
    page.wait_for_selector("#plot-sizes .bars path", state="attached")
    try:
        yield found
    finally:
        context.close()
