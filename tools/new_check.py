"""Writes the skeleton of a check: python tools/new_check.py NAME FAMILY, or make new-check NAME=... FAMILY=...

The check with the family's next free id, its home in the zoo, and its test. What is to be filled in says TODO.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from torch_debugger.checks.catalog import FAMILIES, catalog

REPOSITORY = Path(__file__).parent.parent

CHECK = '''"""{id}: TODO the fault in a few words."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState
from torch_debugger.records import Finding, Place, Scalars  # TODO the records that tell it


class {cls}(Check):
    """TODO the fault in one sentence that ends with a full stop.

    Symptom:
        TODO what the user sees.
    Evidence:
        TODO which numbers prove it, and from which step on.
    Fix:
        TODO the edit to make.
    Known limits:
        TODO where it says nothing, and what looks alike and is healthy.
    """

    id = "{id}"
    name = "{name}"
    title = "TODO the fault in a few words"
    status = "preview"
    reads = (Scalars,)  # one a step, with "loss" and the rates "lr/0", "lr/1"; CONTRIBUTING lists what others tell
    explains = ()  # TODO names of checks that find what this fault brings about: run broken.py and see

    # TODO thresholds, each with the precondition under which it holds.
    steps_needed = 3

    def __init__(self) -> None:
        self._wrong = 0

    def see(self, record: Scalars, state: RunState) -> Iterable[Finding]:
        shows_it = record.values.get("loss", 0.0) < 0  # TODO whether this record shows the fault
        self._wrong += shows_it
        if shows_it and self._wrong == self.steps_needed:
            yield self.finding(
                severity="warning",  # error: the run is wrong; warning: very likely; note: worth knowing
                confidence=0.8,  # of 20 such findings so many are right
                message=f"TODO what, where, how much, since step {{record.step}}.",
                why="TODO why that is wrong.",
                fix="TODO what to change.",
                where=Place(),  # TODO the line, from a record
                steps=(record.step, record.step),
                evidence={{"steps": float(self._wrong)}},
            )
'''
TEST = '''from __future__ import annotations

from tests.fakes import judged
from torch_debugger.records import Record

NAME = "{name}"


def records() -> list[Record]:
    """TODO records as the broken script leaves them, made with tests/fakes.py."""
    raise NotImplementedError


def test_the_fault_is_found() -> None:
    [finding] = judged(records(), NAME)
    assert finding.message == "TODO the sentence that the user reads"


def test_a_healthy_neighbour_is_not() -> None:
    assert not judged([], NAME)  # TODO the records of the lookalike
'''
SCRIPT = '''"""TODO what this script trains, as any script would say."""

import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(256, 8)
targets = inputs.sum(dim=1, keepdim=True)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(100):
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, f"{loss.item():.4f}")
'''
EXPECTED = """\
# Each block says what a run of that script must end in; zoo/README.md explains every line.
[broken.py]
check: {name}
line: 1
by_step: 10
mentions: TODO a word of the fix

[lookalike.py]
crash: no
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/new_check.py", description=__doc__.splitlines()[0])
    parser.add_argument("name", help="what the fault is called, words with hyphens: missing-zero-grad")
    parser.add_argument("family", choices=FAMILIES)
    chosen = parser.parse_args()
    name, family = chosen.name, chosen.family
    if len(name.split("-")) < 2 or not name.replace("-", "").isalnum() or name != name.lower():
        parser.error(f"a name is two or more words in lower case with hyphens, not {name!r}")
    if any(check.name == name for check in catalog()):
        parser.error(f"there is a check {name} already: torch-debugger explain {name}")
    stem, words = name.replace("-", "_"), {"id": next_id(family), "name": name, "cls": name.title().replace("-", "")}
    home = REPOSITORY / "zoo" / family / name
    written = {
        REPOSITORY / "torch_debugger" / "checks" / family / f"{stem}.py": CHECK.format(**words),
        REPOSITORY / "tests" / "checks" / family / f"test_{stem}.py": TEST.format(**words),
        home / "broken.py": SCRIPT,
        home / "lookalike.py": SCRIPT,
        home / "fix.diff": "",
        home / "expected.txt": EXPECTED.format(**words),
    }
    there = [str(file.relative_to(REPOSITORY)) for file in written if file.exists()]
    if there:
        parser.error(f"{', '.join(there)}: there already; nothing was written")
    for file, text in written.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        print(file.relative_to(REPOSITORY))
    near = difflib.get_close_matches(name, [check.name for check in catalog()], n=3, cutoff=0.5)
    if near:
        print(f"Checks with like names: {', '.join(near)} (torch-debugger explain {near[0]})")
    print(f"{words['id']} {name}: begin with broken.py, and see it go wrong. CONTRIBUTING.md has the steps.")
    return 0


def next_id(family: str) -> str:
    """The family's first number that no check has. A check that goes is retired, not deleted: its number is kept."""
    digit = FAMILIES.index(family) + 1
    taken = {check.id for check in catalog()}
    return next(made for number in range(1, 100) if (made := f"TD{digit}{number:02}") not in taken)


if __name__ == "__main__":
    sys.exit(main())
