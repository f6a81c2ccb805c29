"""Tracebacks that are printed while a script is watched: they are those of plain Python."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from tests.promises.running import AS_USED, PLAIN, run

CATCHES_AND_PRINTS = """
    import traceback
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    class Samples(torch.utils.data.Dataset):
        def __init__(self, bad=-1):
            self.bad = bad
        def __len__(self):
            return 8
        def __getitem__(self, i):
            if i == self.bad:
                raise ValueError("no such sample")
            return torch.full((3,), float(i))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 1)
        def forward(self, x):
            return self.fc(x)

    class Backwards(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()
        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("in backward")

    def told(act, *arguments, **keywords):
        try:
            act(*arguments, **keywords)
        except Exception:
            traceback.print_exc()

    def go_through(loader):
        for batch in loader:
            pass

    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    scaler = torch.amp.GradScaler("cpu")
    for epoch in range(30):
        for batch in DataLoader(Samples(), batch_size=4):
            optimizer.zero_grad()
            net(batch).pow(2).mean().backward()
            optimizer.step()
        scheduler.step()
        if epoch in (0, 29):
            told(go_through, DataLoader(Samples(bad=3)))
            told(go_through, DataLoader(Samples(bad=3), num_workers=1))
            told(torch.optim.Adam, [])
            told(torch.optim.lr_scheduler.StepLR, optimizer, 0, unknown=1)
            told(DataLoader, Samples(), batch_size=-1)
            told(Backwards.apply(net(batch)).sum().backward)
            told(torch.autograd.backward, Backwards.apply(net(batch)).sum())
            told(net.load_state_dict, {})
            told(nn.utils.clip_grad_norm_, 3, 1)
            told(scaler.scale, "x")
            told(scaler.step, optimizer)
            told(optimizer.step, lambda: 1 / 0)
            told(torch.manual_seed, "x")
            told(net.zero_grad, 3, 4)
"""


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a frame that raises again is listed before Python 3.11")
def test_what_the_script_prints_itself_shows_no_frame_of_ours(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(CATCHES_AND_PRINTS))
    plain, watched = (run([*how, str(script)]) for how in (PLAIN, AS_USED))
    assert plain.stderr.count("Traceback (most recent call last):\n") > 27
    assert watched.stderr == plain.stderr


@pytest.mark.parametrize("words", [[], ["--quiet"]])
def test_a_secret_in_it_stays_as_it_was_written(words: list[str], tmp_path: Path) -> None:
    """On stderr, where the script has put it; the log and the explanation leave it out."""
    script, log = tmp_path / "train.py", tmp_path / "log"
    script.write_text("import torch\nraise RuntimeError('no answer from mysql://root:Kq7vTz2mWx9p@localhost/db')")
    plain = run([*PLAIN, str(script)]).stderr
    command = [sys.executable, "-m", "torch_debugger", "run", "--log-dir", str(log), *words, str(script)]
    watched = run(command).stderr
    assert watched.count(plain) == 1
    assert "Kq7vTz2mWx9p" not in watched.replace(plain, "")
    assert not any(b"Kq7vTz2mWx9p" in file.read_bytes() for file in log.iterdir())
