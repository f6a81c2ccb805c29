from __future__ import annotations

from pathlib import Path

import pytest

from torch_debugger.records import Place
from torch_debugger.source.losses import computed_at

SCRIPT = """\
class Trainer:
    def training_step(self, batch):
        out = self.model(batch["x"])
        error = (out - batch["y"]) ** 2
        return error.mean()

    def several(self, batch):
        if batch is None:
            return 0
        return self.model(batch)

    def fit(self):
        loss = self.training_step(batch)
        loss.backward()
        other = self.several(batch)
        other.backward()

nll = 0.5 * (mu - y) ** 2
loss = torch.mean(nll)
loss.backward()
plain = criterion(model(x), y)
plain.backward()
"""


@pytest.mark.parametrize(
    ("line", "name", "computed"),
    [(14, "loss", 4), (16, "other", 15), (20, "loss", 18), (22, "plain", 21), (22, "missing", None)],
)
def test_the_line_behind_means_variables_and_functions(
    tmp_path: Path, line: int, name: str, computed: int | None
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    found = computed_at(Place(str(script), line), name)
    assert (found.line if found else None) == computed
