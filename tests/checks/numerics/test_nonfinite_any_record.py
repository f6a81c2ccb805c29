"""Whatever a record says, there are words for it, and an edit leaves a line that still parses."""

from __future__ import annotations

import ast
import itertools
import random

from tests.fakes import place
from torch_debugger.checks.numerics.nonfinite_explanation import _BY_OP, tell
from torch_debugger.checks.numerics.nonfinite_overflows import PRODUCTS
from torch_debugger.records import NonFinite, Operand, Origin

RECORDS_OF_AN_OP = 40
OPS = (*_BY_OP, *PRODUCTS, "mul", "add", "sub", "sum", "mean", "square", "mse_loss", "softmax", "log_softmax",
       "logsumexp", "half", "empty", "Custom", "unheard_of")  # fmt: skip
OPERATORS = {"div": "/", "mul": "*", "add": "+", "sub": "-", "pow": "**", "matmul": "@", "remainder": "%"}
OPERANDS = (
    "x",
    "(a) + (b)",
    "self.scale",
    "a - b",
    "(a - b)",
    "x[0]",
    "f(x)",
    "-x",
    "x if ok else y",
    "a @ b",
    "2",
    "x.T",
)
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
        rng.choice(("forward", "loss", "backward", "backward")),
        rng.choice((None, "net.head")),
        op,
        place(31, code=written(op, texts, rng)),
        tuple(operand(text, rng) for text in texts if not text.isdigit()),
        inner=rng.choice(("", "div", "softmax", "exp")),
        arguments=rng.choice(((), ("0.5",), ("-1",), ("2", "dim=1"), ("dim=0",), ("'mean'", "eps=0"))),
        made=rng.choice(("nan", "inf", "-inf", "")),
        into_nan=rng.choice(("", "mul", "sub", "unheard_of")),
        selected_by=rng.choice(("", "", "where", "masked_fill")),
        masked_row=rng.random() < 0.2,
    )
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
