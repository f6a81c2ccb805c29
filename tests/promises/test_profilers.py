"""The script's own profiler, with stacks, under `torch-debugger run`."""

from __future__ import annotations

from pathlib import Path

from tests.promises.running import AS_USED, run

SCRIPT = """
import sys
import torch

model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
before = set(sys.modules)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True) as profiler:
    for step in range(20):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(torch.randn(8, 16)), torch.zeros(8, 4)).backward()
        optimizer.step()
    imported = set(sys.modules) - before
profiler.export_stacks("stacks.txt")
print(sorted(imported))
"""


def test_a_profiler_with_stacks_holds_no_names_of_code_that_is_gone(tmp_path: Path) -> None:
    """It keeps pointers to the names of the code of modules, which is freed once they are imported."""
    script = tmp_path / "stacks.py"
    script.write_text(SCRIPT)
    watched = run([*AS_USED, str(script)], cwd=tmp_path, real=True)
    assert (watched.code, watched.stdout.decode().splitlines()[-1]) == (0, "[]"), watched.stderr
