"""Runs of `data_scripts`, recorded by real training once a process, and a page that shows them."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

from tests.browser import data_scripts
from tests.browser.recordings import record, serving
from tests.viewer.logged import raw_event, write

SCRIPTS = {
    "images": data_scripts.PICTURES,
    "tokens": data_scripts.TOKENS,
    "series": data_scripts.SERIES,
    "logged": data_scripts.LOGGED,
    "gaps": data_scripts.GAPS,
    "fallen": data_scripts.FALLEN,
}


@pytest.fixture(scope="session")
def data_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("data")
    (folder / "notes.md").write_text(data_scripts.NOTES)
    for name, script in SCRIPTS.items():
        (folder / f"{name}.py").write_text(script)
        places = {"LOGGED_TO": str(folder / "runs" / name), "NOTES": str(folder / "notes.md")}
        with mock.patch.dict("os.environ", places):
            record(folder / f"{name}.py", folder / "runs" / name)
    write(
        folder / "runs" / "hostile",
        raw_event(b"svg", 4, b"<svg onload='alert(1)'/>"),
        raw_event(b"noise", 6, b"?"),
    )
    with serving(folder / "runs") as address:
        yield address
