"""Every sentence about a NaN or Inf, compared whole; and every edit of a line, applied and run."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from tests.checks.numerics.nonfinite_lines import applied, is_finite, record, run
from tests.checks.numerics.nonfinite_records import TOLD
from tests.checks.numerics.nonfinite_table import RUN
from torch_debugger.checks.explainers.nonfinite.telling import tell
from torch_debugger.records import NonFinite, OptimizerFact

GOLDEN = Path(__file__).with_name("nonfinite.golden")


def words(fact: NonFinite, optimizer: OptimizerFact | None = None) -> str:
    story = tell(fact, optimizer)
    lines = [story.proof, f"why: {story.why}", f"fix: {story.fix}"]
    return "\n".join(lines + ([f"- {story.edit.before}", f"+ {story.edit.after}"] if story.edit else []))


FACTS = {name: (record(case), None) for name, case in RUN.items()} | TOLD


def told() -> dict[str, str]:
    sections = GOLDEN.read_text(encoding="utf-8").split("=== ")[1:] if GOLDEN.exists() else []
    return {name: text.strip() for name, _, text in (section.partition("\n") for section in sections)}


@pytest.mark.parametrize("name", FACTS)
def test_the_whole_text(name: str) -> None:
    assert words(*FACTS[name]) == told()[name]


def test_no_text_is_left_over() -> None:
    if os.environ.get("WRITE_GOLDEN"):
        sections = [f"=== {name}\n{words(*fact)}\n" for name, fact in FACTS.items()]
        GOLDEN.write_text("\n".join(sections), encoding="utf-8")
    assert set(told()) == set(FACTS)


@pytest.mark.parametrize("name", RUN)
def test_the_line_fails_and_the_edited_line_is_finite_forward_and_backward(name: str) -> None:
    case = RUN[name]
    edit = tell(record(case)).edit
    assert not is_finite(run(case.code, case.given))
    assert edit is not None
    assert is_finite(run(applied(edit, case.code), case.given))


@pytest.mark.parametrize("name", FACTS)
def test_an_edited_line_parses_and_is_another(name: str) -> None:
    edit = tell(*FACTS[name]).edit
    if edit is not None:
        ast.parse(edit.after if name != "a_part_of_a_statement" else f"(a {edit.after} b))")
        assert edit.after != edit.before


@pytest.mark.parametrize("name", FACTS)
def test_a_message_is_one_calm_sentence(name: str) -> None:
    story = tell(*FACTS[name])
    assert story.proof.endswith(".") and ". " not in story.proof
    assert "!" not in (story.proof + story.why + story.fix).replace("!=", "")
    assert story.why.endswith(".") and story.fix.endswith(".")
