"""Habits a machine can hold: calm words, no paths of a developer's machine, files of one idea."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from tests.house.rooms import REPOSITORY, imported_files, name_of, package_files, text_of

FOLDERS = ("torch_debugger", "tests", "zoo", "docs", "benchmarks", "tools", "examples")
TEXTS = {".py", ".md", ".txt", ".toml", ".svg", ".cfg", ".json"}
LOUD = re.compile(r"\w!(?:\s|$)|[\U0001f300-\U0001faff\u2600-\u27bf]")
# Written in two halves, so that this file does not find itself.
MACHINE_PATHS = re.compile("|".join(f"/{first}{second}/" for first, second in [("wo", "rk"), ("ro", "ot")]))
LONGEST_FILE = 800  # lines; most have 150 to 400
LONGEST_FUNCTION = 60
SHORTEST_FILE = 60  # one with a single importer in its own folder belongs into that, unless it says why it is alone
ALONE = re.compile(r"^# Alone: \w+", re.MULTILINE)


# Only a file whose source has such a character can hold a loud text; the others need not be parsed.
MAY_BE_LOUD = re.compile(r"!(?![=rsa])|[\U0001f300-\U0001faff\u2600-\u27bf]|\\[uUN]")
NAMES_OF_ANYTHING = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "tools"}


def loud_texts(source: str) -> list[str]:
    if not MAY_BE_LOUD.search(source):
        return []
    constants = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return [text for text in constants if isinstance(text, str) and LOUD.search(text)]


def written_files() -> list[Path]:
    inside = [path for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*")]
    files = [*inside, *REPOSITORY.glob("*.md"), *REPOSITORY.glob("*.t*"), REPOSITORY / "Makefile"]
    return [path for path in files if (path.suffix in TEXTS or path.name == "Makefile") and path.is_file()]


def test_no_text_of_ours_shouts() -> None:
    assert not {name_of(path): loud for path in package_files() if (loud := loud_texts(text_of(path)))}


def test_no_file_names_a_machine() -> None:
    guilty = [
        path for path in written_files() if MACHINE_PATHS.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not guilty


def test_names_say_what_is_inside() -> None:
    assert not [name_of(path) for path in package_files() if path.stem in NAMES_OF_ANYTHING]


def test_a_file_is_a_subject() -> None:
    lengths = {name_of(path): text_of(path).count("\n") + 1 for path in package_files()}
    assert not {name: length for name, length in lengths.items() if length > LONGEST_FILE}


def test_a_function_is_a_thought() -> None:
    long = {
        f"{name_of(path)}:{node.lineno}": node.end_lineno - node.lineno + 1
        for path in package_files()
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno is not None
        and node.end_lineno - node.lineno >= LONGEST_FUNCTION
    }
    assert not long


def test_a_small_file_has_a_reason_to_be_alone() -> None:
    importers: dict[Path, set[Path]] = defaultdict(set)
    for path in package_files():
        for file in imported_files(path):
            importers[file].add(path)
    assert not [
        name_of(path)
        for path in package_files()
        if path.name != "__init__.py"
        and text_of(path).count("\n") < SHORTEST_FILE
        and [importer.parent for importer in importers[path]] == [path.parent]
        and not ALONE.search(text_of(path))
    ]


def test_a_class_name_means_one_thing() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in package_files():
        for node in ast.walk(ast.parse(text_of(path))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name_of(path))
    assert not {name: files for name, files in places.items() if len(files) > 1}


def test_every_file_says_what_it_is() -> None:
    assert not [name_of(path) for path in package_files() if not says_what_it_is(text_of(path))]


def says_what_it_is(source: str) -> bool:
    """An empty file has nothing to say. Only what does not begin with its docstring need be parsed."""
    if not source.strip() or re.match(r'"""\s*[^\s"]', source):
        return True
    return bool(ast.get_docstring(ast.parse(source)))


def test_loud_words_are_heard() -> None:
    assert LOUD.search("Done!")
    assert LOUD.search("fire \U0001f525")
    assert not LOUD.search("a != b, {x!r}")
    assert loud_texts("say('Done' '! ')") == ["Done! "]
    assert loud_texts(r"""say('\N{FIRE}', "Done!\n", 'fire \U0001f525', f'{x!r}')""") == [
        "\N{FIRE}", "Done!\n", "fire \N{FIRE}"
    ]  # fmt: skip
    assert MACHINE_PATHS.search("see /" + "work/main")


def test_files_that_do_not_say_what_they_are_are_seen() -> None:
    assert says_what_it_is("") and says_what_it_is('"""What."""') and says_what_it_is("# why\n'What.'\n")
    assert not says_what_it_is("x = 1\n") and not says_what_it_is('""" """\nx = 1\n')
