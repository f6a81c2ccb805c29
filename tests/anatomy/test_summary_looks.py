"""How a summary looks: in a file, a terminal of any width, a notebook, and to programs."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from torch import nn

from tests.anatomy.models import sequences, unusual, vision
from torch_debugger import summary

GOLDENS = Path(__file__).parent / "goldens"
ALL = ["kernel_size", "input_size", "output_size", "num_params", "params_percent", "trainable", "mult_adds",
       "flops", "activations", "dtype", "device"]  # fmt: skip


def shows(name: str, text: str) -> None:
    expected = (GOLDENS / f"{name}.txt").read_text(encoding="utf-8")
    assert f"{text}\n" == expected


def test_a_small_network_looks_like_this() -> None:
    model = unusual.Frozen()
    shows("summary_frozen", str(summary(model, (2, 3, 8, 8), col_names=ALL, verbose=0)))


def test_a_large_network_looks_like_this_in_a_narrow_terminal() -> None:
    with torch.device("meta"):
        model = sequences.Llama(128256, 8192, 80, 64, 8, 28672)
    result = summary(model, (1, 4096), dtypes=[torch.long], verbose=0)
    shows("summary_llama", result.text(80))


class Deep(nn.Module):
    def __init__(self, levels: int) -> None:
        super().__init__()
        self.the_next_of_many_levels_with_a_long_name = Deep(levels - 1) if levels else nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.the_next_of_many_levels_with_a_long_name(x)


@pytest.mark.parametrize(
    ("model", "sizes"),
    [(Deep(12), (2, 8)), (unusual.DictOutput(), (2, 3, 800, 800)), (sequences.Translator(), [(2, 7), (2, 5)])],
    ids=["deep", "wide", "several"],
)
def test_no_line_of_the_table_is_wider_than_the_terminal(model: nn.Module, sizes: Any) -> None:
    result = summary(model, sizes, depth=20, col_names=ALL, verbose=0)
    for width in (60, 80, 100, 160):
        table = result.text(width).split("Total params")[0].splitlines()
        assert max(map(len, table)) <= width
        assert len({len(line.rstrip()) for line in table if line.startswith("─")}) == 1
        console = Console(width=width, file=io.StringIO(), force_terminal=True)
        console.print(result)
        shown = console.file.getvalue()  # type: ignore[attr-defined]
        assert len(shown.split("Total params")[0].splitlines()) == len(table)


def test_columns_without_room_are_named() -> None:
    text = summary(vision.LeNet(), (2, 1, 28, 28), col_names=ALL, verbose=0).text(80)
    assert text.splitlines()[-1] == (
        "Too narrow for: params_percent, trainable, mult_adds, flops, activations, dtype, device. "
        "145 characters are enough."
    )


def test_torchinfos_rows_are_named_as_torchinfo_names_them() -> None:
    text = str(summary(vision.LeNet(), (2, 1, 28, 28), row_settings=["depth", "var_names"], verbose=0))
    names = [line.split("  [")[0].strip(" │├└─") for line in text.splitlines()[3:8]]
    assert names == [
        "LeNet",
        "Sequential (features): 1-1",
        "Conv2d (0): 2-1",
        "Tanh (1): 2-2",
        "AvgPool2d (2): 2-3",
    ]


def test_reused_layers_can_be_hidden() -> None:
    model = vision.resnet18()
    whole = summary(model, (2, 3, 32, 32), verbose=0)
    fewer = summary(model, (2, 3, 32, 32), row_settings=["hide_recursive_layers"], verbose=0)
    assert len(str(whole).splitlines()) - len(str(fewer).splitlines()) == 8  # the second ReLU of every block
    assert fewer.total_params == whole.total_params


def test_plain_characters_are_enough() -> None:
    model = unusual.Recursive()
    text = str(summary(model, (2, 8), row_settings=["ascii_only"], verbose=0))
    assert text.isascii()
    assert "+- layer (Sequential) x5" in text


def test_each_parameter_is_shown_when_asked() -> None:
    text = str(summary(unusual.MLP(), (2, 8), col_names=["kernel_size", "num_params"], verbose=2))
    lines = [line.split() for line in text.splitlines()[4:7]]
    assert lines == [
        ["├─", "0", "(Linear)", "--", "144"],
        ["│", "weight", "[16,", "8]", "of", "these", "128"],
        ["│", "bias", "[16]", "of", "these", "16"],
    ]


def test_it_is_printed_once_and_not_when_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    result = summary(unusual.MLP(), (2, 8))
    assert capsys.readouterr().out == f"{result}\n"
    summary(unusual.MLP(), (2, 8), verbose=0)
    assert capsys.readouterr().out == ""


def test_at_a_prompt_the_result_shows_itself(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    result = summary(unusual.MLP(), (2, 8))
    assert capsys.readouterr().out == ""
    assert repr(result) == str(result)
    summary(unusual.MLP(), (2, 8), verbose=1)
    assert "Total params: 212" in capsys.readouterr().out


def test_what_forward_prints_is_not_part_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    class Talks(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            print("here")
            return x

    summary(Talks(), (2, 8), verbose=0)
    assert capsys.readouterr().out == ""


def test_a_notebook_gets_a_table() -> None:
    class Angle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add_module("a<b>", nn.Linear(3, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return getattr(self, "a<b>")(x)

    page = summary(Angle(), (2, 3), verbose=0)._repr_html_()
    assert page.startswith("<table>") and page.count("<tr>") == 3
    assert "a&lt;b&gt; (Linear)" in page and "Total params: 16" in page


def test_names_cannot_steer_a_terminal() -> None:
    model = nn.Module()
    model.add_module("\x1b[31mred", nn.Linear(3, 4))
    text = str(summary(model, verbose=0))
    assert "\x1b" not in text and "\\x1b[31mred (Linear)" in text


def test_programs_read_it() -> None:
    result = summary(vision.resnet18(), (2, 3, 32, 32), verbose=0)
    again = json.loads(json.dumps(result.to_dict()))
    assert again["totals"]["macs"] == sum(row["own"]["macs"] for row in again["rows"]) == result.macs
    assert again["model"] == "ResNet" and again["ran"] == "for real"


def test_a_pipe_that_knows_only_plain_characters_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", pipe)
    summary(unusual.MLP(), (2, 8))
    pipe.flush()
    assert b"? 0 (Linear)" in pipe.buffer.getvalue()  # type: ignore[attr-defined]
