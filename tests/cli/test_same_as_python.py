"""Whatever a script does, it ends as `python script.py` would: same output, same errors, same exit code."""

from __future__ import annotations

import py_compile
import re
import sys
import textwrap
import zipapp
from pathlib import Path

import pytest

from tests.cli.conftest import DEBUGGER, FRESH, Done, Write, debugger, run_forked, run_plain, run_really, run_watched

KNOWS_ITSELF = """
    '''A docstring.'''
    import atexit, inspect, os, signal, sys, threading
    for name in ("torch", "numpy"):
        assert name not in sys.modules, name
    main = sys.modules["__main__"]
    assert vars(main) is globals()
    print(sorted(name for name in globals() if name.startswith("__")))
    print(__name__, __doc__, __file__, __package__, __spec__, type(__loader__), __builtins__)
    print(__annotations__, globals().get("__cached__"))
    print(sys.argv, sys.path, os.getcwd(), sys.orig_argv)
    atexit.register(lambda: print("at exit", globals().get("__file__"), globals().get("__cached__")))
    print(sorted(os.environ.items()), sys.flags, sys.warnoptions, sys.gettrace(), sys.getprofile())
    print([thread.name for thread in threading.enumerate()], sys.excepthook is sys.__excepthook__)
    print(sys.stdout.line_buffering, sys.stdin.isatty(), "file", os.open(os.devnull, os.O_RDONLY))
    print([signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGHUP)])
    def documented(): return 1
    print(inspect.getsource(documented), inspect.signature(input), input.__name__, input.__module__)
    if __name__ == "__main__":
        print("main")
"""

NAMES_A_NEIGHBOUR = """
    from neighbour import name
    print(name)
"""

TRAINS_WITH_HELPERS = """
    from __future__ import annotations
    import atexit, multiprocessing, pickle, sys
    class Item:
        def __init__(self, value: no_such_name): self.value = value
    def double(item): return Item(2 * item.value)
    items = [Item(1), Item(2)]
    def at_exit():
        print([item.value for item in items], sys.modules["__main__"].items is items)
        print(pickle.loads(pickle.dumps(items))[1].value)
    if __name__ == "__main__":
        print(Item.__init__.__annotations__)
        atexit.register(at_exit)
        assert pickle.loads(pickle.dumps(Item(3))).value == 3
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print([item.value for item in pool.map(double, items)])
"""

# Everything that a script may do and still come to its own end; one thing a paragraph.
COMES_TO_ITS_END = """
    # -*- coding: utf-8 -*-
    import atexit, os, sys, threading, time, warnings
    print("ä")

    pid = os.fork()
    if pid == 0:
        print("in the fork"); sys.exit(4)
    print("its status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    def annotated(x: int): pass
    print(annotated.__annotations__)

    try:
        input(prompt="x")
    except TypeError:
        print("refused")

    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        print("caught")

    warnings.warn("old", DeprecationWarning)

    thread = threading.Thread(target=lambda: 1 / 0, name="raises")
    thread.start()
    thread.join()

    def late():
        threading.main_thread().join()
        print("late")
    threading.Thread(target=late).start()

    atexit.register(print, "second")
    atexit.register(lambda: 1 / 0)
    atexit.register(print, "first")
"""

# How the interpreter itself shows them, or what it does at its end, is part of it.
ENDS_OF_THE_INTERPRETER = {
    "comes-to-its-end": COMES_TO_ITS_END,
    "helpers": TRAINS_WITH_HELPERS,
    "exit-300": "import sys; sys.exit(300)",
    "exit-text": "import sys; sys.exit('the data is missing')",
    "exception": "def f(x):\n    return 1 / x\nf(0)",
    "base-exception": "class Odd(BaseException): pass\nraise Odd('odd')",
    "syntax-error": "x = 1\nif x\n    print(x)\n",
    "indentation-error": "def f():\nreturn 1\n",
    "excepthook": "import sys\nsys.excepthook = lambda *e: print(e[0], e[2].tb_lineno, e[2].tb_next)\n1 / 0",
    "damaged-module": "import importlib.util, sys, traceback\nsys.excepthook = traceback.print_exception\n"
    "open('damaged.pyc', 'wb').write(importlib.util.MAGIC_NUMBER + bytes(12))\nimport damaged",
    "last-error": "import atexit, sys\natexit.register(lambda: print(repr(sys.last_value)))\n1 / 0",
}
ENDS = {
    "exit-0": "import sys; sys.exit(0)",
    "exit-none": "raise SystemExit",
    "exit-7": "import sys; sys.exit(7)",
    "exit-object": "import sys; sys.exit([1, 2])",
    "os-exit": "import os; print('out', flush=True); os._exit(5)",
    "chained": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('no a') from e",
    "context": "try:\n    input('? ')\nexcept EOFError:\n    raise ValueError('no input')",
    "end-of-input": "print('x'); input('name: ')",
    "group": "try:\n    input()\nexcept EOFError as e:\n    raise ExceptionGroup('both', [e, ValueError()])",
    "assertion": "assert 1 == 2, 'no'",
    "import-error": "import no_such_module",
    "excepthook-exits": "import os, sys\nsys.excepthook = lambda *e: os._exit(9)\n1 / 0",
}
if sys.version_info < (3, 11):
    del ENDS["group"]  # exception groups came with it


@pytest.mark.parametrize("source", ENDS_OF_THE_INTERPRETER.values(), ids=ENDS_OF_THE_INTERPRETER.keys())
def test_a_script_ends_as_under_python(source: str, write: Write) -> None:
    write(source)
    _assert_same("train.py", "--lr", "0.1", "-m", "--json")


@pytest.mark.parametrize("source", ENDS.values(), ids=ENDS.keys())
def test_a_forked_script_ends_as_under_python(source: str, write: Write) -> None:
    """What needs no fresh interpreter to be seen: the exit code, and which frames are shown."""
    write(source)
    words = ["train.py", "--lr", "0.1", "-m", "--json"]
    _assert_as(run_plain(*words), run_watched("--no-log", "--quiet", *words))


@pytest.mark.parametrize("line", ["sys.setrecursionlimit(2000)", "sys.tracebacklimit = 2", "sys.tracebacklimit = 0"])
def test_as_many_frames_are_shown_as_by_python(line: str, write: Write) -> None:
    write(f"import sys, torch\ndef f():\n    f()\n{line}\nf()")
    _assert_as(run_plain("train.py"), debugger("run", "--no-log", "--quiet", "train.py"))


def _assert_same(*words: str) -> None:
    """To a fresh interpreter of python's, whatever our own parent is."""
    plain = run_plain(*words)
    _assert_as(plain, run_forked([*FRESH, "run", "--no-log", "--quiet", *words]))


def _assert_as(plain: Done, watched: Done) -> None:
    assert _without_addresses(watched.stdout) == _without_addresses(plain.stdout)
    assert _without_addresses(watched.stderr) == _without_addresses(plain.stderr)
    assert watched.returncode == plain.returncode


def _without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


def test_a_script_cannot_tell_the_real_command_from_python(write: Write) -> None:
    write(KNOWS_ITSELF)
    words = ["train.py", "--lr", "0.1", "-m", "--json"]
    plain = run_plain(*words)
    assert (plain.returncode, plain.stdout.splitlines()[-2]) == (0, "main"), plain.stderr
    _assert_as(plain, run_really([*DEBUGGER, "run", "--no-log", "--quiet", *words]))


@pytest.mark.parametrize("path", ["./train.py", "sub/../link.py"])
def test_the_path_is_kept_as_it_was_given(path: str, write: Write) -> None:
    script = write(KNOWS_ITSELF)
    write("", "sub/empty.py")
    script.with_name("link.py").symlink_to(write(KNOWS_ITSELF, "elsewhere/real.py"))
    _assert_same(path)


def test_files_that_the_shell_opened_are_the_script_s() -> None:
    script = "import sys; print(__name__, open(sys.argv[1]).read())"
    command = f"{' '.join(DEBUGGER)} run --no-log --quiet <(echo '{script}') <(echo data)"
    done = run_really(["bash", "-c", command])
    assert (done.returncode, done.stdout) == (0, "__main__ data\n\n"), done.stderr


def test_relative_files_and_neighbours_are_found(write: Write) -> None:
    write("from model import name\nprint(name, open('data.txt').read())", "project/train.py")
    write("name = 'net'", "project/model.py")
    write("numbers", "data.txt")
    watched = run_watched("--no-log", "--quiet", "project/train.py")
    assert watched.stdout == run_plain("project/train.py").stdout == "net numbers\n"


@pytest.mark.parametrize("words", [["package"], ["package.module", "-x", "1"], ["no.such"], ["package.broken"]])
def test_a_module_runs_as_under_python_m(words: list[str], write: Write) -> None:
    write("print('init')", "package/__init__.py")
    write(KNOWS_ITSELF, "package/__main__.py")
    write(KNOWS_ITSELF + "    from . import sibling\n", "package/module.py")
    write("print(__name__)", "package/sibling.py")
    write("1 / 0", "package/broken.py")
    _assert_same("-m", *words)


def test_no_package_is_loaded_for_a_script_that_does_not_use_it(write: Write) -> None:
    """Nothing but us, modules of Python's own that we are made of, and what our records are made by."""
    write("import sys; print(*sorted(sys.modules))")
    plain = run_plain("train.py").stdout.split()
    watched = run_really([*DEBUGGER, "run", "--no-log", "--quiet", "train.py"]).stdout.split()
    more = {name.partition(".")[0] for name in set(watched) - set(plain)}
    assert "torch_debugger" in more and set(plain) <= set(watched)
    records = {"msgspec", "typing_extensions"}
    assert more - sys.stdlib_module_names == {"torch_debugger", "__mp_main__"} | records  # multiprocessing makes a main


def test_the_interpreter_s_own_flags_reach_the_script(write: Write) -> None:
    asked = "sys.flags.optimize, sys.flags.utf8_mode, sys.warnoptions, sys.orig_argv[1:]"
    write(f"import sys; print({asked}); assert False")
    python = [sys.executable, "-O", "-X", "utf8", "-Werror", "-u"]
    plain = run_really([*python, "train.py"])
    assert plain.stdout.startswith("1 1 ['error'] ['-O', '-X', 'utf8', '-Werror', '-u',")
    _assert_as(plain, run_really([*python, "-m", "torch_debugger", "run", "--no-log", "--quiet", "train.py"]))


@pytest.mark.parametrize("form", ["zipapp", "zip without a header", "folder", "compiled", "compiled, named otherwise"])
def test_whatever_python_runs_is_run(form: str, write: Write, tmp_path: Path) -> None:
    write("name = 'neighbour'", "app/neighbour.py")
    source = write(KNOWS_ITSELF.replace("inspect.getsource(documented)", "1") + NAMES_A_NEIGHBOUR, "app/__main__.py")
    if form == "zipapp":
        zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz", interpreter="/usr/bin/env python3")
    elif form == "zip without a header":
        zipapp.create_archive(tmp_path / "app", tmp_path / "app.zip")
    elif form == "compiled":
        py_compile.compile(str(source), str(tmp_path / "app" / "train.pyc"), doraise=True)
    elif form == "compiled, named otherwise":
        py_compile.compile(str(source), str(tmp_path / "app" / "train"), doraise=True)
    target = {"zipapp": "app.pyz", "zip without a header": "app.zip", "folder": "app", "compiled": "app/train.pyc"}
    _assert_same(target.get(form, "app/train"), "--lr", "0.1")


def test_a_script_from_stdin(write: Write) -> None:
    write("name = 'neighbour'", "neighbour.py")
    source = textwrap.dedent(KNOWS_ITSELF.replace("inspect.getsource(documented)", "1")) + textwrap.dedent(
        NAMES_A_NEIGHBOUR
    )
    plain = run_plain("-", "--lr", "0.1", stdin=source)
    assert "\nneighbour\n" in plain.stdout, plain.stderr
    _assert_as(plain, run_forked([*FRESH, "run", "--no-log", "--quiet", "-", "--lr", "0.1"], source))


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_stay_closed(closed: str, write: Write, tmp_path: Path) -> None:
    """The script's first files get their numbers, and none of ours does."""
    write("""
        import os, sys
        streams = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
        first = os.open(os.devnull, os.O_RDONLY)
        print("printed")
        with open("told.txt", "w") as file:
            file.write(f"{streams} {first} {os.path.exists('/proc/self/fd/1')}")
        sys.exit(5)
    """)
    told = []
    for command in ([sys.executable], [*FRESH, "run", "--log-dir", "log"]):
        done = run_really(["sh", "-c", f'exec "$@" train.py {closed}', "sh", *command])
        told.append((done.returncode, done.stdout, (tmp_path / "told.txt").read_text()))
    assert told[0] == told[1] and told[0][0] == 5


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_folder_that_cannot_be_written(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script runs there without us."""
    script = write("import os; print(os.getcwd())")
    monkeypatch.chdir("/proc")
    plain = run_plain(str(script))
    watched = run_forked([*FRESH, "run", str(script)])
    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout) == (0, "/proc\n")
    told = [line for line in watched.stderr.splitlines() if "no log is kept" in line]
    assert len(told) == 1 and "Name another folder with --log-dir." in told[0]


def test_a_folder_that_is_gone(write: Write, tmp_path: Path) -> None:
    script = write("print('runs')")
    started = f"mkdir gone; cd gone; rmdir ../gone; exec {' '.join(DEBUGGER)} run {script}"
    done = run_really(["sh", "-c", started])
    assert (done.returncode, done.stdout) == (0, "runs\n"), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_with_little_address_space_threads_reserve_no_heaps_of_their_own(write: Write) -> None:
    """Ours are three, of 64 MB each: with `ulimit -v` these were missing where torch had just enough."""
    write("""
        import threading
        def reserved_mb():
            return int(next(line.split()[1] for line in open("/proc/self/status") if "VmSize" in line)) // 1024
        before, release, working = reserved_mb(), threading.Event(), threading.Barrier(4)
        def work():
            held = bytearray(100_000)
            working.wait()
            release.wait()
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        working.wait()
        print(reserved_mb() - before < 64)
        release.set()
    """)
    limited = f"ulimit -v 3000000; exec {' '.join(DEBUGGER)} run --no-log --quiet train.py"
    assert run_really(["bash", "-c", limited]).stdout == "True\n"
    assert run_plain("train.py").stdout == "False\n"


@pytest.mark.skipif(sys.platform != "linux", reason="the board is a file in memory on Linux")
def test_where_no_file_may_be_as_large_as_ours_the_script_runs_without_us(write: Write) -> None:
    write("import sys; print(__name__, sys.argv[1:], sys.orig_argv[1:], sys.flags)")
    words = ["-B", "-m", "train", "--lr", "0.1"]  # -B: no files are left half compiled
    limited = f"ulimit -f 4; exec {sys.executable} -B -m torch_debugger run {' '.join(words[1:])}"
    watched, plain = run_really(["bash", "-c", limited]), run_really([sys.executable, *words])
    assert (watched.returncode, watched.stdout) == (plain.returncode, plain.stdout)
    assert plain.stdout.startswith("__main__ ['--lr', '0.1'] ['-B', '-m', 'train',")
    assert watched.stderr.count("\n") == 1 and "runs unwatched" in watched.stderr
