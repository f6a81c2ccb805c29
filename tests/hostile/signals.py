"""Signals, timers and faulthandler."""

from __future__ import annotations

from tests.hostile.grammar import Piece

USER_1 = "os.kill(os.getpid(), signal.SIGUSR1)"

SIGNALS = [
    Piece("function_handler", takes=("usr1",), setup="""
import signal
caught = []
signal.signal(signal.SIGUSR1, lambda number, frame: caught.append(number))
""", step=USER_1, after="print(caught)"),
    Piece("callable_handler", takes=("usr1",), setup="""
import signal
class Handler:
    def __init__(self):
        self.count = 0
    def __call__(self, number, frame):
        self.count += 1
handler = Handler()
signal.signal(signal.SIGUSR1, handler)
""", step=USER_1, after="print(handler.count, signal.getsignal(signal.SIGUSR1) is handler)"),
    Piece("partial_handler", takes=("usr2",), setup="""
import functools
import signal
noted = []
def note(where, number, frame):
    where.append(frame.f_code.co_name)
signal.signal(signal.SIGUSR2, functools.partial(note, noted))
""", step="signal.raise_signal(signal.SIGUSR2)", after="print(noted)"),
    Piece("one_shot_handler", takes=("usr2",), setup="""
import signal
def once(number, frame):
    print("once", number)
    signal.signal(number, signal.SIG_IGN)
signal.signal(signal.SIGUSR2, once)
""", step="os.kill(os.getpid(), signal.SIGUSR2)", after="print(signal.getsignal(signal.SIGUSR2))"),
    Piece("handler_raises", takes=("usr1",), setup="""
import signal
class Told(Exception):
    pass
def tell(number, frame):
    raise Told(frame.f_code.co_name)
signal.signal(signal.SIGUSR1, tell)
""", step=f"""
try:
    {USER_1}
    time.sleep(0.5)
except Told as told:
    print("told in", told)
"""),
    Piece("alarm_counts", takes=("alarm",), setup="""
import signal
rings = []
signal.signal(signal.SIGALRM, lambda number, frame: rings.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
""", after="""
while not rings:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
print(bool(rings))
"""),
    Piece("alarm_raises", takes=("alarm",), setup="""
import signal
class TooLate(BaseException):
    pass
def too_late(number, frame):
    raise TooLate
signal.signal(signal.SIGALRM, too_late)
""", after="""
for attempt in range(20):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        while True:
            loss_of(make_batch())
    except TooLate:
        pass
torch.manual_seed(1)
print("twenty attempts", type(signal.getsignal(signal.SIGALRM)).__name__)
"""),
    Piece("virtual_timer", takes=("vtalarm",), setup="""
import signal
turns = []
signal.signal(signal.SIGVTALRM, lambda number, frame: turns.append(1))
signal.signal(signal.SIGPROF, lambda number, frame: turns.append(1))
signal.setitimer(signal.ITIMER_VIRTUAL, 0.003, 0.003)
signal.setitimer(signal.ITIMER_PROF, 0.003, 0.003)
""", after="""
signal.setitimer(signal.ITIMER_VIRTUAL, 0)
signal.setitimer(signal.ITIMER_PROF, 0)
"""),
    Piece("terminate_handled", takes=("term",), setup="""
import signal
def stop(number, frame):
    print("saving", number)
    sys.exit(143)
signal.signal(signal.SIGTERM, stop)
""", step="if step == 7:\n    os.kill(os.getpid(), signal.SIGTERM)"),
    Piece("terminate_unhandled", takes=("term", "ending"), step="""
if step == 7:
    import signal
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGTERM)
"""),
    Piece("hangup_unhandled", takes=("ending",), last="""
import signal
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGHUP)
"""),
    Piece("interrupt_uncaught", takes=("int", "ending"), step="""
if step == 7:
    import signal
    os.kill(os.getpid(), signal.SIGINT)
"""),
    Piece("interrupt_caught", takes=("int",), step="""
if step == 7:
    import signal
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)
    except KeyboardInterrupt:
        print("interrupted, goes on")
"""),
    Piece("interrupt_ignored", takes=("int",), setup="""
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
""", step="os.kill(os.getpid(), signal.SIGINT)", after="print(signal.getsignal(signal.SIGINT))"),
    Piece("interrupt_default", takes=("int", "ending"), setup="""
import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
""", last="sys.stdout.flush()\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)"),
    Piece("wakeup_number", takes=("wakeup", "usr1"), setup="""
import signal
import socket
left, right = socket.socketpair()
left.setblocking(False)
signal.set_wakeup_fd(left.fileno())
signal.signal(signal.SIGUSR1, lambda number, frame: None)
""", step=USER_1, after="print(len(right.recv(100)), signal.set_wakeup_fd(-1) == left.fileno())"),
    Piece("masked", setup="""
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG, signal.SIGWINCH, signal.SIGRTMIN + 2})
""", after="print(sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))))"),
    Piece("sigwait", setup="""
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})
""", step="""
os.kill(os.getpid(), signal.SIGWINCH)
assert signal.sigwait({signal.SIGWINCH}) == signal.SIGWINCH
""", after="print(signal.sigpending())"),
    Piece("real_time_signal", setup="""
import signal
real_time = []
for number in range(int(signal.SIGRTMIN), int(signal.SIGRTMAX) + 1):
    signal.signal(number, lambda number, frame: real_time.append(number))
""", step="""
for number in (signal.SIGRTMIN, signal.SIGRTMIN + 5, signal.SIGRTMAX):
    signal.raise_signal(number)
""", after="print(real_time)"),
    Piece("each_signal_by_default", takes=("waits", "child"), after="""
import signal
statuses = []
sys.stdout.flush()
# Not those that stop a process, and not 61, by which a process and its forks are asked for their stacks.
left_out = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, 61}
for number in sorted(signal.valid_signals() - left_out):
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.kill(os.getpid(), number)
        time.sleep(0.01)
        os._exit(0)
    statuses.append((int(number), os.waitpid(child, 0)[1] & 127))
print(statuses)
"""),
    Piece("every_signal", takes=("int", "term", "usr1", "usr2", "alarm", "child"), setup="""
import signal
every = []
for number in sorted(signal.valid_signals()):
    if number not in (4, 7, 8, 9, 11, 19):
        signal.signal(number, lambda number, frame: every.append(int(number)))
""", after="""
for number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGXCPU, signal.SIGIO, signal.SIGPWR, signal.SIGSYS):
    os.kill(os.getpid(), number)
print(every)
"""),
    Piece("child_handler", takes=("child",), setup="""
import signal
import subprocess
ended = []
signal.signal(signal.SIGCHLD, lambda number, frame: ended.append(number))
""", after='subprocess.run(["true"])\nprint(bool(ended))'),
    Piece("child_ignored", takes=("child",), setup="""
import signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
""", after="""
child = os.fork()
if child == 0:
    os._exit(3)
try:
    print(os.waitpid(child, 0))
except ChildProcessError as error:
    print(error)
"""),
    Piece("faulthandler_enabled", setup="""
import faulthandler
faulthandler.enable()
""", after="print(faulthandler.is_enabled())"),
    Piece("faulthandler_registered", takes=("usr1", "fault_user"), setup="""
import faulthandler
import signal
dumped = open("dump.txt", "w+")
faulthandler.register(signal.SIGUSR1, dumped, all_threads=False)
""", step="if step == 5:\n    " + USER_1 + """
    dumped.seek(0)
    print(dumped.readlines()[:2])
    dumped.truncate(0)  # who is below the script's first frame is another matter
""", after="print(faulthandler.unregister(signal.SIGUSR1))"),
    Piece("faulthandler_later", setup="""
import faulthandler
late = open("late.txt", "w")
faulthandler.dump_traceback_later(120, file=late)
""", after="faulthandler.cancel_dump_traceback_later()"),
    Piece("exception_from_a_thread", setup="""
import ctypes
import threading
class Asked(Exception):
    pass
def ask():
    time.sleep(0.02)
    whom = ctypes.c_ulong(threading.main_thread().ident)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(whom, ctypes.py_object(Asked))
""", after="""
asking = threading.Thread(target=ask)
asking.start()
try:
    for _ in range(10**9):
        loss_of(make_batch())
except Asked:
    print("asked to stop")
asking.join()
torch.manual_seed(1)
"""),
    Piece("aborts", takes=("ending",), last="sys.stdout.flush()\nos.abort()"),
    Piece("killed", takes=("ending",),
          last="import signal\nsys.stdout.flush()\nos.kill(os.getpid(), signal.SIGKILL)"),
    Piece("crashes_in_c", takes=("ending",), last="import ctypes\nsys.stdout.flush()\nctypes.string_at(0)"),
    Piece("pipe_breaks", takes=("pipe",), step="""
if step == 4:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        os.write(writer, b"x")
    except BrokenPipeError as error:
        print(error)
    os.close(writer)
"""),
]  # fmt: skip
