"""Waiting for what a page computes. Playwright's own `wait_for_function` compiles it inside of the page, again
and again, which the page's Content-Security-Policy forbids."""

from __future__ import annotations

from typing import Any

_TRIES, _PAUSE_MS = 2400, 50  # two minutes


def wait_until(page: Any, expression: str, argument: Any = None) -> None:
    for _ in range(_TRIES):
        if page.evaluate(expression, argument):
            return
        page.wait_for_timeout(_PAUSE_MS)
    raise AssertionError(f"The page did not come to: {expression}")
