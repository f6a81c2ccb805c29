"""Functions that start from one seed at every call, told from the source alone."""

from __future__ import annotations

from pathlib import Path

from torch_debugger.records import Place
from torch_debugger.source.dataloaders import statements_behind
from torch_debugger.source.seeds_and_shuffles import fixed_orders

LOOP = """
for epoch in range(3):
    for x in {call}:
        loss = net(x)
        loss.backward()
"""
STEPS = """
for step in range(3):
    x = {call}
    net(x).backward()
"""


def found(tmp_path: Path, function: str, loop: str, call: str) -> list[tuple[str, int | None]]:
    script = tmp_path / "train.py"
    script.write_text(function + loop.replace("{call}", call))
    return [(order.each, order.seed.line) for order in fixed_orders(str(script))]


BATCH = """
def draw(n, seed=3):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(9, (n,), generator=g)
"""
ORDER = """
def order(x):
    return np.random.RandomState(0).permutation(len(x))
"""


def test_a_seed_in_a_function_that_every_step_calls(tmp_path: Path) -> None:
    assert found(tmp_path, BATCH, STEPS, "draw(4)") == [("step", 3)]


def test_a_seed_in_a_function_that_every_epoch_calls(tmp_path: Path) -> None:
    assert found(tmp_path, ORDER, LOOP, "order(data)") == [("epoch", 3)]


def test_seeds_that_differ_or_are_used_once(tmp_path: Path) -> None:
    assert not found(tmp_path, BATCH, STEPS, "draw(4, seed=step)")
    assert not found(tmp_path, BATCH, STEPS, "draw(4, step)")
    assert not found(tmp_path, ORDER.replace("(0)", "(epoch)"), LOOP, "order(data)")
    assert not found(tmp_path, ORDER + "rows = order(data)\n", LOOP, "rows")


SPLIT = """
x = load()
train, val = split(x)
loader = DataLoader(TensorDataset(*pair(train)))
part = x[:100]
other = DataLoader(part)
"""


def test_the_statements_behind_a_loader(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SPLIT)
    by_call = statements_behind(Place(str(script), 4), ())
    by_name = statements_behind(Place(str(script), 6), ("part",))
    assert [place.line for place in by_call] == [3, 2]
    assert [place.line for place in by_name] == [5, 2]
