from __future__ import annotations

from pathlib import Path

import pytest

from torch_debugger.records import Place
from torch_debugger.source.attention import WrittenAttention, attention_at


def read(tmp_path: Path, *body: str) -> WrittenAttention | None:
    script = tmp_path / "model.py"
    script.write_text("\n    ".join(["def forward(self, q, k, v):", *body]) + "\n")
    line = next(number for number, text in enumerate(body, 2) if "softmax" in text)
    return attention_at(Place(str(script), line))


@pytest.mark.parametrize(
    "body",
    [
        ("scores = q @ k.transpose(-2, -1) / 8", "w = scores.softmax(-1)", "return w @ v"),
        ("w = F.softmax(torch.matmul(q, k.mT), dim=-1)", "w = self.dropout(w)", "return torch.matmul(w, v)"),
        ("w = torch.softmax(q @ k.transpose(1, 2), -1)", "x = F.dropout(w, 0.1)", "return w.to(v.dtype) @ v"),
        ("return torch.softmax(q @ k.mT, -1) @ v",),
        ("return (F.softmax(q @ k.mT, dim=-1) @ v).transpose(1, 2)",),
    ],
)
def test_queries_keys_and_values_are_found(tmp_path: Path, body: tuple[str, ...]) -> None:
    assert read(tmp_path, *body) == WrittenAttention("q", "k", "v")


def test_what_is_not_plain_is_left_open(tmp_path: Path) -> None:
    found = read(tmp_path, "w = self.scores(q, k).softmax(-1)", "return w @ self.values(v)")
    assert found == WrittenAttention("", "", "")


@pytest.mark.parametrize(
    "body",
    [
        ("w = (q @ k.mT).softmax(-1)", "return w @ v, w"),
        ("w = (q @ k.mT).softmax(-1)", "self.last = w.detach()", "return w @ v"),
        ("w = (q @ k.mT).softmax(-1)", "w = w * self.gate", "return w @ v"),
        ("w = (q @ k.mT).softmax(-1)", "self.log(w.mean())", "return w @ v"),
        ("self.w = (q @ k.mT).softmax(-1)", "return self.w @ v"),
        ("return v @ v, (q @ k.mT).softmax(-1)",),
    ],
)
def test_weights_that_go_elsewhere(tmp_path: Path, body: tuple[str, ...]) -> None:
    assert read(tmp_path, *body) is None


def test_an_unknown_place() -> None:
    assert attention_at(Place()) is None
