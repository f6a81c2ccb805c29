"""A real Chromium, and runs that real training has recorded."""

from tests.browser.chromium import browser, chromium, page
from tests.browser.data_recordings import data_served
from tests.browser.recordings import recordings, served
from tests.browser.sweep import sweep, swept

__all__ = ["browser", "chromium", "data_served", "page", "recordings", "served", "sweep", "swept"]
