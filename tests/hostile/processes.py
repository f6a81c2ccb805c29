"""Other processes, and the many ways to end."""

from __future__ import annotations

from tests.hostile.grammar import Piece

FORK = """
sys.stdout.flush()
child = os.fork()
if child == 0:
    {child}
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def _fork(name: str, child: str, where: str = "after") -> Piece:
    text = FORK.replace("{child}", child.strip().replace("\n", "\n    "))
    return Piece(name, takes=("waits",), **{where: text})  # type: ignore[arg-type]


def _ends(name: str, last: str, **parts: str) -> Piece:
    return Piece(name, takes=("ending",), last=last, **parts)  # type: ignore[arg-type]


def _ends_in_a_step(name: str, statement: str, **parts: str) -> Piece:
    indented = statement.replace("\n", "\n    ")
    return Piece(name, takes=("ending",), step=f"if step == 8:\n    {indented}", **parts)  # type: ignore[arg-type]


PROCESSES = [
    _fork("fork_exits_hard", 'os.write(1, b"child\\n")\nos._exit(3)'),
    _fork("fork_exits_softly", 'print("child", len(parameters))\nsys.exit(5)'),
    _fork("fork_trains", 'optimizers[:] = []\ntrain()\nsys.stdout.flush()\nos._exit(0)'),
    _fork("fork_raises", "1 / 0"),
    _fork("fork_before_the_training", 'print("child", random.random())\nsys.exit(0)', "setup"),
    Piece("fork_in_a_step", takes=("waits",), step="""
if step == 5:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        loss_of(make_batch()).backward()
        os._exit(7)
    print(os.waitpid(child, 0)[1])
"""),
    Piece("parent_leaves_child_trains", takes=("ending", "waits"), last="""
sys.stdout.flush()
if os.fork():
    os._exit(0)
time.sleep(0.3)
print("the child speaks last")
"""),
    Piece("runs_python", after="""
import subprocess
print(subprocess.run([sys.executable, "-c", "import sys; print(sys.argv, sys.flags)"], capture_output=True))
"""),
    Piece("runs_python_with_torch", after="""
import subprocess
small = "import torch; x = torch.ones(2, requires_grad=True); x.sum().backward(); print(x.grad)"
print(subprocess.run([sys.executable, "-c", small], capture_output=True, text=True))
"""),
    Piece("runs_the_shell", step="""
if step == 3:
    import subprocess
    os.system("echo to the same stdout")
    print(subprocess.check_output("ls | wc -l; echo $OMP_NUM_THREADS; ulimit -n", shell=True))
"""),
    Piece("inherits_numbers", after="""
import subprocess
reader, writer = os.pipe()
os.set_inheritable(writer, True)
subprocess.run(["sh", "-c", f"echo through >&{writer}"], close_fds=False)
os.close(writer)
print(os.read(reader, 20))
print(subprocess.check_output(["ls", "/proc/self/fd"], close_fds=False))
"""),
    Piece("fork_and_exec_lists_numbers", after="""
sys.stdout.flush()
child = os.fork()
if child == 0:
    os.execvp("ls", ["ls", "/proc/self/fd"])
os.waitpid(child, 0)
"""),
    Piece("multiprocessing_fork", top="""
import multiprocessing
def double(number):
    return number * 2
""", after="""
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool:
    print(pool.map(double, range(8)))
"""),
    Piece("multiprocessing_process", top="""
import multiprocessing
def put(queue):
    queue.put(os.getpid() != os.getppid())
""", after="""
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=put, args=(queue,))
process.start()
print(queue.get(timeout=30))
process.join()
print(process.exitcode, multiprocessing.active_children())
"""),
    Piece("multiprocessing_spawn", guarded=True, top="""
import multiprocessing
def report(number):
    print("spawned", number, sys.argv, __name__)
""", after="""
spawned = multiprocessing.get_context("spawn").Process(target=report, args=(3,))
spawned.start()
spawned.join()
print(spawned.exitcode)
"""),
    Piece("executes_itself_again", takes=("exec", "arguments_changed"), top="""
if "--again" not in sys.argv:
    print("first time", sys.argv)
    sys.stdout.flush()
    script = sys.argv[0] if os.path.exists(sys.argv[0]) else "-V"
    os.execv(sys.executable, [sys.executable, script, "--again"])
"""),
    Piece("executes_another", takes=("ending",), last="""
sys.stdout.flush()
os.execvp("sh", ["sh", "-c", "echo the shell ends it; exit 6"])
"""),
    Piece("double_fork", takes=("waits",), after="""
sys.stdout.flush()
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        time.sleep(0.1)
        with open("daemon.txt", "w") as file:
            file.write("done")
    os._exit(0)
print(os.waitpid(child, 0)[1])
while not os.path.exists("daemon.txt") or os.path.getsize("daemon.txt") < 4:
    time.sleep(0.01)
"""),
    Piece("own_session", setup="""
import contextlib
with contextlib.suppress(PermissionError):  # who leads a session already may not
    os.setpgid(0, 0)
"""),
    Piece("waits_for_any_child", takes=("waits",), after="""
children = [os.fork() for _ in range(1)]
if children[0] == 0:
    os._exit(2)
print(os.waitpid(-1, 0)[1])
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError as error:
    print(error)
"""),
    Piece("no_children_at_all", takes=("waits",), step="""
if step in (0, 6):
    try:
        print(os.wait())
    except ChildProcessError as error:
        print(error)
"""),
    Piece("kills_its_group", takes=("ending", "term"), setup="""
import signal
def one_of_us(number, frame):
    sys.exit(9)
signal.signal(signal.SIGTERM, one_of_us)
os.setpgid(0, 0) if os.getpgrp() != os.getpid() and os.getsid(0) != os.getpid() else None
""", last="os.killpg(os.getpgrp(), signal.SIGTERM)\ntime.sleep(1)"),
    Piece("outliving_child", last="""
sys.stdout.flush()
if os.fork() == 0:
    time.sleep(0.4)
    os.write(1, b"outlived\\n")
    os._exit(0)
"""),
    Piece("popen_not_waited_for", step="""
if step == 2:
    import subprocess
    ended = subprocess.Popen(["true"])
""", after="print(ended.wait())"),
    Piece("becomes_subreaper", after="""
import ctypes
print(ctypes.CDLL(None).prctl(36, 1, 0, 0, 0))
"""),
    Piece("dies_with_parent_flag", after="""
import ctypes
flag = ctypes.c_int(-1)
ctypes.CDLL(None).prctl(2, ctypes.byref(flag))
print("parent death signal", flag.value)
"""),
    _ends_in_a_step("exits_hard_mid_way", "sys.stdout.flush()\nos._exit(4)"),
    _ends_in_a_step("exits_with_a_number", "sys.exit(3)"),
    _ends_in_a_step("exits_with_text", 'sys.exit("no more data")'),
    _ends_in_a_step("exits_with_none", "raise SystemExit(None)"),
    _ends_in_a_step("exits_with_a_large_number", "sys.exit(1000)"),
    _ends_in_a_step("exits_with_an_object", "raise SystemExit(['a', 'list'])"),
    _ends_in_a_step("quits", "quit()"),
    _ends_in_a_step("raises_mid_way", "raise ValueError('a bad batch')"),
    _ends_in_a_step("raises_from", "try:\n    {}['loss']\nexcept KeyError as missing:\n"
                    "    raise RuntimeError('no loss') from missing"),
    _ends_in_a_step("misses_in_a_module", "os.pathh.join('a')"),
    _ends_in_a_step("misses_in_a_tensor", "parameters[0].graad"),
    _ends_in_a_step("misses_in_an_optimizer", "optimizers[0].zero_grads()"),
    _ends_in_a_step("misses_a_name", "print(optimizerss)"),
    _ends_in_a_step("misses_a_key", "{'a': 1}['b']"),
    _ends_in_a_step("raises_in_a_loader", "list(torch.utils.data.DataLoader([1, None]))"),
    _ends_in_a_step("raises_in_a_closure", "optimizers[0].step(lambda: 1 / 0)"),
    Piece("prints_what_it_caught", step="caught()", setup="""
import traceback
def caught():
    for act in (
        lambda: list(torch.utils.data.DataLoader([1, None])), lambda: optimizers[0].step(lambda: 1 / 0),
        lambda: torch.ones(2, requires_grad=True).backward(), lambda: os.pathh, lambda: torch.optim.SGD([], 1),
        lambda: nn.Linear(2, 2).load_state_dict({}), lambda: torch.manual_seed("one"),
    ):
        try:
            act()
        except Exception:
            traceback.print_exc()
"""),
    _ends_in_a_step("raises_a_group", "raise ExceptionGroup('several', [ValueError(1), TypeError('two')])"),
    _ends_in_a_step("raises_unprintable", "raise Unprintable()", setup="""
class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("cannot be told")
"""),
    _ends_in_a_step("wrong_shape", "torch.ones(2, 3) @ torch.ones(2, 3)"),
    _ends_in_a_step("assertion_with_notes",
          "error = AssertionError('x')\nerror.add_note('look here')\nraise error"),
    _ends_in_a_step("recursion_without_end", "endless = lambda: endless()\nendless()"),
    _ends_in_a_step("syntax_error_in_exec", "exec('def broken(:')"),
    _ends("exit_in_atexit", "import atexit\natexit.register(lambda: sys.exit(6))"),
    _ends("raise_in_atexit", "import atexit\natexit.register(lambda: 1 / 0)"),
    _ends("hard_exit_in_atexit", "import atexit\natexit.register(lambda: (sys.stdout.flush(), os._exit(11)))"),
    _ends("exit_in_excepthook", "raise ValueError('caught by the hook')", setup="""
def leave(kind, value, traceback):
    print("hook:", kind.__name__, value)
    sys.exit(12)
sys.excepthook = leave
"""),
    _ends("own_excepthook", "raise ValueError('for the hook')", setup="""
def hook(kind, value, traceback):
    print("hook:", kind.__name__, value, traceback.tb_lineno > 0, traceback.tb_frame.f_code.co_name)
sys.excepthook = hook
"""),
    _ends("interrupt_at_the_end", "raise KeyboardInterrupt"),
    _ends("exit_in_finally", "try:\n    1 / 0\nfinally:\n    sys.exit(2)"),
    _ends("exit_in_a_destructor",
          "class Last:\n    def __del__(self):\n        sys.exit(4)\nit = Last()\ndel it"),
]  # fmt: skip
