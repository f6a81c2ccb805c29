"""A loop of many operations ends after a few turns; a short one, and one without tensors, goes to its end."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import pytest

from torch_debugger.trials import remaining_statements as turns

SOURCE = """\
def work(turns, of_a_turn, size):
    seen = []
    for number in range(size):
        turns.operations += of_a_turn
        seen.append(number)
    while size:
        size -= 1
        turns.operations += of_a_turn
        seen.append("while")
        if size % 2:
            continue
    else:
        seen.append("end")
    return seen + [number for number in range(3)]
"""


@pytest.fixture
def counted() -> Iterator[turns.Turns]:
    counting = turns.Turns()
    setattr(builtins, turns.FEW_TURNS, counting.of)
    yield counting
    delattr(builtins, turns.FEW_TURNS)


@pytest.mark.parametrize(
    ("of_a_turn", "size", "turns_taken"), [(0, 2000, 2000), (1, 40, 40), (500, 2000, 3), (25, 2000, 5)]
)
def test_turns_taken(
    of_a_turn: int,
    size: int,
    turns_taken: int,
    counted: turns.Turns,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path_factory.mktemp("scripts") / "script.py"
    file.write_text(SOURCE)
    namespace: dict[str, object] = {}
    exec(compile(SOURCE, str(file), "exec"), namespace)
    work = namespace["work"]
    turns.shorten_functions()
    expected = [*range(turns_taken), *["while"] * turns_taken, "end", 0, 1, 2]
    assert work(counted, of_a_turn, size) == expected  # type: ignore[operator]
