"""Look up every internal link and anchor of a built site: `python tools/check_links.py FOLDER`."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Collect what a tag points to, and what can point to it."""
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
            elif value and (name == "id" or (name == "name" and tag == "a")):
                self.anchors.add(value)


def dead_links(folder):
    """Return (page, link) for each link to a file or an anchor that is not there."""
    root = Path(folder).resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            known = not anchor or target not in pages or anchor in pages[target].anchors
            if not target.is_file() or not known:
                dead.append((path.relative_to(root).as_posix(), link))
    return pages, dead


if __name__ == "__main__":
    pages, dead = dead_links(sys.argv[1])
    for page, link in dead:
        print(f"{page}: {link} leads nowhere", file=sys.stderr)
    print(f"links: {len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(dead)} dead")
    sys.exit(1 if dead or not pages else 0)
