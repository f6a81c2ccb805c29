"""Pictures, histograms, texts, sounds, curves and tensors as the objects by which W&B shows them."""

from __future__ import annotations

import html
import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch_debugger.archive.media import Histogram, Picture, Sound, Text
from torch_debugger.archive.pr_curves import PrCurve
from torch_debugger.integrations.trackers.bins import counts_and_edges
from torch_debugger.integrations.trackers.media_decoder import Grid

_ENDINGS = {"audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac"}
_BAR = re.compile(r"(?<!\\)\|")


def picture_form(picture: Picture) -> Any:
    import wandb
    from PIL import Image

    content = io.BytesIO(picture.data)
    is_film = picture.data.startswith(b"GIF")
    return wandb.Video(content, format="gif") if is_film else wandb.Image(Image.open(content))


def histogram_form(histogram: Histogram) -> Any:
    import wandb

    return wandb.Histogram(np_histogram=counts_and_edges(histogram))


@contextmanager
def other_form(tag: str, medium: Text | Sound | PrCurve | Grid) -> Iterator[Any]:
    """To be logged inside: W&B takes a sound from a file only, and copies it."""
    if isinstance(medium, Sound):
        with tempfile.TemporaryDirectory(prefix="torch-debugger-") as folder:
            yield _sound(medium, folder)
    elif isinstance(medium, PrCurve):
        yield _curve(tag, medium)
    elif isinstance(medium, Grid):
        yield _table([str(place) for place in range(medium.rows.shape[1])], medium.rows.tolist())
    else:
        yield _text(medium.text)


def _sound(sound: Sound, folder: str) -> Any:
    import wandb

    path = os.path.join(folder, f"sound{_ENDINGS.get(sound.kind, '.wav')}")
    with open(path, "wb") as file:
        file.write(sound.data)
    return wandb.Audio(path)


def _curve(tag: str, curve: PrCurve) -> Any:
    import wandb

    columns = [curve.thresholds.tolist(), curve.precision.tolist(), curve.recall.tolist()]
    table = _table(["threshold", "precision", "recall"], [list(row) for row in zip(*columns, strict=True)])
    return wandb.plot.line(table, "recall", "precision", title=tag)


def _text(text: str) -> Any:
    """W&B shows no Markdown among the values of a run: a table is one there, anything else is its letters."""
    import wandb

    lines = [line.strip() for line in text.strip().splitlines()]
    rows = [_cells(line) for line in lines if line.startswith("|")]
    if len(rows) == len(lines) > 1 and re.fullmatch(r"[\s:|-]+", lines[1]) and len({*map(len, rows)}) == 1:
        return _table(rows[0], rows[2:])
    letters = f'<pre style="white-space: pre-wrap">{html.escape(text)}</pre>'
    return wandb.Html(letters, data_is_not_path=True)


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(line)[1:-1]]


def _table(columns: list[str], rows: list[list[Any]]) -> Any:
    import wandb

    return wandb.Table(columns=columns, data=rows)
