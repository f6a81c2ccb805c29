"""The code of the page: it opens and closes parts without a layout of its own, and nothing overlaps."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.drawings.geometry import check, of_page, of_scene
from tests.drawings.models import drawable
from torch_debugger.pictures.model_graph import ModelDrawing, model_graph, page_script

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs node to run the code of the page")


@dataclass
class Composed:
    """A drawing, and what the page would draw of it with one choice of open parts after the other."""

    drawing: ModelDrawing
    data: dict[str, Any]
    choices: list[list[str]]
    pages: list[dict[str, Any]] = field(default_factory=list)


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Composed]:
    """Of every model, by its name. The first choice of each is what is open when the page is."""
    found = {}
    for name, (model, inputs) in sorted(drawable().items()):
        drawing = model_graph(model, inputs)
        data = drawing.to_dict()
        keys = [key for key in data["groups"] if key]
        chance = random.Random(name)
        some = [chance.sample(keys, chance.randint(0, min(12, len(keys)))) for _ in range(4)]
        choices = [data["opened"], [], keys[:12], *some, data["opened"] + keys[-3:]]
        found[name] = Composed(drawing, data, choices)
    pages = _run_page([(each.data, each.choices) for each in found.values()], tmp_path_factory.mktemp("page"))
    for each, drawn in zip(found.values(), pages, strict=True):
        each.pages = drawn
    return found


def _run_page(asked: list[tuple[dict[str, Any], list[list[str]]]], folder: Path) -> list[list[dict[str, Any]]]:
    given = folder / "given.json"
    given.write_text(json.dumps(asked), encoding="utf-8")
    script = folder / "run.cjs"
    script.write_text(
        f"{page_script()}\nconst given = JSON.parse(require('fs').readFileSync({json.dumps(str(given))}));\n"
        "console.log(JSON.stringify(given.map(([data, choices]) =>"
        " choices.map((keys) => composed(data, new Set(keys))))));\n",
        encoding="utf-8",
    )
    finished = subprocess.run([str(NODE), str(script)], capture_output=True, text=True, check=True)
    found: list[list[dict[str, Any]]] = json.loads(finished.stdout)
    return found


def test_whatever_is_opened_nothing_overlaps(composed: dict[str, Composed]) -> None:
    assert len(composed) > 10
    for each in composed.values():
        assert len(each.pages) == len(each.choices) == 8
        for page in each.pages:
            check(of_page(page))


def test_the_page_begins_as_the_svg_looks(composed: dict[str, Composed]) -> None:
    for each in composed.values():
        scene = each.drawing._parts.scene(each.drawing._opened(None, ()))
        ours, theirs = of_scene(scene), of_page(each.pages[0])
        for one, other in zip(ours.boxes + ours.frames, theirs.boxes + theirs.frames, strict=True):
            assert one.name == other.name
            assert all(abs(a - b) < 2 for a, b in zip(one[1:], other[1:], strict=True)), (one, other)
        assert len(ours.lines) == len(theirs.lines)
