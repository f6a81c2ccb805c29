"""Runs a program by plain python and by `torch-debugger run`, and compares it with its block of expected.txt"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch_debugger
from tests import preloaded
from tests.preloaded import ROOT
from tests.promises import running
from tests.promises.running import Run
from tests.seeds.expected import Block
from torch_debugger import pictures
from torch_debugger.cli.view import read_profiles
from torch_debugger.viewer.questions import Query, find_answer
from torch_debugger.viewer.shown_runs import ShownRuns

# What the programs import that takes long, and is no part of what they show.
_OURS = {*torch_debugger._HOMES.values(), *pictures._HOMES.values()}
ALSO_IMPORTED = ("matplotlib.pyplot", "tensorboardX", "torch.utils.tensorboard", *sorted(_OURS))
SURROUNDINGS = {"MPLBACKEND": "Agg", "WANDB_MODE": "offline", "WANDB_SILENT": "true"}
COMMAND = [sys.executable, "-m", "torch_debugger"]


def problems(block: Block, folder: Path) -> list[str]:
    """Everything in which it does not yield what it must."""
    plain_folder, watched_folder = folder / "plain", folder / "watched"
    plain_folder.mkdir(parents=True)
    watched_folder.mkdir()
    script = block.script(folder)
    if not block.is_program:
        return [*_of_the_steps(block, script, plain_folder)]
    plain = running.run([sys.executable, str(script)], plain_folder)
    result = folder / "result.json"
    options = shlex.split(block.once.get("options", ""))
    how = ["run", "--no-log", "--json", str(result), *options, str(script)]
    watched = running.run([*COMMAND, *how], watched_folder)
    found = json.loads(result.read_text(encoding="utf-8")) if result.exists() else None
    return [
        *_differences(block, plain, watched),
        *_of_the_program(block, plain, plain_folder),
        *of_the_findings(block, found, watched),
        *_of_the_steps(block, script, plain_folder),
    ]


def _differences(block: Block, plain: Run, watched: Run) -> Iterator[str]:
    if plain.code != watched.code:
        yield f"exit code {plain.code} by python, {watched.code} when watched: {watched.stderr[-500:]}"
    if plain.stdout != watched.stdout and "output" not in block.once:
        one, other = (each.stdout.decode()[-500:] for each in (plain, watched))
        yield f"printed {one!r} by python, {other!r} when watched"


def _of_the_program(block: Block, plain: Run, folder: Path) -> Iterator[str]:
    wanted = int(block.once.get("exit", "0"))
    if plain.code != wanted:
        yield f"exit code {plain.code}, not {wanted}: {plain.stderr[-1000:]}"
    yield from _missing("stdout", block.repeated.get("stdout", []), plain.stdout.decode())
    yield from _missing("the traceback", block.repeated.get("raises", []), plain.stderr)
    for pattern in block.repeated.get("makes", []):
        if not any(made.stat().st_size for made in folder.glob(pattern)):
            yield f"{pattern} was not made"


def of_the_findings(block: Block, found: dict[str, Any] | None, watched: Run) -> Iterator[str]:
    if found is None:
        yield f"no result: {watched.stderr[-500:]}"
        return
    if "runs unwatched" in watched.stderr:
        yield f"it was not watched: {watched.stderr[:500]}"
    wanted = block.once.get("verdict", "silence")
    loud = [each for each in found["findings"] if each["severity"] in ("error", "warning")]
    verdict = found["findings"][found["verdict"]] if found["verdict"] is not None else None
    name = verdict["name"] if verdict else "silence"
    if wanted == "explained" and name not in ("silence", "unexplained-crash"):
        wanted = name
    if wanted == "silence" and loud:
        yield "; ".join(f"{each['severity']} {each['name']}: {each['message']}" for each in loud)
    elif name != wanted:
        yield f"the verdict is {name} ({verdict and verdict['message']}), not {wanted}"
    elif verdict:
        if "line" in block.once and verdict["where"]["line"] != int(block.once["line"]):
            yield f"{name} is at line {verdict['where']['line']}, not {block.once['line']}"
        yield from _missing(f"the fix of {name}", _listed(block.once.get("fix", "")), json.dumps(verdict))
    yield from _missing("the report", block.repeated.get("report", []), watched.stderr)


def _listed(text: str) -> list[str]:
    return [text] if text else []


def _of_the_steps(block: Block, script: Path, folder: Path) -> Iterator[str]:
    """`then`, `page`, `view` and `calls` begin something; `code`, `says` and `has` are about what began last"""
    code, text, last = 0, "", ""
    for key, value in block.steps:
        if key == "then":
            words = [word.format(script=script) for word in shlex.split(value)]
            assert words[0] == "torch-debugger", value
            done = running.run([*COMMAND, *words[1:]], folder)
            code, text, last = done.code, done.stdout.decode() + done.stderr, value
            expected = _code_of(block, value)
            if code != expected:
                yield f"`{value}` ended with {code}, not {expected}: {text[-500:]}"
        elif key == "page":
            text, last = _answer(value, folder), f"the page: {value}"
        elif key == "view":
            text, last = _names_on_the_page(shlex.split(value), folder), f"torch-debugger view {value}"
        elif key == "calls":
            text, last = json.dumps(read_profiles([str(folder / value)])), f"the page of {value}"
        elif key in ("says", "has"):
            yield from _missing(f"`{last}`", [value], text)


def _code_of(block: Block, command: str) -> int:
    after = block.steps[block.steps.index(("then", command)) + 1 :]
    return int(after[0][1]) if after and after[0][0] == "code" else 0


def _answer(asked: str, folder: Path) -> str:
    """`FOLDER QUESTION NAME=VALUE ...`: what the page of `view FOLDER` shows of it."""
    where, question, *words = shlex.split(asked)
    answer = find_answer(question)
    if answer is None:
        return f"there is no question {question}"
    shown_runs = ShownRuns({"": str(folder / where)}, of_others=True)
    given = dict(word.split("=", 1) for word in words)
    if given.get("run") == "*":  # the only one: torch names it by the time
        (given["run"],) = [path.name for path in (folder / where).iterdir()]
    made = answer(Query(shown_runs, given))
    return json.dumps(made, default=str)


def _names_on_the_page(words: list[str], folder: Path) -> str:
    """What `view` calls the runs: of a process of its own."""
    command = [*COMMAND, "view", "--no-open", *words]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = preloaded.Popen(command, cwd=folder, env=environment, text=True, **pipes)
    with process:
        try:
            said = process.stdout.readline()
            port = re.search(r"127\.0\.0\.1:(\d+)", said)
            if port is None:
                return said + process.stdout.read()
            connection = http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=running.LIMIT_S)
            with contextlib.closing(connection):
                connection.request("GET", "/ask/names")
                return connection.getresponse().read().decode()
        finally:
            process.kill()


def _missing(where: str, wanted: list[str], text: str) -> Iterator[str]:
    flat = " ".join(text.split())
    for part in wanted:
        if not any(" ".join(one.split()) in flat for one in part.split(" or ")):
            yield f"{where} does not have {part!r}: {flat[-700:]}"
