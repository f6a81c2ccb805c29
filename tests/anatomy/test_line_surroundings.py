from __future__ import annotations

from pathlib import Path

import pytest

from torch_debugger.source.statements import surroundings_of

SCRIPT = """\
def log(step, loss):
    if step % 50:
        return
    print(loss)


def train(loader, writer, rank):
    for epoch in range(3):
        for step, batch in enumerate(loader):
            update(batch)
            if writer is not None:
                writer.add_scalar("loss", 1.0, step)
            if rank == 0:
                print("of the first rank")
            if step % 50 == 0:
                print(step)
            if step % 7 == 0: print("on one line")
            try:
                save()
            except OSError:
                print("no save")
            if step > 100:
                break
            clean()
            for p in batch:
                p.zero_()
            if step % 4:
                continue
            print("each fourth")
        print(epoch)


if __name__ == "__main__":
    for step in range(10):
        train(step)
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    return str(script)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SCRIPT.split("\n"), 1) if text in line)


@pytest.mark.parametrize(
    ("text", "loops", "condition"),
    [
        ("print(loss)", [], "if step % 50:"),
        ("update(batch)", ["for step, batch", "for epoch"], ""),
        ("writer.add_scalar", ["for step, batch", "for epoch"], ""),
        ("of the first rank", ["for step, batch", "for epoch"], ""),
        ("print(step)", ["for step, batch", "for epoch"], "if step % 50 == 0"),
        ("on one line", ["for step, batch", "for epoch"], "if step % 7"),
        ("if step % 50 == 0", ["for step, batch", "for epoch"], ""),
        ("save()", ["for step, batch", "for epoch"], ""),
        ("no save", ["for step, batch", "for epoch"], "try"),
        ("clean()", ["for step, batch", "for epoch"], ""),
        ("p.zero_()", ["for p in", "for step, batch", "for epoch"], ""),
        ("each fourth", ["for step, batch", "for epoch"], "if step % 4"),
        ("print(epoch)", ["for epoch"], ""),
        ("for step, batch", ["for epoch"], ""),
        ("train(step)", ["for step in range(10)"], ""),
    ],
)
def test_loops_and_conditions_around_a_line(file: str, text: str, loops: list[str], condition: str) -> None:
    found = surroundings_of(file, line_of(text))
    assert [place.line for place in found.loops] == [line_of(loop) for loop in loops]
    assert found.condition == (line_of(condition) if condition else 0)


def test_a_file_without_source_has_nothing_around_its_lines() -> None:
    assert surroundings_of("gone.py", 3).loops == ()
