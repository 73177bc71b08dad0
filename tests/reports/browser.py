"""A real Chromium that opens pages from disk, and remembers what they ask for and complain of."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

# Without these, Chromium asks the network for things of its own.
SILENT = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


def find_browser() -> str | None:
    """The browser that CHROMIUM names, or one of the system's."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


WHOLE = "Promise.all([drawn, triples]).then(() => true)"


@dataclass
class OpenPage:
    """A page that has drawn its charts, and what happened meanwhile."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __call__(self, script: str) -> Any:
        """Run a script in the page."""
        return self.page.evaluate(script)


def open_page(browser: Any, path: Any, *, width: int = 1440, scheme: str = "light", wait: str = WHOLE) -> OpenPage:
    """Open a page, and wait until all of it is there."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = OpenPage(page)
    page.on("console", lambda message: opened.complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("request", lambda request: opened.requests.append(request.url))
    page.on("dialog", lambda dialog: (opened.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.goto(path.as_uri())
    page.evaluate(wait)
    return opened
