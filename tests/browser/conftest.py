"""A real Chromium, and runs that real training has recorded."""

from tests.browser.chromium import browser, chromium, page
from tests.browser.data_recordings import data_served
from tests.browser.recordings import recordings, served
from tests.browser.space_recordings import boards, boards_served
from tests.browser.sweep import sweep, swept

__all__ = [
    "boards",
    "boards_served",
    "browser",
    "chromium",
    "data_served",
    "page",
    "recordings",
    "served",
    "sweep",
    "swept",
]
