"""Files, folders, streams, arguments, the environment, and modules that hide others."""

from __future__ import annotations

from tests.hostile.grammar import Piece
from tests.hostile.launches import LAUNCHES

LAUNCHED = [
    Piece(f"launch_{name}", takes=("launch",), launch=name, after="print(__name__, globals().get('__file__'))")
    for name in LAUNCHES
    if name != "script"
]


def _hiding(module: str, text: str = "VALUE = 1\n") -> Piece:
    return Piece(
        f"hides_{module}",
        takes=("launch",),
        files={f"{module}.py": text},
        after=f"""
try:
    import {module}
    print(getattr({module}, "__file__", None), getattr({module}, "VALUE", None))
except RuntimeError as error:
    print(repr(error))
""",
    )


def _variable(name: str, value: str) -> Piece:
    return Piece(f"with_{name.lower()}", environment={name: value}, after=f"print(os.environ[{name!r}])")


def _called_with(name: str, *arguments: str) -> Piece:
    return Piece(name, takes=("arguments", "arguments_changed"), arguments=arguments, after="print(sys.argv[1:])")


FILES = [
    *LAUNCHED,
    *map(_hiding, ("psutil", "rich", "sqlite3", "resource", "PIL", "matplotlib", "fsspec", "werkzeug", "msgspec")),
    _hiding("settings"),
    _hiding("records", "raise RuntimeError('mine')\n"),
    _hiding("cli", "print('imported the wrong one')\n"),
    _hiding("faulthandler", "def is_enabled():\n    return 'mine'\n"),
    _hiding("sitecustomize", "print('customized')\n"),
    _hiding("usercustomize", "raise SystemExit(8)\n"),
    _variable("PYTHONWARNINGS", "error::ResourceWarning"),
    _variable("PYTHONOPTIMIZE", "1"),
    _variable("PYTHONHASHSEED", "7"),
    _variable("PYTHONUNBUFFERED", "1"),
    _variable("PYTHONDONTWRITEBYTECODE", "1"),
    _variable("PYTHONFAULTHANDLER", "1"),
    _variable("PYTHONNOUSERSITE", "1"),
    _variable("PYTHONIOENCODING", "latin-1:replace"),
    _variable("PYTHONUTF8", "0"),
    _variable("PYTHONSAFEPATH", "1"),
    _variable("PYTHONDEVMODE", "1"),
    _variable("PYTHONTRACEMALLOC", "2"),
    _variable("PYTHONPROFILEIMPORTTIME", "0"),
    _variable("PYTHONBREAKPOINT", "0"),
    _variable("LC_ALL", "C"),
    _variable("TORCH_LOGS", "no_such_log"),
    _variable("TORCH_SHOW_CPP_STACKTRACES", "1"),
    _called_with("own_quiet", "--quiet", "--json", "x.json"),
    _called_with("own_dashes", "--", "-m", "nothing", "--"),
    _called_with("odd_arguments", "", " ", "a b", "ä", "-", "--log-dir"),
    Piece("changes_folder", setup='os.makedirs("deep/er")\nos.chdir("deep")', after="print(os.getcwd())"),
    Piece("removes_its_folder", takes=("launch", "cwd"), ready="""
import shutil
os.mkdir("gone")
os.chdir("gone")
os.rmdir("../gone")
""", after="""
try:
    print(os.getcwd())
except FileNotFoundError as error:
    print(error)
os.chdir("/")
"""),
    Piece("read_only_folder", after='os.chmod(".", 0o555)\nprint(oct(os.stat(".").st_mode))'),
    Piece("closes_stdin", takes=("stdin",), top="os.close(0)",
          after="print(os.open('/dev/null', os.O_RDONLY))"),
    Piece("closes_stdout", takes=("stdout",), after="sys.stdout.flush()\nos.close(1)",
          last="os.open('/dev/null', os.O_WRONLY)"),
    Piece("closes_stdout_object", takes=("stdout",), last="sys.stdout.close()"),
    Piece("closes_stderr", takes=("stderr",), step="if step == 4:\n    os.close(2)"),
    Piece("closes_all_numbers", takes=("numbers",), step="if step == 6:\n    os.closerange(3, 256)"),
    Piece("closes_all_numbers_first", takes=("numbers",), top="os.closerange(3, 4096)"),
    Piece("uses_a_free_number", takes=("numbers",), after="""
null = os.open("/dev/null", os.O_RDWR)
for number in range(20, 24):
    os.dup2(null, number)
    os.close(number)
os.close(null)
"""),
    Piece("takes_low_numbers", takes=("numbers",), top="""
null = os.open("/dev/null", os.O_RDWR)
for number in range(3, 10):
    os.dup2(null, number)
""", after="""
for number in range(3, 10):
    os.write(number, b"mine")
    os.close(number)
"""),
    Piece("asks_for_numbers", takes=("numbers",), after="""
opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(4)]
print(opened)
for number in opened:
    os.close(number)
"""),
    Piece("stdout_as_text", takes=("stdout",), setup="import io\nreal, sys.stdout = sys.stdout, io.StringIO()",
          after="""
said, sys.stdout = sys.stdout.getvalue(), real
print(len(said) > 10)
"""),
    Piece("stderr_as_text", takes=("stderr",), setup="import io\nsys.stderr = io.StringIO()",
          after="print(repr(sys.stderr.getvalue()))"),
    Piece("stdout_into_a_file", takes=("stdout",), setup="""
kept = os.dup(1)
sys.stdout.flush()
os.dup2(os.open("out.txt", os.O_WRONLY | os.O_CREAT), 1)
""", after="""
sys.stdout.flush()
os.dup2(kept, 1)
os.close(kept)
with open("out.txt") as written:
    print(written.read(), end="")  # what may differ there is what may differ on stdout
os.remove("out.txt")
"""),
    Piece("stderr_into_stdout", takes=("stderr", "stdout"), top="os.dup2(1, 2)",
          after='sys.stdout.flush()\nprint("to stderr", file=sys.stderr)'),
    Piece("stderr_into_a_file", takes=("stderr",),
          setup="os.dup2(os.open('err.txt', os.O_WRONLY | os.O_CREAT), 2)",
          after='print("an error", file=sys.stderr)'),
    Piece("no_streams", takes=("stdout", "stderr"), setup="sys.stdout.flush()\nsys.stdout = sys.stderr = None"),
    Piece("tee", takes=("stdout",), setup="""
class Tee:
    def __init__(self, stream):
        self.stream, self.written = stream, 0
    def write(self, text):
        self.written += len(text)
        return self.stream.write(text)
    def flush(self):
        self.stream.flush()
sys.stdout, sys.stderr = Tee(sys.stdout), Tee(sys.stderr)
""", after="sys.stdout, told = sys.stdout.stream, sys.stdout.written\nprint(told)"),
    Piece("reads_stdin", takes=("stdin",), stdin="one\ntwo\nthree\n",
          setup="print(input('name? '), sys.stdin.readline())",
          after="print(sys.stdin.read())"),
    Piece("stdin_left_unread", takes=("stdin",), stdin="rm -rf nothing\n" * 100,
          after="print(sys.stdin.isatty())"),
    Piece("large_output", takes=("stdout",),
          after='print("x" * 3_000_000)\nsys.stderr.write("y" * 300_000 + "\\n")'),
    Piece("binary_output", takes=("stdout",),
          after='sys.stdout.buffer.write(bytes(range(256)))\nsys.stderr.buffer.write(bytes(range(128, 256)))'),
    Piece("partial_lines", step='print(end=".")\nprint("\\r", step, end="", file=sys.stderr)'),
    Piece("speaks_like_us", step='print("torch-debugger: step", step, file=sys.stderr)'),
    Piece("tempfiles", after="""
import tempfile
with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as file:
    torch.save([parameter.detach() for parameter in parameters], os.path.join(folder, "weights.pt"))
    print(len(os.listdir(folder)), os.path.exists(file.name))
"""),
    Piece("umask", setup="os.umask(0o077)", after='open("private.txt", "w").close()'),
    Piece("lock_file", setup="""
import fcntl
locked = open("lock", "w")
fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
""", after="locked.close()\nos.unlink('lock')"),
    Piece("saves_checkpoints", step="""
if step % 4 == 0:
    torch.save({"step": step, "weights": [parameter.detach() for parameter in parameters]}, f"step_{step}.pt")
"""),
    Piece("lists_its_folder", after="print(sorted(os.listdir('.')))"),
    Piece("future_annotations", takes=("head",), head="from __future__ import annotations\n",
          after="print(annotations)"),
    Piece("docstring", takes=("head",), head='"""What this script is for."""\n', after="print(__doc__)"),
    Piece("source_of_main", after="""
import inspect
print(len(inspect.getsource(make_batch)), inspect.getsourcelines(make_batch)[1] > 0)
"""),
    Piece("pickles_from_main", top="class Kept:\n    value = 3\n", after="""
import copy
import pickle
print(Kept.__module__, pickle.loads(pickle.dumps(Kept())).value, len(copy.deepcopy(parameters)))
"""),
    Piece("imports_main", after="""
import __main__
print(__main__ is sys.modules["__main__"], __main__.__name__, hasattr(__main__, "witness"))
"""),
    Piece("runs_a_second_script", files={"second.py": "print(__name__, 2 + 2)\n"}, takes=("launch",), after="""
import runpy
print(sorted(runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "second.py")))[-1])
"""),
    Piece("logging", setup="""
import logging
logging.basicConfig(level=logging.DEBUG, format="%(levelname)s %(name)s %(message)s", stream=sys.stdout)
""", step="logging.getLogger('mine').debug('step %d', step)", after="print(logging.root.handlers)"),
    Piece("warns_once",
          step="import warnings\nwarnings.warn('a warning of mine')\nwarnings.warn(f'step {step}')"),
    Piece("changes_its_own_file", takes=("launch",), after="open(__file__, 'w').write('nothing = 1\\n')"),
]  # fmt: skip
