"""A real Chromium, and runs that real training has recorded."""

from tests.browser.chromium import browser, page
from tests.browser.recordings import recordings, served
from tests.browser.sweep import sweep, swept

__all__ = ["browser", "page", "recordings", "served", "sweep", "swept"]
