"""Every picture has its place in the gallery, and the code that stands there runs."""

from __future__ import annotations

import functools
from typing import Any

import make_gallery
import pytest
from gallery_models.stage import Stage

from torch_debugger import pictures
from torch_debugger.pictures import Picture

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


def test_every_function_that_draws_has_an_entry() -> None:
    shown = set(make_gallery.ENTRIES)
    missing = [names[0] for names in functions_that_draw().values() if not shown & set(names)]
    assert len(functions_that_draw()) > 10
    assert not missing, f"write tools/gallery/NAME.py for {', '.join(missing)}, name it in ENTRIES, run `make gallery`"


def test_the_code_of_every_entry_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn, not yet made into a file, which takes most of the time; tests/pictures looks at the files."""
    monkeypatch.setattr(pictures, "maximize", functools.partial(pictures.maximize, steps=2))
    stage, failed = Stage(share=0.01), {}
    for entry in make_gallery.entries():
        try:
            shown = entry.shown(stage)
            seen = shown.figure().axes if isinstance(shown, Picture) else str(shown)
            assert seen, "nothing is seen"
        except Exception as error:
            failed[entry.name] = error
    assert not failed


def test_the_page_has_every_entry_as_it_is() -> None:
    assert not {entry.name: told for entry in make_gallery.entries() if (told := not_on_the_page(entry))}


def not_on_the_page(entry: make_gallery.Entry) -> list[str]:
    holds = {
        "run `make gallery` for its title": f"## {entry.name}\n\n{entry.title}." in PAGE,
        "run `make gallery` for its code": f"```python\n{entry.code}\n```" in PAGE,
        "run `make gallery` for how it is read": entry.reading in PAGE,
        "two sentences say how it is read": entry.reading.count(". ") == 1,
    }
    return [complaint for complaint, held in holds.items() if not held]


def test_the_pictures_of_the_page_are_there_and_small() -> None:
    linked = {line.partition("(gallery/")[2][:-1] for line in PAGE.split("\n") if line.startswith("![")}
    files = {path.name: path.stat().st_size for path in make_gallery.FOLDER.iterdir()}
    assert linked == set(files)
    assert sum(files.values()) < 1_500_000
