"""Whatever a script does, it ends as `python script.py` would: same output, same errors, same exit code."""

from __future__ import annotations

import re
import sys

import pytest

from tests.cli.conftest import DEBUGGER, FRESH, Done, Write, run_forked, run_plain, run_really, run_watched

KNOWS_ITSELF = """
    '''A docstring.'''
    import inspect, os, signal, sys, threading
    for name in ("torch", "numpy"):
        assert name not in sys.modules, name
    main = sys.modules["__main__"]
    assert vars(main) is globals()
    print(sorted(name for name in globals() if name.startswith("__")))
    print(__name__, __doc__, __file__, __package__, __spec__, type(__loader__), __builtins__)
    print(__annotations__, globals().get("__cached__"))
    print(sys.argv, sys.path, os.getcwd(), [word for word in sys.orig_argv if word != "-B"])
    print(sorted(os.environ.items()), sys.flags, sys.warnoptions, sys.gettrace(), sys.getprofile())
    print([thread.name for thread in threading.enumerate()], sys.excepthook is sys.__excepthook__)
    print(sys.stdout.line_buffering, sys.stdin.isatty())
    print([signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGHUP)])
    def documented(): return 1
    print(inspect.getsource(documented), inspect.signature(input), input.__name__, input.__module__)
    if __name__ == "__main__":
        print("main")
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
    assert (plain.returncode, plain.stdout.splitlines()[-1]) == (0, "main"), plain.stderr
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


def test_the_interpreter_s_own_flags_reach_the_script(write: Write) -> None:
    write("import sys; print(sys.flags.optimize, sys.flags.utf8_mode, sys.warnoptions); assert False")
    python = [sys.executable, "-O", "-X", "utf8", "-W", "error"]
    plain = run_really([*python, "train.py"])
    assert plain.stdout == "1 1 ['error']\n"
    _assert_as(plain, run_really([*python, "-m", "torch_debugger", "run", "--no-log", "--quiet", "train.py"]))
