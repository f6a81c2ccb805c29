from __future__ import annotations

from typing import Any


def test_the_page_opens_on_the_verdict(page: Any, served: str) -> None:
    page.goto(f"{served}#/verdict?run=broken")

    page.get_by_role("heading", level=1).wait_for()
