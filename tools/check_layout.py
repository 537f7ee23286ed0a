"""Open every page of a built site on a desktop and a phone: nothing may run out of its column.

`python tools/check_layout.py FOLDER` needs Playwright and Debian's chromium. Without them it says so and passes, unless
STEADYSET_REQUIRE_BROWSER is set.
"""

import os
import shutil
import sys
from pathlib import Path

WIDTHS = {"desktop": 1300, "phone": 390}  # pixels

# Returns a sentence for each thing on the page that is wider than its column. What scrolls by itself may be wide. But
# nobody should have to scroll for a formula on a desktop, nor for the first page's code there.
FAULTS = """
({still}) => {
  const faults = [], root = document.documentElement;
  const article = document.querySelector("article") || document.body;
  const column = article.getBoundingClientRect().right;
  const name = e => `<${e.tagName.toLowerCase()}> "${e.textContent.trim().replace(/\\s+/g, " ").slice(0, 60)}"`;
  const scrolls = e => ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
  const seen = e => {  // the right edge of what is seen of it
    let right = e.getBoundingClientRect().right;
    for (let box = e.parentElement; box && box !== article; box = box.parentElement)
      if (scrolls(box)) right = Math.min(right, box.getBoundingClientRect().right);
    return right;
  };
  const sideways = root.scrollWidth - root.clientWidth;
  if (sideways > 0) faults.push(`the page itself scrolls sideways by ${sideways} pixels`);
  for (const e of article.querySelectorAll("pre, code, mjx-container, table, img, svg, iframe")) {
    const beyond = Math.round(seen(e) - column);
    if (beyond > 0) faults.push(`${name(e)} runs ${beyond} pixels out of its column`);
  }
  for (const e of still ? article.querySelectorAll(still) : [])
    if (e.scrollWidth > e.clientWidth)
      faults.push(`${name(e)} has to be scrolled by ${e.scrollWidth - e.clientWidth} pixels`);
  return faults;
}
"""


def faults_of(page, path, folder):
    """Return a sentence for each fault of one page at each width."""
    found = []
    name = path.relative_to(folder).as_posix()
    page.goto(path.as_uri())
    page.evaluate("async () => { if (window.MathJax?.startup) await MathJax.startup.promise; }")
    for device, width in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": 900})
        still = {"desktop": "div.math, pre" if name == "index.html" else "div.math", "phone": ""}[device]
        found += [f"{name} on a {device}: {fault}" for fault in page.evaluate(FAULTS, {"still": still})]
    return found


def main(folder):
    """Check all pages and return the exit code."""
    pages = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        executable = None
    if executable is None:
        print("layout: not checked, because chromium or playwright is not installed")
        return 1 if os.environ.get("STEADYSET_REQUIRE_BROWSER") else 0
    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(120_000)  # a busy machine is slow, not wrong
        for path in pages:
            found += faults_of(page, path, folder)
        browser.close()
    for fault in found:
        print(fault, file=sys.stderr)
    print(f"layout: {len(pages)} pages at {' and '.join(map(str, WIDTHS.values()))} pixels, {len(found)} faults")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
