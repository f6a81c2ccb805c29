from __future__ import annotations

from pathlib import Path

import pytest

from torch_debugger.records import Place
from torch_debugger.source.losses import lowered_gain


def found(folder: Path, *lines: str) -> tuple[str, int | None]:
    """What the last line's backward() lowers, and where."""
    script = folder / "train.py"
    script.write_text("\n".join(lines))
    kind, place = lowered_gain(Place(str(script), len(lines), code=lines[-1]), "loss")
    return kind, place.line


@pytest.mark.parametrize(
    ("lines", "kind", "line"),
    [
        (["loss = flow.log_prob(x).mean()"], "likelihood", 1),
        (["ll = torch.mean(flow.log_prob(x))", "loss = 0.5 * ll"], "likelihood", 1),
        (["loss = -(-model.log_likelihood(x).sum() / n)"], "likelihood", 1),
        (["loss = (dist.log_prob(a) * advantage.detach()).mean()"], "reward", 1),
        (["loss = (torch.stack(log_probs) * returns).sum()"], "reward", 1),
        (["adv = returns - values", "pg = (adv * logp).mean()", "loss = pg + 0.5 * value_loss"], "reward", 2),
    ],
)
def test_a_gain_with_a_plus_is_found(tmp_path: Path, lines: list[str], kind: str, line: int) -> None:
    assert found(tmp_path, *lines, "loss.backward()") == (kind, line)


@pytest.mark.parametrize(
    "lines",
    [
        ["loss = -flow.log_prob(x).mean()", "loss.backward()"],
        ["loss = flow.log_prob(x).mean()", "(-loss).backward()"],
        ["loss = flow.log_prob(x).mean()", "loss.neg().backward()"],
        ["loss = flow.log_prob(x).mean()", "loss = -loss", "loss.backward()"],
        ["loss = q.log_prob(z).mean() - p.log_prob(z).mean()", "loss.backward()"],
        ["loss = (alpha * log_prob - value).mean()", "loss.backward()"],
        ["cost = baseline - reward", "loss = (log_prob * cost).mean()", "loss.backward()"],
        ["adv = baseline - rewards", "loss = (log_prob * adv).mean()", "loss.backward()"],
        ["adv = -gain", "loss = (log_prob * adv).mean()", "loss.backward()"],
        ["loss = (-log_prob * rewards).sum()", "loss.backward()"],
        ["loss = criterion(model(x), y)", "loss.backward()"],
    ],
)
def test_everything_else_is_left_alone(tmp_path: Path, lines: list[str]) -> None:
    assert found(tmp_path, *lines) == ("", None)
