from __future__ import annotations

import pytest

from tests.checks.speed.sampled_loops import Library, Path, Users, training
from tests.fakes import judged, place
from torch_debugger.records import Finding

SAVE = Users(18, 'torch.save(model.state_dict(), "latest.pt")')
TORCH = Library("save", "/lib/torch/serialization.py")


def check(paths: dict[Path, int]) -> list[Finding]:
    return judged(training(paths), "checkpoint-each-step")


def test_a_save_in_every_step_is_named_with_what_it_costs() -> None:
    (finding,) = check({(SAVE, TORCH): 45})
    assert finding.severity == "warning"
    assert finding.message == (
        'Saving in every step takes 9 ms of the 20 ms of each step: `torch.save(model.state_dict(), "latest.pt")`.'
    )
    assert finding.fix == (
        "Write `if step % 500 == 0:` in front of it, or move it behind the loop, to the end of the epoch. "
        "Expected to save about 45 % of each step (8.98 ms)."
    )
    assert finding.edit is not None and finding.edit.after.startswith("if step % 500 == 0:\n    torch.save(")
    assert finding.where.line == 18


@pytest.mark.parametrize(
    ("code", "called"),
    [
        ("model.save_pretrained(folder)", Library("PreTrainedModel.save_pretrained", "/lib/transformers/x.py")),
        ("save_file(weights, path)", Library("save_file", "/lib/safetensors/torch.py")),
        ("pickle.dump(weights, file)", Library("Tensor.__reduce_ex__", "/lib/torch/_tensor.py")),
    ],
)
def test_other_ways_to_save(code: str, called: Library) -> None:
    (finding,) = check({(Users(18, code), called): 45})
    assert finding.where.code == code


def test_a_method_that_saves_is_named_where_the_loop_calls_it() -> None:
    (finding,) = check({(Users(18, "self.save()"), Users(40, "torch.save(state, path)", ()), TORCH): 45})
    assert finding.where.line == 18


@pytest.mark.parametrize(
    "line",
    [
        Users(18, "torch.save(state, path)", condition=17),
        Users(30, "torch.save(state, path)", (place(8, code="for epoch in range(3):"),)),
    ],
    ids=["when it is the best", "once an epoch"],
)
def test_rare_saves_are_silent(line: Users) -> None:
    assert not check({(line, TORCH): 45})


def test_other_functions_of_that_name_are_silent() -> None:
    assert not check({(Users(18, "figure.save(path)"), Library("Image.save", "/lib/PIL/Image.py")): 45})


def test_a_small_model_is_saved_in_no_time() -> None:
    assert not check({(SAVE, TORCH): 4})
