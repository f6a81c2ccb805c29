from __future__ import annotations

import ast

import pytest

from torch_debugger.source.row_loops import RowLoop, read_loop, row_loop_at


def read(source: str) -> RowLoop | None:
    loops = (ast.For, ast.ListComp, ast.GeneratorExp)
    return read_loop(next(node for node in ast.walk(ast.parse(source)) if isinstance(node, loops)))


def test_rows_collected_in_a_list() -> None:
    found = read(
        "for i in range(x.size(0)):\n"
        "    weights = torch.softmax(self.score(x[i]), 0)\n"
        "    rows.append((weights @ x[i]).tanh())\n"
    )
    assert found == RowLoop(1, 3, (("x", 0),), ("torch.softmax", "self.score"), False, False)


def test_losses_added_up() -> None:
    found = read("for i in range(len(out)):\n    loss = loss + F.mse_loss(out[i], y[i])")
    assert found == RowLoop(1, 2, (("out", 0), ("y", 0)), ("F.mse_loss",), False, True)


@pytest.mark.parametrize(
    ("source", "taken"),
    [
        ("for row, target in zip(out, y):\n    loss += F.mse_loss(row, target)", [("out", 0), ("y", 0)]),
        ("for row in self.memory:\n    rows.append(row.sum())", [("self.memory", 0)]),
        ("for k, row in enumerate(x):\n    rows.append(row * w[k])", [("x", 0), ("w", 0)]),
        ("for j in range(n):\n    d[i, j] = (a[i] - b[j]).norm()", [("b", 0)]),
        ("for i in range(n):\n    rows.append(self.layer(x[i : i + 1]))", [("x", 0)]),
        ("for i in range(n):\n    a, b = q[i], k[i]\n    rows.append(a @ b)", [("q", 0), ("k", 0)]),
        ("for i in range(n):\n    rows.append(x[i, :3].mean(0))", [("x", 0)]),
        ("torch.stack([self.layer(x[:, t]) for t in range(x.size(1))], 1)", [("x", 1)]),
        ("sum(F.mse_loss(x[i], y[i]) for i in range(n))", [("x", 0), ("y", 0)]),
    ],
)
def test_other_ways_to_write_it(source: str, taken: list[tuple[str, int]]) -> None:
    found = read(source)
    assert found is not None and list(found.taken) == taken


@pytest.mark.parametrize(
    "body",
    [
        "h = self.cell(x[i], h)\n    rows.append(h)",
        "z = torch.sigmoid(self.a(x[i]) + self.b(h))\n    h = z * h",
        "out[i] = 0.9 * out[i - 1] + x[i]",
        "out[i] = x[i] + out.sum()",
        "s = s + x[i]\n    rows.append(s)",
        "s += x[i]\n    rows.append(s)",
        "s = s * x[i]",
        "rows.append(rows[-1] + x[i])",
        "self.h = self.cell(x[i], self.h)",
    ],
)
def test_passes_that_need_the_last_one_are_no_rows(body: str) -> None:
    assert read(f"for i in range(len(x)):\n    {body}") is None


@pytest.mark.parametrize(
    "body",
    [
        "if x[i] > 0:\n        rows.append(x[i])",
        "rows.append(x[i] if keep else -x[i])",
        "rows.append(x[i, : lengths[i]].mean(0))",
        "rows.append(table[index[i]])",
        "rows.append(x[i] * i)",
        "rows.append(self.layers[0](x)[i])",
        "loss = criterion(model(x[i]), y[i])\n    loss.backward()",
        "total += x[i].sum().item()",
        "x[i].add_(1)",
        "self.memory.update(x[i])",
        "rows.append((lambda row: row)(x[i]))",
        "for j in range(m):\n        rows.append(x[i, j])",
    ],
)
def test_passes_that_may_differ_or_do_more_are_no_rows(body: str) -> None:
    assert read(f"for i in range(len(x)):\n    {body}") is None


@pytest.mark.parametrize(
    "source",
    [
        "for row, n in zip(x, lengths):\n    rows.append(row[:n].mean(0))",
        "for layer in self.layers:\n    x = layer(x)",
        "for row in load(x):\n    rows.append(row.sum())",
        "for i in range(n):\n    rows.append(x.sum())",
        "[row.sum() for row in x if row.any()]",
        "[x[i, j] for i in range(n) for j in range(m)]",
        "for row in x:\n    rows.append(row.sum())\nelse:\n    done()",
    ],
)
def test_other_loops(source: str) -> None:
    assert read(source) is None


def test_the_innermost_loop_around_a_line(tmp_path) -> None:  # type: ignore[no-untyped-def]
    script = tmp_path / "train.py"
    script.write_text("for step in range(9):\n    for i in range(n):\n        rows.append(x[i].sum())\n    done()\n")
    found = row_loop_at(str(script), 3)
    assert found is not None and (found.header, found.last) == (2, 3)
    assert row_loop_at(str(script), 4) is None
