from __future__ import annotations

import pytest

from tests.checks.speed.sampled_loops import Library, Path, Users, training
from tests.fakes import judged, place
from torch_debugger.records import Finding

COLLECT = Users(18, "gc.collect()")


def check(paths: dict[Path, int]) -> list[Finding]:
    return judged(training(paths), "memory-cleaned-each-step")


def test_a_collection_in_every_step_is_to_be_deleted() -> None:
    (finding,) = check({(COLLECT,): 60})
    assert finding.severity == "warning"
    assert finding.message == ("Cleaning memory in every step takes 12 ms of the 20 ms of each step: `gc.collect()`.")
    assert finding.fix == (
        "Delete the line, or run it once an epoch. Expected to save about 60 % of each step (12 ms)."
    )
    assert "finds only cycles" in finding.why
    assert finding.edit is not None and (finding.edit.before, finding.edit.after) == ("gc.collect()", "")


def test_the_cache_of_the_device_has_its_own_reason() -> None:
    line = Users(18, "torch.cuda.empty_cache()")
    (finding,) = check({(line, Library("empty_cache", "/lib/torch/cuda/memory.py")): 30})
    assert "the next step has to ask for the same memory again" in finding.why


def test_a_function_that_cleans_is_named_where_the_loop_calls_it() -> None:
    (finding,) = check({(Users(18, "free_memory()"), Users(4, "gc.collect()", ())): 60})
    assert finding.where.line == 18


@pytest.mark.parametrize(
    "line",
    [
        Users(18, "gc.collect()", condition=17),
        Users(30, "gc.collect()", (place(8, code="for epoch in range(3):"),)),
        Users(18, "self.collect(batch)"),
    ],
    ids=["now and then", "once an epoch", "something else"],
)
def test_rare_collections_and_others_are_silent(line: Users) -> None:
    assert not check({(line,): 60})


def test_little_is_not_worth_an_edit() -> None:
    assert not check({(COLLECT,): 4})
