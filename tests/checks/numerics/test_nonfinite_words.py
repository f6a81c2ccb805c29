"""Every sentence about a NaN or Inf, compared whole; and every edit of a line, applied and run."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
import torch

from tests.checks.numerics.nonfinite_lines import applied, is_finite, record, run
from tests.checks.numerics.nonfinite_records import TOLD
from tests.checks.numerics.nonfinite_table import RUN
from torch_debugger.checks.numerics.nonfinite_explanation import tell
from torch_debugger.records import NonFinite, OptimizerFact

GOLDEN = Path(__file__).with_name("nonfinite.golden")


def words(fact: NonFinite, optimizer: OptimizerFact | None = None) -> str:
    story = tell(fact, optimizer)
    lines = [story.proof, f"why: {story.why}", f"fix: {story.fix}"]
    return "\n".join(lines + ([f"- {story.edit.before}", f"+ {story.edit.after}"] if story.edit else []))


@functools.cache
def facts() -> dict[str, tuple[NonFinite, OptimizerFact | None]]:
    return {name: (record(case), None) for name, case in RUN.items()} | TOLD


@functools.cache
def told() -> dict[str, str]:
    sections = GOLDEN.read_text(encoding="utf-8").split("=== ")[1:] if GOLDEN.exists() else []
    return {name: text.strip() for name, _, text in (section.partition("\n") for section in sections)}


def of_all(names: Iterable[str], look: Callable[[str], None]) -> None:
    """Every one is looked at, and all that is wrong is told together."""
    complaints = []
    for name in names:
        try:
            look(name)
        except Exception as error:
            complaints.append(f"{name}: {type(error).__name__}: {error}")
    assert not complaints, "\n\n".join(complaints)


def test_one_look_that_fails_is_named_and_the_others_are_made() -> None:
    def look(name: str) -> None:
        seen.append(name)
        assert name != "b"

    seen: list[str] = []
    with pytest.raises(AssertionError, match=r"^b: "):
        of_all("abc", look)
    assert seen == ["a", "b", "c"]


def test_the_whole_text() -> None:
    if os.environ.get("WRITE_GOLDEN"):
        sections = [f"=== {name}\n{words(*fact)}\n" for name, fact in facts().items()]
        GOLDEN.write_text("\n".join(sections), encoding="utf-8")
        told.cache_clear()
    assert set(told()) == set(facts())

    def look(name: str) -> None:
        assert words(*facts()[name]) == told()[name]

    of_all(facts(), look)


@pytest.mark.filterwarnings("ignore:std")
def test_the_line_fails_and_the_edited_line_is_finite_forward_and_backward() -> None:
    def look(name: str) -> None:
        case = RUN[name]
        edit = tell(*facts()[name]).edit
        assert not is_finite(run(case.code, case.given))
        assert edit is not None
        assert is_finite(run(applied(edit, case.code), case.given))

    of_all(RUN, look)


# These change what is computed, and mean to.
OTHER_FORMULA = {
    "sqrt_of_log_variance": "exp(0.5 * x) for sqrt(x)",
    "std_of_one": "divides by n, not by n - 1",
    "no_target_counts": "has no target that counts, whatever the numbers are",
    "mean_of_nothing": "selects nothing",
}


HEALTHY = {
    "log_of_two_groups": {"a": torch.tensor([2.0, 3.0])},
    "acosh_at_one": {"c": torch.tensor([1.5, 2.0])},
    "masked_row": {"m": torch.tensor([[False, True], [False, False]])},
}


def test_an_edit_changes_nothing_where_numbers_are_healthy() -> None:
    def look(name: str) -> None:
        case = RUN[name]
        edit, given = tell(*facts()[name]).edit, healthy(case.given) | HEALTHY.get(name, {})
        assert edit is not None
        for before, after in zip(run(case.code, given), run(edit.after, given), strict=True):
            torch.testing.assert_close(after, before, rtol=1e-2, atol=1e-2, check_dtype=False)

    of_all([name for name in RUN if name not in OTHER_FORMULA], look)


def healthy(given: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same tensors with values between 0.1 and 0.9."""
    generator = torch.Generator().manual_seed(0)
    return {
        key: torch.rand(value.shape, generator=generator).mul(0.8).add(0.1).to(value.dtype)
        if value.is_floating_point()
        else torch.ones_like(value)
        for key, value in given.items()
    }


def test_an_edited_line_parses_and_is_another() -> None:
    def look(name: str) -> None:
        edit = tell(*facts()[name]).edit
        if edit is not None:
            ast.parse(edit.after if name != "a_part_of_a_statement" else f"(a {edit.after} b))")
            assert edit.after != edit.before

    of_all(facts(), look)


def test_a_message_is_one_calm_sentence() -> None:
    def look(name: str) -> None:
        story = tell(*facts()[name])
        assert story.proof.endswith(".") and ". " not in story.proof
        assert "!" not in (story.proof + story.why + story.fix).replace("!=", "")
        assert story.why.endswith(".") and story.fix.endswith(".")

    of_all(facts(), look)
