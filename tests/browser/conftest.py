"""A real Chromium, and runs that real training has recorded."""

from tests.browser.chromium import browser, page
from tests.browser.recordings import recordings, served

__all__ = ["browser", "page", "recordings", "served"]
