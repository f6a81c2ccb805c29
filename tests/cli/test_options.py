"""What cannot be done is said in one sentence, before anything runs."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Write, run_really, run_watched
from torch_debugger.cli import main
from torch_debugger.runner.options import add_script_options, read_run, settings_of_child
from torch_debugger.runner.script import Program
from torch_debugger.settings import Settings


def refused(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """The one sentence said about these words; nothing may have run."""
    code = main(["run", *words])
    out, err = capfd.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("torch-debugger: ") and err.count("\n") == 1
    assert not Path("runs").exists()
    return err.removeprefix("torch-debugger: ").rstrip()


@pytest.fixture
def script(write: Write) -> str:
    write("print('ran')")
    return "train.py"


def test_no_script(capfd: pytest.CaptureFixture[str]) -> None:
    assert refused(capfd) == "No script was given. Use it like this: torch-debugger run train.py"
    assert refused(capfd, "-m") == "No module was given. Use it like this: torch-debugger run -m package.module"


def test_a_missing_script_and_a_folder(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert refused(capfd, "trian.py") == f"There is no script trian.py (looked in {tmp_path})."
    (tmp_path / "project").mkdir()
    assert refused(capfd, "project") == "project is a folder. Name the script in it, such as project/train.py."


@pytest.mark.parametrize("option", ["--only", "--ignore"])
def test_an_unknown_check(option: str, capfd: pytest.CaptureFixture[str], script: str) -> None:
    said = refused(capfd, option, "missing-zero-grad,mising-zero-grad", script)
    assert said.startswith("There is no check named 'mising-zero-grad'. Did you mean missing-zero-grad")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--budget", "much"], "--budget takes a share of the run's time such as 2% or 0.02, not 'much'."),
        (["--budget", "0"], "--budget takes a share of the run's time such as 2% or 0.02, not '0'."),
        (["--max-steps", "0"], "--max-steps takes a whole number from 1 on, not '0'."),
        (["--max-steps", "1e3"], "--max-steps takes a whole number from 1 on, not '1e3'."),
        (["--deep-steps", "few"], "--deep-steps takes a whole number from 1 on, not 'few'."),
        (["--log-limit", "huge"], "--log-limit takes a size such as 200MB or 1GiB, not 'huge'."),
    ],
)
def test_numbers(words: list[str], said: str, capfd: pytest.CaptureFixture[str], script: str) -> None:
    assert refused(capfd, *words, script) == said


def test_folders_and_files_that_cannot_be_written(capfd: pytest.CaptureFixture[str], script: str) -> None:
    Path("file").write_text("")
    Path("folder").mkdir()
    assert refused(capfd, "--log-dir", "file/log", script) == (
        f"The log folder {Path('file/log').absolute()} cannot be written: Not a directory. "
        "Choose another with --log-dir, or keep no log with --no-log."
    )
    assert (
        refused(capfd, "--json", "folder", script)
        == f"--json needs a file to write, and {Path('folder').absolute()} is a folder."
    )
    assert refused(capfd, "--json", "absent/out.json", script) == (
        f"--json {Path('absent/out.json').absolute()} cannot be written: No such file or directory."
    )


def test_a_folder_that_holds_another_run(capfd: pytest.CaptureFixture[str], script: str) -> None:
    Path("log").mkdir()
    Path("log/events.out.tfevents.1.host").write_text("")
    said = refused(capfd, "--log-dir", "log", script)
    assert said == "log already holds the log of another run. Choose a new folder with --log-dir."


def test_everything_after_the_script_is_the_script_s(write: Write) -> None:
    write("import sys; print(sys.argv[1:])")
    words = ["--json", "x", "-m", "--", "--quiet", "-h", "--only=a", ""]
    assert run_watched("--no-log", "--quiet", "train.py", *words).stdout == f"{words}\n"
    assert run_watched("--no-log", "--quiet", "--", "train.py", *words).stdout == f"{words}\n"


def test_options_are_read(script: str) -> None:
    parser = argparse.ArgumentParser()
    add_script_options(parser, "run")
    words = [
        "--only", "a, b", "--only", "TD1", "--budget=5%", "--max-steps", "7", "--deep-steps", "40",
        "--log-limit", "1KiB", "--no-log",
    ]  # fmt: skip
    program, settings = read_run(parser.parse_args([*words, "-m", "package.module", "--max-steps", "9"]))
    assert settings.only == ("a", "b", "TD1")
    assert program == Program("package.module", ("--max-steps", "9"), module=True)
    child = settings_of_child(settings, "log")  # nine tenths of the log: the rest is the parent's
    assert (child.budget, child.max_steps, child.log_limit_bytes) == (0.05, 7, 921)
    assert child.deep_steps == 40
    travelled = Settings.from_json(child.to_json())
    assert travelled == dataclasses.replace(child, keep_log=True, only=())  # what the parent alone needs stays there


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--profile-steps", "7", "--profile"], "profile_steps", 7),
        (["--profile"], "profile_steps", 5),
        (["--no-watchdog", "--on-hang", "abort"], "on_hang", "off"),
        ([], "on_hang", "dump"),
        (["--view-port", "8000", "--view"], "view_port", 8000),
        (["--view"], "view_port", 0),
        ([], "view_port", None),
        (["--json", "out.json"], "json_file", "{here}/out.json"),
        (["--hang-timeout", "5m"], "hang_timeout_s", 300.0),
    ],
)
def test_settings_by_options(words: list[str], name: str, value: object, script: str, tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_script_options(parser, "run")
    _, settings = read_run(parser.parse_args([*words, script]))
    assert getattr(settings, name) == (value.format(here=tmp_path) if isinstance(value, str) else value)


LOADS_LITTLE = """
import sys
from torch_debugger.cli import main

def loaded(*names):
    print(sorted({*names} & {*sys.modules}))

for words, heavy in ((["run", "--help"], ("torch", "numpy", "rich")), (["--help"], ("torch",))):
    try:
        main(words)
    except SystemExit:
        loaded(*heavy)
main(["run", "--no-log", "--json", "out.json", "train.py"])
loaded("torch")
"""


def test_help_is_quick_to_load_and_the_parent_never_imports_torch(write: Write) -> None:
    write("import training\ntraining.step(0.5)")
    done = run_really([sys.executable, "-c", LOADS_LITTLE])
    assert done.stdout.count("[]\n") == 3 and done.stdout.endswith("[]\n"), done.stdout + done.stderr
    assert done.stdout.count("Run a training script unchanged, and say what is wrong with it.") == 2
    assert Path("out.json").exists()
