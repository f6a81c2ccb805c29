"""Surroundings, hyperparameters and seeds reach the log of every way to watch, and no secret reaches it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests import preloaded
from torch_debugger import Debugger
from torch_debugger.log.reader_records import read_log
from torch_debugger.records import CrashFact, HparamsFact, Record, RunFact, SeedFact, Surroundings
from torch_debugger.system.secret_names import SECRET

SCRIPT = """
import argparse, os, torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--api-key", default="hunter2-default")
parser.add_argument("--crash", action="store_true")
args = parser.parse_args()
os.environ["WANDB_API_KEY"] = "hunter2-environment"
SEED = 3
config = {"optimizer": {"lr": args.lr}, "auth_token": "hunter2-config"}
torch.manual_seed(SEED)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)

def log_in(password, size):
    model(torch.ones(1, size)), login(api_key="hunter2-line", who=password)

for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
if args.crash:
    log_in(config["auth_token"], 5)
"""
SECRETS = b"hunter2"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch_debugger", "run", *words]
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    return preloaded.run(command, cwd=folder, env=here, capture_output=True, text=True, timeout=300, check=False)


def records(folder: Path) -> dict[type, list[Record]]:
    kinds: dict[type, list[Record]] = {}
    for record in read_log(folder):
        kinds.setdefault(type(record), []).append(record)
    return kinds


def everything_written(folder: Path) -> Iterator[tuple[str, bytes]]:
    return ((path.name, path.read_bytes()) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("way", [[], ["--in-process"]])
def test_a_run_tells_a_stranger_what_it_was(tmp_path: Path, way: list[str]) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    words = ["train.py", "--lr", "0.25", "--api-key", "hunter2-argument", "--crash"]
    done = run(tmp_path, *way, "--log-dir", "log", *words)
    assert done.returncode == 1 and "mat1 and mat2" in done.stderr
    told = records(tmp_path / "log")
    (around,) = told[Surroundings]
    assert isinstance(around, Surroundings)
    assert around.command[:2] == ("torch-debugger", "run")
    assert around.command[-3:] == ("--api-key", SECRET, "--crash")
    assert around.source.count(SECRET) == 4 and "torch" in around.packages
    (run_fact,) = told[RunFact]
    assert isinstance(run_fact, RunFact)
    assert run_fact.arguments == ("--lr", "0.25", "--api-key", SECRET, "--crash")
    values = {fact.origin: fact.values for fact in told[HparamsFact] if isinstance(fact, HparamsFact)}
    assert values["args"] == {"lr": 0.25, "api_key": SECRET, "crash": True}
    assert values["config"] == {"optimizer.lr": 0.25, "auth_token": SECRET}
    assert values["constants"] == {"SEED": 3}
    assert values["optimizer"]["optimizer.lr"] == 0.25
    assert told[SeedFact] == [SeedFact({"torch": 3}, 1)]
    assert CrashFact in told
    assert not [name for name, data in everything_written(tmp_path / "log") if SECRETS in data]
    if not way:  # TensorBoard never goes back to a file once it has begun a later one: the child's is the last
        parents, childs = sorted((tmp_path / "log").glob("*tfevents*"))
        assert b"Surroundings" in parents.read_bytes() and b"RunFact" in childs.read_bytes()


def test_a_script_that_never_sees_torch_has_surroundings_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print('hello')\n")
    assert "plain.py finished" in run(tmp_path, "--log-dir", "log", "plain.py").stderr
    (around,) = records(tmp_path / "log")[Surroundings]
    assert isinstance(around, Surroundings) and around.source == "print('hello')\n"


def test_a_debugger_leaves_the_same_in_its_folder(tmp_path: Path) -> None:
    args = argparse.Namespace(lr=0.5, password="hunter2")
    torch.manual_seed(11)
    state = torch.get_rng_state()
    with Debugger(log_dir=tmp_path):
        assert torch.equal(torch.get_rng_state(), state)
        parameter = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.SGD([parameter], lr=args.lr)
        for _ in range(2):
            optimizer.zero_grad()
            parameter.square().sum().backward()
            optimizer.step()
        assert torch.equal(torch.get_rng_state(), state)
    told = records(tmp_path)
    values = {fact.origin: fact.values for fact in told[HparamsFact] if isinstance(fact, HparamsFact)}
    assert values["args"] == {"lr": 0.5, "password": SECRET}
    assert told[SeedFact][0].seeds["torch"] == 11  # type: ignore[union-attr]
    assert len(told[Surroundings]) == 1
    assert {path.name for path in tmp_path.iterdir()} >= {"result.json", "report.md"}
    assert not [name for name, data in everything_written(tmp_path) if SECRETS in data]
    assert not [thread for thread in threading.enumerate() if "surroundings" in thread.name]


def test_a_crash_is_told_to_nobody_with_its_secrets() -> None:
    """Also not to the trackers of a debugger, which read no log."""

    def log_in(password: str) -> None:
        raise ValueError(f"refused: password={password!r}")

    with pytest.raises(ValueError, match="hunter2"), Debugger() as debugger:
        log_in("".join(["hun", "ter2"]))
    assert debugger._crash is not None and SECRET in debugger._crash.message
    assert "hunter2" not in str(debugger._crash) + str(debugger.findings)


def test_without_a_log_nothing_is_gathered() -> None:
    before = threading.active_count()
    with Debugger():
        assert threading.active_count() == before


def test_a_late_watcher_is_told_the_hyperparameters_too(tmp_path: Path) -> None:
    args = argparse.Namespace(lr=0.5)
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter], lr=args.lr)
    with Debugger():
        parameter.sum().backward()
        optimizer.step()
        optimizer.step()
        with Debugger(log_dir=os.fspath(tmp_path)):
            optimizer.step()
    origins = [fact.origin for fact in records(tmp_path)[HparamsFact] if isinstance(fact, HparamsFact)]
    assert "args" in origins


LEAKS = """
import argparse, torch

parser = argparse.ArgumentParser()
parser.add_argument("-k", "--api-key")
parser.add_argument("--login")
parser.add_argument("--secret-env")
parser.add_argument("--auth", nargs=2)
args = parser.parse_args()
secret_code = "Hunter2-code"
config = {"lr": 0.1, "auth": ["bob", "Hunter2-pair"], "secrets": {"wandb": "Hunter2-nested"}}
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 4)).sum().backward()
optimizer.step()

def connect(secret_env, login):
    values = login, args.api_key, secret_env
    raise RuntimeError("refused: password=%s api_key: %s %s password=Hunter-said" % values)

connect(args.secret_env, args.login)
"""


def test_secrets_of_short_options_nested_settings_and_messages_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LEAKS)
    words = "-k Hunter2-short --login bob:Hunter2-login --secret-env Hunter2-env --auth bob Hunter2-auth"
    done = run(tmp_path, "--log-dir", "log", "train.py", *words.split())
    assert done.returncode == 1 and "refused" in done.stderr
    (run_fact,) = records(tmp_path / "log")[RunFact]
    assert isinstance(run_fact, RunFact)
    assert run_fact.arguments[:4] == ("-k", SECRET, "--login", f"bob:{SECRET}")
    assert not [name for name, data in everything_written(tmp_path / "log") if b"Hunter" in data]


def test_a_crash_with_a_long_message_comes_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import torch\nraise RuntimeError('the key is missing' + '\\n' * 20000 + 'end')\n"
    )
    done = run(tmp_path, "--log-dir", "log", "train.py")
    assert done.returncode == 1 and CrashFact in records(tmp_path / "log")
