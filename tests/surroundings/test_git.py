"""The state of a repository, read without touching it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from torch_debugger.runner import environment as git
from torch_debugger.runner.environment import GitState, read_git_state

NOBODY = {
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "n@n",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "n@n",
}


def run_git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, env=os.environ | NOBODY, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    run_git(tmp_path, "init", "-q", "-b", "try-it")
    (tmp_path / "train.py").write_text("lr = 0.1\n")
    run_git(tmp_path, "add", "train.py")
    run_git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def every_file(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_a_clean_repository(repository: Path) -> None:
    assert read_git_state(str(repository)) == GitState(run_git(repository, "rev-parse", "HEAD"), "try-it", False, "")


def test_changes_are_kept_and_the_repository_is_not_touched(repository: Path) -> None:
    (repository / "train.py").write_text("lr = 0.2\n")
    (repository / "deep").mkdir()
    before = every_file(repository)
    state = read_git_state(str(repository / "deep"))
    assert state.dirty is True
    assert "-lr = 0.1\n+lr = 0.2\n" in state.diff
    assert every_file(repository) == before


def test_a_detached_head_has_no_branch(repository: Path) -> None:
    run_git(repository, "checkout", "-q", "--detach")
    assert read_git_state(str(repository)).branch == ""
    assert read_git_state(str(repository)).commit == run_git(repository, "rev-parse", "HEAD")


def test_packed_references_and_worktrees_are_read(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    run_git(repository, "pack-refs", "--all")
    other = tmp_path_factory.mktemp("worktrees") / "other"
    run_git(repository, "worktree", "add", "-q", "-b", "a/branch", str(other))
    for folder, branch in ((repository, "try-it"), (other, "a/branch")):
        state = read_git_state(str(folder))
        assert (state.commit, state.branch) == (run_git(repository, "rev-parse", "HEAD"), branch)


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "-b", "empty")
    assert read_git_state(str(tmp_path)) == GitState("", "empty", None, "")


def test_outside_of_a_repository_there_is_nothing(tmp_path: Path) -> None:
    assert read_git_state(str(tmp_path)) == GitState()
    assert read_git_state(str(tmp_path / "missing")) == GitState()


def test_a_long_diff_is_cut(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "train.py").write_text("x = 1\n" * 1000)
    monkeypatch.setattr(git, "_DIFF_BYTES", 500)
    state = read_git_state(str(repository))
    assert state.dirty and state.diff.endswith("[the rest of the diff is left out]\n") and len(state.diff) < 600


def test_without_the_program_git_s_own_files_tell(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = run_git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", "")
    assert read_git_state(str(repository)) == GitState(commit, "try-it", None, "")


def test_a_git_that_hangs_is_left_behind(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what it has started holds on to its output."""
    stand_in = tmp_path_factory.mktemp("bin") / "git"
    late = stand_in.with_name("late")
    stand_in.write_text(f"#!/bin/sh\n(sleep 60; touch {late}) &\nsleep 60\ntouch {late}\n")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(git, "_WAIT_S", 0.2)
    assert read_git_state(str(repository)).dirty is None
    assert not late.exists()  # neither of the two was waited for


def test_no_program_of_the_repository_s_is_run(repository: Path) -> None:
    """A hook, a diff driver, a textconv filter and a file system monitor: none of them is asked."""
    trap = repository / "trap.sh"
    trap.write_text('#!/bin/sh\ntouch "$(dirname "$0")/sprung"\ncat\n')
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "diff.odd.command", "diff.odd.textconv", "core.pager"):
        run_git(repository, "config", name, str(trap))
    (repository / ".git" / "hooks" / "post-index-change").symlink_to(trap)
    (repository / ".gitattributes").write_text("*.py diff=odd\n")
    (repository / "train.py").write_text("lr = 0.3\n")
    assert "+lr = 0.3" in read_git_state(str(repository)).diff
    assert not (repository / "sprung").exists()


@pytest.mark.parametrize("text", ["", "gitdir: /nowhere\n", "\0\xff", "gitdir:"])
def test_a_damaged_repository_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text, encoding="latin-1")
    assert read_git_state(str(tmp_path)).commit == ""
