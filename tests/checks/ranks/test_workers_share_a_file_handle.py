"""Workers read through one file handle that was opened before they were forked."""

from __future__ import annotations

from tests.checks.ranks.worker_facts import said
from tests.fakes import place
from torch_debugger.records import Finding, Place, SharedHandle

OPENED = place(18, code='self.file = open(path, "rb")')
USED = place(24, code="self.file.seek(index * 40)")


def handle(**others: object) -> SharedHandle:
    facts: dict[str, object] = {
        "loader": 1,
        "step": 4,
        "workers": 2,
        "owner": "Rows",
        "attribute": "file",
        "kind": "BufferedReader",
        "file": "rows.bin",
        "moves": 3,
        "opened": OPENED,
        "used": USED,
    }
    return SharedHandle(**{**facts, **others})  # type: ignore[arg-type]


def check(**others: object) -> Finding:
    [finding] = said("workers-share-a-file-handle", [handle(**others)])
    return finding


def test_a_file() -> None:
    finding = check()
    assert (finding.check, finding.severity, finding.confidence) == ("TD843", "warning", 0.95)
    assert finding.message == (
        "The 2 workers of `train_loader` all read through `self.file` of `Rows` (BufferedReader of "
        "`rows.bin`), opened before they were forked at train.py:18: they move its position for each other "
        "while they read at train.py:24."
    )
    assert finding.why.endswith("the position had moved (3 moves counted).")
    assert finding.fix.startswith(
        "Set `self.file = None` in `__init__`, and open it where a sample is made: `if self.file is None: "
        'self.file = open(path, "rb")`. Then each worker opens its own.'
    )
    assert finding.where == OPENED
    assert finding.evidence["times_moved"] == 3.0


def test_a_run_that_ended_at_once() -> None:
    assert check(moves=1).why.endswith("(one move counted).")


def test_a_connection() -> None:
    opened = place(25, code="self.base = sqlite3.connect(")
    finding = check(attribute="base", kind="Connection", file="", moves=-1, opened=opened)
    assert finding.confidence == 0.85
    assert "`self.base` of `Rows` (Connection), opened" in finding.message
    assert "they use one connection at once at train.py:24" in finding.message
    assert finding.why.startswith("A connection to SQLite must not be used")
    assert "`if self.base is None: self.base = open(...)`" in finding.fix  # the line goes on below
    assert finding.evidence["times_moved"] == "not counted"


def test_a_line_that_is_not_known() -> None:
    assert check(opened=Place()).where == USED
