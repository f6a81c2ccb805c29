"""A picture shows itself, is saved, and goes to a log."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from torch_debugger.pictures import Picture
from torch_debugger.pictures.figures import tiles, to_unit
from torch_debugger.system.errors import UsageError


def four_tiles() -> Picture:
    images = [np.full((4, 4), level) for level in (0.0, 0.3, 0.6, 1.0)]
    return Picture("four tiles", {"images": np.stack(images)}, lambda: tiles(images, "four tiles", vmin=0, vmax=1))


def test_it_is_shown_in_a_notebook() -> None:
    assert four_tiles()._repr_png_().startswith(b"\x89PNG")


def test_its_pixels_hold_every_tile() -> None:
    pixels = four_tiles().pixels()
    assert pixels.dtype == np.uint8 and pixels.shape[2] == 3
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 4


@pytest.mark.parametrize("kind", ["png", "svg", "pdf", "jpg"])
def test_it_is_saved(tmp_path: Path, kind: str) -> None:
    assert four_tiles().save(tmp_path / f"a.{kind}").stat().st_size > 500


def test_a_kind_that_nobody_can_write_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"saved as \.png, .* but 'a\.gif' ends otherwise"):
        four_tiles().save(tmp_path / "a.gif")
    with pytest.raises(UsageError, match=r"no folder .* make it first"):
        four_tiles().save(tmp_path / "nowhere" / "a.png")


def test_it_goes_to_a_writer() -> None:
    seen: list[object] = []

    class Writer:
        def add_image(self, tag: str, image: object, step: int | None = None, *, dataformats: str) -> None:
            seen.append((tag, np.shape(image)[2], step, dataformats))  # type: ignore[arg-type]

    four_tiles().log(Writer(), step=3)
    assert seen == [("four tiles", 3, 3, "HWC")]


def test_a_constant_and_nan_have_a_place_between_0_and_1() -> None:
    assert to_unit(np.array([2.0, 2.0])).tolist() == [0.5, 0.5]
    unit = to_unit(np.array([1.0, np.nan, 3.0, np.inf]))
    assert unit[0] == 0 and np.isnan(unit[1]) and unit[2] == 1


def test_it_says_what_it_holds() -> None:
    assert repr(four_tiles()) == "<Picture: four tiles; images [4, 4, 4]>"
    assert torch.is_grad_enabled()


def test_a_notebook_shows_it_below_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []
    notebook = types.ModuleType("IPython")
    shell = types.SimpleNamespace(kernel=object())
    notebook.get_ipython = lambda: shell  # type: ignore[attr-defined]
    notebook.display = types.SimpleNamespace(display=shown.append)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    picture = four_tiles()
    picture.show()
    assert shown == [picture]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there always is a screen")
def test_a_machine_without_a_screen_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    with pytest.raises(UsageError, match=r"no screen here to show a picture on: picture\.save"):
        four_tiles().show()
