"""Threads beside the training."""

from __future__ import annotations

from tests.hostile.grammar import Piece

THREADS = [
    Piece("pool_beside", ready="""
import concurrent.futures
pool = concurrent.futures.ThreadPoolExecutor(3, thread_name_prefix="mine")
squares = [pool.submit(pow, number, 2) for number in range(20)]
""", after="print([square.result() for square in squares])"),
    Piece("daemon_beside", ready="""
import threading
ticks = []
def tick():
    while True:
        ticks.append(1)
        time.sleep(0.001)
threading.Thread(target=tick, daemon=True, name="ticking").start()
""", after="print(bool(ticks))"),
    Piece("thread_at_exit", last="""
import threading
def late():
    time.sleep(0.2)
    print("late", loss_of(make_batch()).item())
threading.Thread(target=late).start()
"""),
    Piece("thread_raises", step="""
if step == 5:
    import threading
    failing = threading.Thread(target=lambda: 1 / 0, name="failing")
    failing.start()
    failing.join()
"""),
    Piece("thread_exits", step="""
if step == 5:
    import threading
    leaving = threading.Thread(target=sys.exit, args=(4,), name="leaving")
    leaving.start()
    leaving.join()
"""),
    Piece("own_thread_excepthook", setup="""
import threading
def complain(arguments):
    print("thread failed:", arguments.exc_type.__name__)
threading.excepthook = complain
""", step="""
if step == 3:
    failing = threading.Thread(target=lambda: [][1])
    failing.start()
    failing.join()
"""),
    Piece("threading_settrace", takes=("trace",), setup="""
import threading
traced = []
def trace(frame, event, argument):
    if frame.f_code.co_name == "traced_function":
        traced.append(event)
        return trace
threading.settrace(trace)
def traced_function():
    return 1
""", after="""
one = threading.Thread(target=traced_function)
one.start()
one.join()
threading.settrace(None)
print(traced)
"""),
    Piece("switch_interval", setup="sys.setswitchinterval(1e-6)", after="print(sys.getswitchinterval())"),
    Piece("timers", ready="""
import threading
rung = threading.Event()
timer = threading.Timer(0.01, rung.set)
timer.start()
cancelled = threading.Timer(60, os.abort)
cancelled.daemon = True
cancelled.start()
""", after="""
rung.wait(20)
cancelled.cancel()
cancelled.join()
print(rung.is_set(), timer.finished.is_set())
"""),
    Piece("stack_size", setup="""
import threading
print(threading.stack_size(256 * 1024))
""", after="print(threading.stack_size())"),
    Piece("thread_locals", setup="""
import threading
own = threading.local()
own.value = 3
""",
          after="print(vars(own), threading.main_thread() is threading.current_thread())"),
    Piece("forward_in_threads", ready="""
import threading
heard = []
def listen():
    with torch.no_grad():
        heard.append(nn.Linear(2, 2, device="meta")(torch.empty(3, 2, device="meta")).shape)
listeners = [threading.Thread(target=listen) for _ in range(4)]
for listener in listeners:
    listener.start()
for listener in listeners:
    listener.join()
""", after="print(heard)"),
    Piece("low_level_thread", ready="""
import _thread
started = _thread.allocate_lock()
started.acquire()
_thread.start_new_thread(started.release, ())
""", after="print(started.acquire(timeout=20))"),
    Piece("queue_consumer", ready="""
import queue
import threading
jobs, done = queue.Queue(2), []
def consume():
    while (job := jobs.get()) is not None:
        done.append(job)
consumer = threading.Thread(target=consume)
consumer.start()
""", step="jobs.put(step)", after="""
jobs.put(None)
consumer.join()
print(done)
"""),
]  # fmt: skip
