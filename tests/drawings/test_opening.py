"""The code of the page: it opens and closes parts without a layout of its own, and nothing overlaps."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.drawings.geometry import check, of_page, of_scene
from tests.drawings.models import drawable
from torch_debugger.drawings.model_drawing import ModelDrawing, model_graph
from torch_debugger.drawings.model_html import page_script

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs node to run the code of the page")
MODELS = sorted(drawable())


@cache
def drawing(name: str) -> tuple[ModelDrawing, dict[str, Any]]:
    found = model_graph(*drawable()[name])
    return found, found.to_dict()


def composed(data: dict[str, Any], choices: list[list[str]], folder: Path) -> list[dict[str, Any]]:
    """What the page would draw with these parts open."""
    given = folder / "given.json"
    given.write_text(json.dumps({"data": data, "choices": choices}), encoding="utf-8")
    script = folder / "run.cjs"
    script.write_text(
        f"{page_script()}\nconst given = JSON.parse(require('fs').readFileSync({json.dumps(str(given))}));\n"
        "console.log(JSON.stringify(given.choices.map((keys) => composed(given.data, new Set(keys)))));\n",
        encoding="utf-8",
    )
    finished = subprocess.run([str(NODE), str(script)], capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(finished.stdout)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_whatever_is_opened_nothing_overlaps(name: str, tmp_path: Path) -> None:
    data = drawing(name)[1]
    keys = [key for key in data["groups"] if key]
    chance = random.Random(name)
    some = [chance.sample(keys, chance.randint(0, min(12, len(keys)))) for _ in range(4)]
    choices = [data["opened"], [], keys[:12], *some, data["opened"] + keys[-3:]]
    for scene in composed(data, choices, tmp_path):
        check(of_page(scene))


@pytest.mark.parametrize("name", MODELS)
def test_the_page_begins_as_the_svg_looks(name: str, tmp_path: Path) -> None:
    found, data = drawing(name)
    (page,) = composed(data, [data["opened"]], tmp_path)
    scene = found._parts.scene(found._opened(None, ()))
    ours, theirs = of_scene(scene), of_page(page)
    for one, other in zip(ours.boxes + ours.frames, theirs.boxes + theirs.frames, strict=True):
        assert one.name == other.name
        assert all(abs(a - b) < 2 for a, b in zip(one[1:], other[1:], strict=True)), (one, other)
    assert len(ours.lines) == len(theirs.lines)
