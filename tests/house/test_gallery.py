"""Every picture has its place in the gallery, and the code that stands there runs."""

from __future__ import annotations

from typing import Any

import make_gallery
import pytest
from gallery_models.stage import Stage

from torch_debugger import pictures
from torch_debugger.pictures import Picture

ENTRIES = [pytest.param(entry, id=entry.name) for entry in make_gallery.entries()]
PAGE = make_gallery.DOCUMENT.read_text(encoding="utf-8")


def functions_that_draw() -> dict[Any, list[str]]:
    """Each with its names: some have two."""
    found: dict[Any, list[str]] = {}
    for name in pictures.__all__:
        member = getattr(pictures, name)
        if not isinstance(member, type) and issubclass(returned_by(member), Picture):
            found.setdefault(member, []).append(name)
    return found


def returned_by(function: Any) -> type:
    kind: type = function.__globals__[function.__annotations__["return"]]
    return kind


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage(share=0.01)


def test_every_function_that_draws_has_an_entry() -> None:
    shown = set(make_gallery.ENTRIES)
    missing = [names[0] for names in functions_that_draw().values() if not shown & set(names)]
    assert len(functions_that_draw()) > 10
    assert not missing, (
        f"write tools/gallery/NAME.py for {', '.join(missing)}, name it in ENTRIES, run `make gallery`"
    )


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_code_of_an_entry_runs(entry: make_gallery.Entry, stage: Stage) -> None:
    shown = entry.shown(stage)
    assert shown.png().startswith(b"\x89PNG") if isinstance(shown, Picture) else str(shown)


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_page_has_the_entry_as_it_is(entry: make_gallery.Entry) -> None:
    assert f"## {entry.name}\n\n{entry.title}." in PAGE, "run `make gallery`"
    assert f"```python\n{entry.code}\n```" in PAGE, "run `make gallery`"
    assert entry.reading in PAGE and entry.reading.count(". ") == 1, "two sentences say how it is read"


def test_the_pictures_of_the_page_are_there_and_small() -> None:
    linked = {line.partition("(gallery/")[2][:-1] for line in PAGE.split("\n") if line.startswith("![")}
    files = {path.name: path.stat().st_size for path in make_gallery.FOLDER.iterdir()}
    assert linked == set(files)
    assert sum(files.values()) < 1_500_000
