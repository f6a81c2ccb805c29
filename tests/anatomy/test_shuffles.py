from __future__ import annotations

from pathlib import Path

import pytest

from torch_debugger.source.seeds_and_shuffles import Shuffled, shuffled_apart


def found(folder: Path, source: str) -> list[Shuffled]:
    file = folder / "train.py"
    file.write_text(source, encoding="utf-8")
    return shuffled_apart(str(file))


READ = "for i in range(0, len(x), 8):\n    step(x[i:i + 8], y[i:i + 8])\n"
READ_ROWS = "for i in range(0, 64, 8):\n    rows = order[i:i + 8]\n    step(x[rows], {})\n"


@pytest.mark.parametrize(
    ("source", "both", "line"),
    [
        ("rng.shuffle(x)\n" + READ, False, 1),
        ("x = x[torch.randperm(len(x))]\ny = y[torch.randperm(len(y))]\n" + READ, True, 1),
        ("order = np.random.permutation(64)\nx = x[order]\ndata = TensorDataset(x, y)\n", False, 2),
        ("x = np.random.permutation(x)\ndata = list(zip(x, y))\n", False, 1),
        ("order = torch.randperm(64)\n" + READ_ROWS.format("y[i:i + 8]"), False, 4),
        ("class Data:\n  def mix(self):\n    random.shuffle(self.x)\n  def get(self, i):\n"
         "    return self.x[i], self.y[i]\n", False, 3),
    ],
)  # fmt: skip
def test_one_of_two_arrays_gets_another_order(tmp_path: Path, source: str, both: bool, line: int) -> None:
    [pair] = found(tmp_path, source)
    assert (pair.first.removeprefix("self."), pair.second.removeprefix("self.")) == ("x", "y")
    assert (pair.both, pair.place.line) == (both, line)


@pytest.mark.parametrize(
    "source",
    [
        READ,
        "order = torch.randperm(64)\nx, y = x[order], y[order]\n" + READ,
        "order = torch.randperm(64)\n" + READ_ROWS.format("y[rows]"),
        "state = rng.get_state()\nrng.shuffle(x)\nrng.set_state(state)\nrng.shuffle(y)\n" + READ,
        "rng.shuffle(x)\ny = label(x)\n" + READ,
        "y = x.copy()\nrng.shuffle(x)\n" + READ,
        "rng.shuffle(x)\nfor i in range(8):\n    step(x[i], y[i], z[i])\n",  # unlabelled data, perhaps
        "rng.shuffle(order)\nfor i in order:\n    step(x[i], y[i])\n",
        "def mix(x):\n    rng.shuffle(x)\n" + READ,
    ],
)
def test_what_stays_together_or_is_unclear_is_no_pair(tmp_path: Path, source: str) -> None:
    assert found(tmp_path, source) == []
