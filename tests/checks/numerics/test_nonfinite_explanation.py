"""The first operation that makes NaN or Inf: its words for the table of known cases and for any record."""

from __future__ import annotations

import ast
import functools
import itertools
import os
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
import torch

from tests.checks.numerics.nonfinite_cases import RUN, TOLD, applied, is_finite, record, run
from tests.fakes import place
from torch_debugger.checks.numerics.nonfinite_explanation import _BY_OP, tell
from torch_debugger.checks.numerics.nonfinite_overflows import PRODUCTS
from torch_debugger.records import NonFinite, Operand, OptimizerFact, Origin

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


RECORDS_OF_AN_OP = 40
OPS = (*_BY_OP, *PRODUCTS, "mul", "add", "sub", "sum", "mean", "square", "mse_loss", "softmax", "log_softmax",
       "logsumexp", "half", "empty", "Custom", "unheard_of")  # fmt: skip
OPERATORS = {"div": "/", "mul": "*", "add": "+", "sub": "-", "pow": "**", "matmul": "@", "remainder": "%"}
OPERANDS = (
    "x", "(a) + (b)", "self.scale", "a - b", "(a - b)", "x[0]", "f(x)", "-x", "x if ok else y", "a @ b", "2",
    "x.T",
)  # fmt: skip
FRAMES = ("y = {}", "return {}", "loss += {}.mean()", "if {}.sum() > 0:", "y = -({}) * 2", "z = f({}, dim=1)",
          "* {} + (", "a, b = {}, g({})", "y = [{} for x in xs]", "y = torch.where(m, {}, 0.0)", "{}",
          "for i in {}:")  # fmt: skip


def written(op: str, operands: list[str], rng: random.Random) -> str:
    second = operands[1] if len(operands) > 1 else "y"
    forms = [f"torch.{op}({', '.join(operands)})", f"F.{op}({operands[0]}, dim=1)", f"({operands[0]}).{op}()"]
    if op in OPERATORS:
        forms.append(f"({operands[0]}) {OPERATORS[op]} ({second})")
        forms.append(f"x {OPERATORS[op]} {second.split()[0]}")
    call = rng.choice(forms)
    return rng.choice(FRAMES).replace("{}", call)


def operand(text: str, rng: random.Random) -> Operand:
    elements = rng.choice((0, 1, 2, 640))
    low, high = sorted(rng.choice((0.0, 1.0, -1.0, -1e-9, 1e-9, 300.0, 1e30, -1e38)) for _ in range(2))
    dtype, limit = rng.choice((("float32", 3.4e38), ("float16", 65504.0), ("int64", 0.0), ("bool", 0.0)))
    counts = {key: rng.choice((0, 0, 1, elements)) for key in ("zeros", "negatives", "nans", "infs")}
    shape = rng.choice(((), (elements,), (1, elements), (elements, 1, 1, 1)))
    name = text if text.isidentifier() or text == "self.scale" else ""
    return Operand(name, dtype, shape, low, high, limit=limit, elements=elements, **counts)


def a_record(op: str, seed: int) -> NonFinite:
    rng = random.Random(f"{op}{seed}")
    texts = [rng.choice(OPERANDS) for _ in range(rng.choice((1, 2, 2, 3)))]
    origin = Origin(
        rng.choice(("forward", "loss", "backward", "backward")), rng.choice((None, "net.head")), op,
        place(31, code=written(op, texts, rng)),
        tuple(operand(text, rng) for text in texts if not text.isdigit()),
        inner=rng.choice(("", "div", "softmax", "exp")),
        arguments=rng.choice(((), ("0.5",), ("-1",), ("2", "dim=1"), ("dim=0",), ("'mean'", "eps=0"))),
        made=rng.choice(("nan", "inf", "-inf", "")), into_nan=rng.choice(("", "mul", "sub", "unheard_of")),
        selected_by=rng.choice(("", "", "where", "masked_fill")), masked_row=rng.random() < 0.2,
    )  # fmt: skip
    return NonFinite(3, rng.choice(("loss", "gradient", "weight")), "nan", place(40), origin, how="step")


def parses(code: str) -> bool:
    try:
        ast.parse(code if not code.endswith(":") else f"{code} pass")
    except SyntaxError:
        return False
    return True


def test_there_are_words_and_the_edit_parses() -> None:
    records = [a_record(op, seed) for op, seed in itertools.product(OPS, range(RECORDS_OF_AN_OP))]
    assert not [complaint for record in records for complaint in complaints_about(record)]


def complaints_about(fact: NonFinite) -> list[str]:
    assert fact.origin is not None
    story = tell(fact)
    told = story.proof.endswith(".") and story.why and story.fix
    edit = story.edit
    fits = edit is None or edit.before == fact.origin.place.code
    still_parses = edit is None or parses(edit.after) or not parses(edit.before)
    holds = {"words are missing": told, "another line is edited": fits, "the edit does not parse": still_parses}
    return [f"{complaint}: {story} of {fact}" for complaint, held in holds.items() if not held]


def test_the_lines_are_read_at_all() -> None:
    """The test above would say nothing if no line gave an edit."""
    edits = [tell(a_record(op, seed)).edit for op, seed in itertools.product(("log", "div", "exp"), range(50))]
    assert sum(edit is not None for edit in edits) > 20
