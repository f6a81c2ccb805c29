"""The rehearsal finds what only an accelerator would show, and leaves the run as it was."""

from __future__ import annotations

import os
import sys

import psutil
import pytest
import torch

from tests.trials import device_models, unregistered_models
from torch_debugger.checks.setup.tensor_on_wrong_device import TensorOnWrongDevice
from torch_debugger.records import LocalTensor, Rehearsal
from torch_debugger.trials.gpu_rehearsal import RehearsalProcess, rehearse

BATCH = torch.ones(8, 4)


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    """Fake tensors load much on first use: here, so that the forks find it done."""
    from torch_debugger.trials.pretended_gpu import Pretence

    model = device_models.DeviceOfInput()
    with torch.no_grad(), Pretence("cuda", {}):
        model(BATCH)


def rehearsed(name: str, timeout_s: float = 20.0) -> Rehearsal:
    return rehearse(getattr(device_models, name)(), "net", (BATCH,), {}, timeout_s=timeout_s, step=3)


def marked(kind: str, name: str) -> int:
    with open(device_models.__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if f"{kind}: {name}" in line)


@pytest.mark.parametrize(
    ("name", "maker"),
    [
        ("MadeInForward", "MadeInForward"),
        ("MadeInHelper", "helper"),
        ("MadeInLine", "MadeInLine"),
        ("MadeByTorch", "MadeByTorch"),
        ("KeptAsAttribute", "KeptAsAttribute"),
        ("KeptByParent", "KeptAsAttribute"),
        ("TableOnCpu", "TableOnCpu"),
    ],
)
def test_names_the_line_that_mixes_devices_and_the_line_that_made_the_odd_tensor(name: str, maker: str) -> None:
    result = rehearsed(name)
    assert result.outcome == "mismatch", result.error
    assert result.place.file == result.origin.file == device_models.__file__
    assert result.place.line == marked("mixed", name)
    assert result.origin.line == marked("made", maker)
    assert result.module == result.place.module == "net"
    assert result.devices == ("cuda:0", "cpu") and result.step == 3


def test_tells_where_each_tensor_of_that_line_would_be() -> None:
    assert rehearsed("MadeInForward").tensors == (
        LocalTensor("scaled", (8, 4), "float32", "cpu", False),
        LocalTensor("h", (8, 4), "float32", "cuda:0", False),
        LocalTensor("epsilon", (8, 4), "float32", "cpu", False),
    )


@pytest.mark.parametrize("name", ["DeviceOfInput", "DeviceOfScript", "AsksTorch", "Scalars", "Caught", "ManyLayers"])
def test_passes_models_that_would_run(name: str) -> None:
    result = rehearsed(name)
    assert (result.outcome, result.error) == ("passed", "")


@pytest.mark.parametrize("name", ["PlainList", "PlainDict", "MadeBeforeALoop"])
def test_names_what_stays_behind_in_a_rehearsal_asked_for(name: str) -> None:
    result = rehearsed_unregistered(name)
    assert result.outcome == "mismatch", result.error
    with open(unregistered_models.__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert f"mixed: {name}" in lines[(result.place.line or 0) - 1]
    assert f"made: {name}" in lines[(result.origin.line or 0) - 1]


@pytest.mark.parametrize("name", ["RegisteredTwice", "MovedByHand", "Checkpointed"])
def test_passes_layers_that_move_after_all(name: str) -> None:
    result = rehearsed_unregistered(name)
    assert (result.outcome, result.error) == ("passed", "")


def rehearsed_unregistered(name: str) -> Rehearsal:
    model = getattr(unregistered_models, name)()
    return rehearse(model, "net", (BATCH,), {}, step=1, unregistered=True)


@pytest.mark.parametrize(
    ("name", "odd", "after"),
    [
        (
            "PlainList",
            "self.blocks[0].weight",
            "self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])  # made: PlainList",
        ),
        (
            "PlainDict",
            "self.heads['a'].weight",
            'self.heads = nn.ModuleDict({"a": nn.Linear(4, 4)})  # made: PlainDict',
        ),
    ],
)
def test_layers_in_plain_containers_are_told_with_the_container_to_take(name: str, odd: str, after: str) -> None:
    finding = TensorOnWrongDevice().judge(rehearsed_unregistered(name))
    assert f"`{odd}` is made on the CPU at unregistered_models.py:" in finding.message
    assert finding.edit is not None and finding.edit.after == after
    assert finding.fix.endswith("what a plain list or dictionary holds does not move with the model.")


def test_follows_a_value_that_is_passed_to_the_constructor() -> None:
    result = rehearse(device_models.passed(), "net", (BATCH,), {}, step=1)
    assert (result.outcome, result.origin.line) == ("mismatch", marked("made", "Passed"))


def test_claims_nothing_of_a_value_that_was_moved_before_it_was_passed() -> None:
    assert rehearse(device_models.passed_on_device(), "net", (BATCH,), {}, step=1).outcome == "passed"


@pytest.mark.parametrize("name", ["FlagOfScript", "FlagInLine", "MovedByHelper", "MovedAtUse", "MovedElsewhere"])
def test_claims_nothing_where_another_branch_may_move_the_tensor(name: str) -> None:
    result = rehearsed(name)
    assert (result.outcome, result.error) == ("failed", "two devices met, but the script may move that tensor")


def test_a_forward_that_looks_at_values_ends_it_without_a_claim() -> None:
    result = rehearsed("LooksAtValues")
    assert result.outcome == "failed" and "DataDependent" in result.error


def test_an_abort_ends_only_the_fork() -> None:
    result = rehearsed("Aborts")
    assert (result.outcome, result.error) == ("failed", "the rehearsal's process died")


def test_a_rehearsal_that_takes_too_long_ends_itself() -> None:
    before = psutil.Process().children()
    result = rehearsed("Sleeps", timeout_s=0.3)
    assert (result.outcome, result.error) == ("timeout", "the rehearsal's process took too long")
    assert psutil.Process().children() == before


def test_never_waits_and_leaves_no_process_behind() -> None:
    before = psutil.Process().children()
    process = RehearsalProcess.start(device_models.Sleeps(), "net", (BATCH,), {}, step=1)
    assert process.poll() is None
    process.close()
    assert psutil.Process().children() == before
    result = process.poll()
    assert result is not None and result.outcome == "failed"


def test_works_after_the_parent_used_several_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.ones(500, 500) @ torch.ones(500, 500)
        assert rehearsed("MadeInForward").outcome == "mismatch"
    finally:
        torch.set_num_threads(before)


def test_changes_nothing_in_the_run(tmp_path, capfd) -> None:
    path = tmp_path / "calls.txt"
    path.write_text("begun\n")
    model = device_models.Writes(str(path))
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state, hooks = torch.get_rng_state(), len(torch.nn.modules.module._global_forward_hooks)
    sys.stdout.write("unflushed;")
    assert rehearse(model, "net", (BATCH,), {}, step=1).outcome == "failed"  # its file would not take the text
    sys.stdout.flush()
    assert capfd.readouterr().out == "unflushed;"
    assert path.read_text() == "begun\n" and model.calls == 0
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert len(torch.nn.modules.module._global_forward_hooks) == hooks
    assert not torch.cuda.is_available() and BATCH.device.type == "cpu"


def test_stays_away_from_a_process_group() -> None:
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        result = rehearsed("MadeInForward")
    finally:
        torch.distributed.destroy_process_group()
    assert (result.outcome, result.cost_s) == ("failed", 0.0)
    assert result.error == "a process group is in use, whose sockets a fork would share"


def test_survives_a_script_that_reaps_every_child() -> None:
    process = RehearsalProcess.start(device_models.MadeInForward(), "net", (BATCH,), {}, step=1)
    os.wait()
    assert process.wait().outcome == "mismatch"


def test_reports_what_the_parent_paid() -> None:
    assert 0 < rehearsed("MadeInForward").cost_s < 20
