"""A rehearsal as text: every word of it, and the sentences that stand in only some."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from torch_debugger.records import Place, StepRehearsal
from torch_debugger.records.units import gpu_bytes, is_hopper
from torch_debugger.report.preflight import rehearsal_html, rehearsal_text

GOLDEN = Path(__file__).parent / "golden" / "rehearsal.txt"

RESNET = StepRehearsal(
    model="net", parameters=25_557_032, optimizer="AdamW", dtype="bf16", batch=64, peak_bytes=3_000_000_000,
    reserved_bytes=3_400_000_000,
    by_category={
        "parameters": 102_000_000, "inputs": 38_000_000, "activations": 2_500_000_000, "gradients": 40_000_000,
        "optimizer state": 204_000_000, "weight copies": 31_000_000, "temporaries": 45_000_000,
        "workspace": 40_000_000,
    },
    by_module={"blocks.0.relu": 154_000_000, "blocks.1.relu": 154_000_000, "(the loss)": 256_000},
    phase="backward", place=Place("/home/me/project/net.py", 38, "blocks.13.shortcut", "y += self.shortcut(x)"),
    accumulate=4, gpu="t4", gpu_bytes=gpu_bytes("t4"), largest_batch=288,
)  # fmt: skip


def test_the_whole_text() -> None:
    assert rehearsal_text(RESNET, "/home/me/project") == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"gpu": "2GB", "gpu_bytes": 2 * 10**9, "largest_batch": 30},
            "does not fit into 2GB: 3.9 GB are needed.",
        ),
        ({"gpu": "2GB", "gpu_bytes": 2 * 10**9, "largest_batch": 0}, "Not even a batch of 1 fits."),
        ({"largest_batch": None, "no_largest_batch": "The batch is odd."}, "is not known: the batch is odd."),
        ({"on_real_data": True}, "The largest batch that fits is about 288."),
        ({"on_real_data": True}, "The step needs numbers, not shapes alone"),
        (
            {"others": ("netG", "netE")},
            "The script trains `netG` and `netE` as well: what that takes is not counted.",
        ),
        (
            {"largest_batch": None, "no_largest_batch": "The step fails (ValueError: odd)."},
            "is not known: the step fails (ValueError: odd).",
        ),
        ({"optimizer": ""}, "an optimizer's state is not."),
        ({"phase": "optimizer step"}, "Peak 3 GB, in the optimizer's step (net.py:38)."),
    ],
)
def test_sentences_that_stand_in_some(changes: dict[str, object], said: str) -> None:
    text = rehearsal_text(dataclasses.replace(RESNET, **changes), "/home/me/project")  # type: ignore[arg-type]
    assert said in " ".join(text.split())


def test_the_html_escapes_names_and_says_the_same() -> None:
    page = rehearsal_html(dataclasses.replace(RESNET, model="<net>", by_module={"<b>": 512}))
    assert "&lt;net&gt;" in page
    assert "<b>Peak 3 GB" in page
    assert "<td>&lt;b&gt;</td>" in page
    assert "The largest batch that fits is 288." in page


@pytest.mark.parametrize(
    ("text", "size"),
    [("24GB", 24 * 10**9), ("80GiB", 80 * 2**30), ("1.5 gb", 1_500_000_000), ("RTX 4090", int(23.5 * 2**30))],
)
def test_the_memory_of_a_gpu_is_read(text: str, size: int) -> None:
    assert gpu_bytes(text) == size


@pytest.mark.parametrize("text", ["", "big", "24", "-1GB", "0GB", "24TB", "h1000"])
def test_what_is_no_gpu_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is a size such as 24GB or 80GiB, or one of t4"):
        gpu_bytes(text)


def test_hopper_is_known_by_its_name() -> None:
    assert is_hopper("NVIDIA H200")
    assert not is_hopper("a100")
