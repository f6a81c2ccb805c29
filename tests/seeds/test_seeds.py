"""What the snippets of the tutorials become here: the same exit code with and without us, silence about what is
right, the fault by its name where there is one, and our own calls beside those of the other tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import preloaded
from tests.promises.running import Run
from tests.seeds.expected import DOCUMENTS, HERE, read_blocks, read_document
from tests.seeds.running import ALSO_IMPORTED, SURROUNDINGS, of_the_findings, problems


@pytest.fixture(scope="module", autouse=True)
def surroundings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SURROUNDINGS.items():
            patch.setenv(name, value)
        with preloaded.with_modules(*ALSO_IMPORTED):
            yield


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_program_yields_what_it_must(document: str, tmp_path: Path) -> None:
    blocks = [block for block in read_document(document) if block.is_runnable]
    said = {block.name: problems(block, tmp_path / str(number)) for number, block in enumerate(blocks)}
    assert not {name: problem for name, problem in said.items() if problem}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_snippet_has_its_program(document: str) -> None:
    blocks = read_document(document)
    shown = {number for block in blocks for number in block.snippets}
    assert shown == set(range(1, DOCUMENTS[document] + 1))
    files = {path.name for path in (HERE / document).iterdir() if path.is_file()} - {"expected.txt"}
    written = {block.name for block in blocks if "of" in block.once}
    assert files == {block.name for block in blocks if block.is_runnable} - written
    assert files >= {block.once["of"] for block in blocks if "of" in block.once}


def test_what_is_not_yielded_is_said(tmp_path: Path) -> None:
    """Each word of `expected.txt` can fail."""
    (tmp_path / "program.py").write_text("print('one')\nraise SystemExit(3)\n")
    text = "[program.py]\nexit: 4\nverdict: dead-relu\nstdout: two\nraises: three\nreport: four\nmakes: *.png\n"
    (wrong,) = read_blocks(str(tmp_path), text + "then: torch-debugger checks\nsays: five\n")
    said = " ".join(problems(wrong, tmp_path / "wrong"))
    for part in ("not 4", "not dead-relu", "'two'", "'three'", "'four'", "*.png was not made", "'five'"):
        assert part in said
    (right,) = read_blocks(str(tmp_path), "[program.py]\nexit: 3\nstdout: one\n")
    assert not problems(right, tmp_path / "right")


def test_a_run_that_was_not_watched_is_not_silent() -> None:
    (block,) = read_blocks("tools", "[program.py]")
    found = {"findings": [], "verdict": None}
    for said, silent in (("", True), ("torch-debugger: could not begin; the script runs unwatched.", False)):
        assert silent == (not list(of_the_findings(block, found, Run(0, b"", said, None, None))))
