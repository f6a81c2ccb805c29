"""TD104 judged on rehearsals: the sentence, the place, the edit, and when it keeps silent."""

from __future__ import annotations

import dataclasses

import pytest

from tests import fakes
from torch_debugger.checks.judge import Judge
from torch_debugger.records import Edit, Finding, LocalTensor, Place, Rehearsal

MEAN = LocalTensor("mean", (8, 4), "float32", "cuda:0", False)
NOISE = LocalTensor("noise", (8, 4), "float32", "cpu", False)


def rehearsal(
    origin: str = "noise = torch.randn(mean.shape)",
    line: int = 40,
    tensors: tuple[LocalTensor, ...] = (NOISE, MEAN),
    outcome: str = "mismatch",
    file: str = "vae.py",
) -> Rehearsal:
    place = Place("vae.py", 41, "model", "return mean + noise * std")
    made = Place(file, line, "model", origin)
    devices = ("cuda:0", "cpu")
    return Rehearsal("model", "cuda", outcome, place, "model", "", devices, tensors, 0.004, 1, made)


def judge(record: Rehearsal, names_accelerator: bool = True) -> list[Finding]:
    judged = Judge(only=["tensor-on-wrong-device"])
    judged.see(fakes.run(names_accelerator=names_accelerator))
    return judged.see(record)


def test_says_which_line_mixes_devices_and_which_call_made_the_odd_tensor() -> None:
    (finding,) = judge(rehearsal())
    assert finding.message == (
        "vae.py:41 in `model` mixes cuda and cpu: `noise` is made on the CPU by `torch.randn(...)` "
        "at vae.py:40. On a GPU this line raises an error."
    )
    assert finding.severity == "error" and finding.confidence == 0.95
    assert finding.where == Place("vae.py", 40, "model", "noise = torch.randn(mean.shape)")
    assert finding.evidence == {"devices": "cuda:0 and cpu", "shape": "(8, 4)", "rehearsal_cost_s": 0.004}


def test_gives_the_line_with_the_device_of_a_tensor_it_already_uses() -> None:
    late = LocalTensor("batch", (8,), "float32", "cuda:0", False)
    (finding,) = judge(rehearsal(tensors=(NOISE, late, MEAN)))
    after = "noise = torch.randn(mean.shape, device=mean.device)"
    assert finding.edit == Edit("vae.py", 40, "noise = torch.randn(mean.shape)", after)
    assert finding.fix == f"At vae.py:40 write `{after}`."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("noise = torch.zeros(8, 4).sqrt()", "noise = torch.zeros(8, 4, device=mean.device).sqrt()"),
        ("noise = self.embed(torch.arange(8))", "noise = self.embed(torch.arange(8, device=mean.device))"),
        ('noise = torch.tensor(["é", 1])[1:]', 'noise = torch.tensor(["é", 1], device=mean.device)[1:]'),
        ("noise = randn(8)", "noise = randn(8, device=mean.device)"),
    ],
)
def test_puts_the_device_into_the_call_that_makes_the_tensor(before: str, after: str) -> None:
    (finding,) = judge(rehearsal(before))
    assert finding.edit is not None and finding.edit.after == after


def test_makes_a_buffer_of_a_tensor_that_the_module_keeps() -> None:
    scale = LocalTensor("self.scale", (4,), "float32", "cpu", False)
    (finding,) = judge(rehearsal("self.scale = torch.ones(4)", 12, (scale, MEAN)))
    after = 'self.register_buffer("scale", torch.ones(4), persistent=False)'
    assert finding.edit == Edit("vae.py", 12, "self.scale = torch.ones(4)", after)
    assert finding.fix == f"At vae.py:12 write `{after}`: a buffer moves with the model."
    assert "`self.scale` is made on the CPU" in finding.message


@pytest.mark.parametrize(
    "record",
    [
        rehearsal("noise = torch.randn(8) + torch.zeros(8)"),  # which call would it be
        rehearsal("mean.shape,"),  # a part of a statement
        rehearsal("return torch.randn(shape)", 7, (MEAN,)),  # another function: `mean` is not known there
        rehearsal("return torch.randn(shape)", 7),
        rehearsal(file="noise.py"),
    ],
)
def test_writes_no_edit_where_the_line_is_not_simple(record: Rehearsal) -> None:
    (finding,) = judge(record)
    assert finding.edit is None
    assert finding.fix.startswith("Give the tensor made at ")


def test_is_silent_when_the_script_names_no_accelerator() -> None:
    assert judge(rehearsal(), names_accelerator=False) == []


@pytest.mark.parametrize("outcome", ["passed", "failed", "timeout"])
def test_is_silent_when_no_mismatch_was_proven(outcome: str) -> None:
    assert judge(rehearsal(outcome=outcome)) == []


ITEMS = "key: each.to(DEVICE) for key, each in b.items()"
FLAT = "x = x.flatten(1)"
CALL = Place("vae.py", 52, None, "x_hat = model(x)")


def of_script(**others: object) -> Rehearsal:
    facts: dict[str, object] = {
        "place": Place("vae.py", 52, None, "x_hat, mean, log_var = model(x)"),
        "origin": Place("vae.py", 50, None, "for x, y in train_loader:"),
        "of_script": True, "device_text": "DEVICE", "brought": "x", "taken_from": "train_loader",
        "moved_at": Place("vae.py", 51, None, "x = x.flatten(1)"), "moved": ("x", "y"),
    }  # fmt: skip
    return dataclasses.replace(rehearsal(), module=None, **{**facts, **others})  # type: ignore[arg-type]


def test_a_batch_that_the_loop_does_not_move_is_moved_at_its_top() -> None:
    (finding,) = judge(of_script())
    assert finding.message == (
        "vae.py:52 mixes cuda and cpu: `x` comes from `train_loader` on the CPU and is not moved, while the "
        "model is on `DEVICE`. On a GPU this line raises an error."
    )
    assert finding.edit == Edit("vae.py", 51, "x = x.flatten(1)", "x, y = x.to(DEVICE), y.to(DEVICE)\nx = x.flatten(1)")
    assert finding.where.line == 52


@pytest.mark.parametrize(
    ("others", "after"),
    [
        ({"moved": ("b",), "moved_kind": "dict"}, f"b = {{{ITEMS}}}\n{FLAT}"),
        ({"moved": ("b",), "moved_kind": "list"}, "b = [each.to(DEVICE) for each in b]\n" + FLAT),
        ({"moved": ("x",), "moved_kind": "argument", "moved_at": CALL}, "x_hat = model(x.to(DEVICE))"),
    ],
)  # fmt: skip
def test_what_is_moved_of_other_batches(others: dict[str, object], after: str) -> None:
    (finding,) = judge(of_script(**others))
    assert finding.edit is not None and finding.edit.after == after


def test_noise_that_a_line_makes_gets_the_device_of_the_model() -> None:
    line = Place("vae.py", 60, None, "noise = torch.randn(16, 8)")
    made = {"taken_from": "", "origin": line, "moved_at": line, "moved": ("noise",), "brought": "noise"}
    (finding,) = judge(of_script(**made))
    assert finding.edit is not None and finding.edit.after == "noise = torch.randn(16, 8, device=DEVICE)"
    assert finding.where == line


@pytest.mark.parametrize("script_first", [False, True])
def test_what_forward_has_told_is_not_told_again_of_the_script(script_first: bool) -> None:
    forward = rehearsal()
    origin = dataclasses.replace(forward.origin, module=None)
    of_both = [forward, of_script(origin=origin, taken_from="")]
    state = Judge()
    state.see(fakes.run(names_accelerator=True))
    for record in reversed(of_both) if script_first else of_both:
        state.see(record)
    assert len([each for each in state.findings if each.name == "tensor-on-wrong-device"]) == 1
