"""Writes docs/gallery.md and docs/gallery/* from real runs: python tools/make_gallery.py [NAME ...]

Small models are trained (about a minute on one core), then every entry of tools/gallery draws its picture; with
names, only these. An entry is one file: its docstring says what is seen and how it is read, and the arguments
of its `make` are taken by name from gallery_models/stage.py.
"""

from __future__ import annotations

import importlib
import inspect
import io
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gallery import ENTRIES
from gallery_models.stage import Stage
from PIL import Image

from torch_debugger.pictures import Picture
from torch_debugger.pictures.model_graph import ModelDrawing

DOCUMENT = Path(__file__).parent.parent / "docs" / "gallery.md"
FOLDER = DOCUMENT.parent / "gallery"
_DPI = 80

OPENING = """\
# Gallery

Written by `make gallery` from real runs: each picture was made by the code above it. The models are small ones
that `tools/gallery_models` trains in seconds: `cnn` and `vit` tell bars of four directions and discs of four
colours apart, `unet` finds them pixel by pixel, `letters` goes on with short sentences, letter by letter.
`some` holds one image of each kind, `names` what they are called, `loader` and `sentences` give batches. All
pictures can be saved, logged and shown in a notebook; their numbers are in `picture.arrays`.
"""


@dataclass(frozen=True)
class Entry:
    name: str
    title: str
    reading: str
    code: str
    make: Any

    def shown(self, stage: Stage) -> Any:
        asked = inspect.signature(self.make).parameters
        return self.make(**{name: getattr(stage, name) for name in asked})


def entry(name: str) -> Entry:
    module = importlib.import_module(f"gallery.{name}")
    title, _, reading = (module.__doc__ or "").strip().partition("\n\n")
    body = inspect.getsource(module.make).partition("\n")[2]
    code = textwrap.dedent(body).replace("return ", "").strip()
    return Entry(name, title.rstrip("."), " ".join(reading.split()), code, module.make)


def entries() -> list[Entry]:
    return [entry(name) for name in ENTRIES]


def document(found: list[Entry], texts: dict[str, str]) -> str:
    index = "\n".join(f"* [{each.name}](#{each.name}): {each.title[0].lower()}{each.title[1:]}" for each in found)
    return "\n".join([OPENING, index, "", *(_section(each, texts) for each in found)])


def _section(each: Entry, texts: dict[str, str]) -> str:
    if each.name in texts:
        seen = f"```text\n{texts[each.name].rstrip()}\n```"
    else:
        file = next((path for path in sorted(FOLDER.glob(f"{each.name}.*"))), FOLDER / f"{each.name}.png")
        seen = f"![{each.title}](gallery/{file.name})"
    return f"## {each.name}\n\n{each.title}.\n\n```python\n{each.code}\n```\n\n{seen}\n\n{each.reading}\n"


def keep(name: str, shown: Any) -> str | None:
    """Writes a picture into the folder; text comes back and goes into the page itself."""
    if isinstance(shown, ModelDrawing):
        (FOLDER / f"{name}.svg").write_text(shown.svg(), encoding="utf-8")
        return None
    if not isinstance(shown, Picture):
        return str(shown)
    with Image.open(io.BytesIO(shown.png(dpi=_DPI))) as image:
        image.convert("RGB").save(FOLDER / f"{name}.png", optimize=True)
    return None


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    stage, texts = Stage(), {}
    for each in entries():
        is_text = not list(FOLDER.glob(f"{each.name}.*"))
        if not names or each.name in names or is_text:
            text = keep(each.name, each.shown(stage))
            if text is not None:
                texts[each.name] = text
            print(each.name)
    DOCUMENT.write_text(document(entries(), texts), encoding="utf-8")
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"{len(ENTRIES)} entries in docs/gallery.md, {size / 1e6:.2f} MB of pictures")


if __name__ == "__main__":
    main(sys.argv[1:])
