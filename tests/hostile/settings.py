"""Limits of the process, settings of Python and torch, and functions that the program replaces."""

from __future__ import annotations

from tests.hostile.grammar import Piece


def _limit(name: str, limit: str, value: str, where: str = "setup", **parts: object) -> Piece:
    hard = f"resource.getrlimit(resource.{limit})[1]"
    text = f"import resource\nresource.setrlimit(resource.{limit}, ({value}, {hard}))"
    if limit == "RLIMIT_FSIZE":  # else an import leaves half a compiled module, on which all other programs fail
        text = f"sys.dont_write_bytecode = True\n{text}"
    return Piece(name, takes=(limit,), **{where: text}, **parts)  # type: ignore[arg-type]


def _patched(name: str, owner: str, attribute: str, how: str = "global calls") -> Piece:
    """Replaced by a function that counts its calls; put back at the end."""
    return Piece(name, takes=(f"{owner}.{attribute}",), setup=f"""
original_{name} = {owner}.{attribute}
calls_{name} = []
def counted_{name}(*arguments, **keywords):
    calls_{name}.append(len(arguments))
    return original_{name}(*arguments, **keywords)
{owner}.{attribute} = counted_{name}
""", after=f"""
print({name!r}, len(calls_{name}), {owner}.{attribute} is counted_{name})
{owner}.{attribute} = original_{name}
""")  # fmt: skip


SETTINGS = [
    _limit("few_files", "RLIMIT_NOFILE", "48"),
    _limit("few_files_from_the_start", "RLIMIT_NOFILE", "32", "top"),
    _limit("no_more_files", "RLIMIT_NOFILE", "0",
          after="resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096))"),
    _limit("little_address_space", "RLIMIT_AS",
          "int(open('/proc/self/statm').read().split()[0]) * 4096 + 800 * 2**20"),
    _limit("processor_time", "RLIMIT_CPU", "600"),
    _limit("small_files", "RLIMIT_FSIZE", "4096", after="""
try:
    with open("large.bin", "wb") as file:
        file.write(bytes(10_000))
except OSError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""),
    _limit("small_stack", "RLIMIT_STACK", "1 << 20"),
    _limit("no_cores", "RLIMIT_CORE", "0"),
    _limit("locked_memory", "RLIMIT_MEMLOCK", "1 << 16"),
    Piece("recursion_limit", takes=("recursion",), ready="sys.setrecursionlimit(400)", after="""
def deep(level):
    return 1 + deep(level + 1)
try:
    deep(0)
except RecursionError as error:
    print(error)
sys.setrecursionlimit(1000)
"""),
    Piece("how_deep", takes=("recursion",), after="""
depth = 0
def dive():
    global depth
    depth += 1
    dive()
try:
    dive()
except RecursionError:
    print("deep enough", sys.getrecursionlimit() - depth < 40)
"""),
    Piece("nice", setup="os.nice(3)", after="print(os.nice(0))"),
    Piece("one_core", setup="os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"),
    Piece("no_collection", takes=("gc",), top="import gc\ngc.disable()",
          after="print(gc.isenabled())"),
    Piece("frozen_objects", takes=("gc",), setup="import gc\ngc.freeze()",
          after="print(gc.get_freeze_count() > 0)"),
    Piece("collection_callback", takes=("gc",), setup="""
import gc
phases = []
gc.collect()
gc.callbacks.append(lambda phase, details: phases.append((phase, details["generation"])))
""", after="gc.collect()\nprint(phases[-2:])\ngc.callbacks.clear()"),
    Piece("finds_its_objects", takes=("gc",), after="""
import gc
gc.collect()
print(sum(1 for thing in gc.get_objects() if type(thing) is torch.optim.SGD),
      sum(1 for thing in gc.get_referrers(model) if isinstance(thing, dict)))
"""),
    Piece("reference_counts", after="print([sys.getrefcount(parameter) for parameter in parameters])"),
    Piece("weak_objects_die", after="""
import weakref
extra = nn.Linear(3, 3)
extra_optimizer = torch.optim.SGD(extra.parameters(), lr=0.1)
extra(torch.ones(2, 3)).sum().backward()
extra_optimizer.step()
references = [weakref.ref(extra), weakref.ref(extra_optimizer), weakref.ref(extra.weight)]
del extra, extra_optimizer
print([reference() is None for reference in references])
"""),
    Piece("torch_threads", setup="torch.set_num_threads(2)", after="print(torch.get_num_threads())"),
    Piece("interop_threads", setup="torch.set_num_interop_threads(2)",
          after="print(torch.get_num_interop_threads())"),
    Piece("deterministic", setup="torch.use_deterministic_algorithms(True)"),
    Piece("double_by_default", setup="torch.set_default_dtype(torch.float64)"),
    Piece("meta_by_default",
          after="torch.set_default_device('meta')\nprint(torch.ones(2).device)\ntorch.set_default_device(None)"),
    Piece("device_mode", wrap='with torch.device("cpu"):'),
    Piece("anomaly", wrap="with torch.autograd.set_detect_anomaly(True):"),
    Piece("no_gradients_first", setup="torch.set_grad_enabled(False)", ready="torch.set_grad_enabled(True)"),
    Piece("inference_around_nothing", after="""
with torch.inference_mode():
    frozen = torch.ones(3) * 2
print(frozen.is_inference())
"""),
    Piece("flushes_denormals", setup="torch.set_flush_denormal(True)"),
    Piece("print_options", setup="torch.set_printoptions(precision=2, sci_mode=True)",
          after="print(torch.tensor([1.2345]))"),
    Piece("dispatch_mode", takes=("dispatch",), setup="""
import collections
from torch.utils._python_dispatch import TorchDispatchMode
class Ops(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = collections.Counter()
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen[str(function)] += 1
        return function(*args, **(kwargs or {}))
ops = Ops()
""", wrap="with ops:", after="print(sorted(ops.seen.items()))"),
    Piece("function_mode", takes=("function",), setup="""
import collections
from torch.overrides import TorchFunctionMode
class Functions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = collections.Counter()
    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen[getattr(function, "__name__", str(function))] += 1
        return function(*args, **(kwargs or {}))
functions = Functions()
""", wrap="with functions:", after="print(sorted(functions.seen.items()))"),
    Piece("saved_tensor_hooks", setup="""
packed = []
def pack(tensor):
    packed.append(tuple(tensor.shape))
    return tensor
""", wrap="with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):",
          after="print(len(packed))"),
    Piece("global_module_hooks", setup="""
forwards = []
hook = nn.modules.module.register_module_forward_hook(lambda module, *more: forwards.append(type(module)))
""", after="hook.remove()\nprint(len(forwards), nn.modules.module._has_any_global_hook())"),
    Piece("global_optimizer_hook", setup="""
from torch.optim.optimizer import register_optimizer_step_post_hook
stepped = []
register_optimizer_step_post_hook(lambda *arguments: stepped.append(type(arguments[0]).__name__))
""", after="print(stepped)"),
    Piece("torch_profiler", setup="from torch.profiler import profile", wrap="with profile() as profiled:",
          after="print(sorted({row.key for row in profiled.key_averages() if row.key.startswith('aten::')}))"),
    Piece("autograd_graph_read", after="""
names, node = [], loss_of(make_batch()).grad_fn
while node is not None:
    names.append(node.name())
    node = node.next_functions[0][0] if node.next_functions else None
print(names)
"""),
    Piece("profile_function", takes=("profile",), setup="""
entered = {}
def profile_calls(frame, event, argument):
    if event == "call" and frame.f_globals.get("__name__") == __name__:
        entered[frame.f_code.co_name] = entered.get(frame.f_code.co_name, 0) + 1
""", ready="sys.setprofile(profile_calls)",
          after="print(sys.getprofile() is profile_calls)\nsys.setprofile(None)\nprint(entered)"),
    Piece("trace_function", takes=("trace",), setup="""
lines = {}
def trace_lines(frame, event, argument):
    if frame.f_globals.get("__name__") != __name__:
        return None
    lines[frame.f_code.co_name] = lines.get(frame.f_code.co_name, 0) + 1
    return trace_lines
""", ready="sys.settrace(trace_lines)",
          after="print(sys.gettrace() is trace_lines)\nsys.settrace(None)\nprint(lines)"),
    Piece("monitoring", takes=("monitoring",), setup="""
started = {}
if hasattr(sys, "monitoring"):
    sys.monitoring.use_tool_id(3, "mine")
    def start(code, offset):
        started[code.co_name] = started.get(code.co_name, 0) + (code.co_filename == __file__)
    sys.monitoring.register_callback(3, sys.monitoring.events.PY_START, start)
    sys.monitoring.set_events(3, sys.monitoring.events.PY_START)
""", after="""
if hasattr(sys, "monitoring"):
    sys.monitoring.set_events(3, 0)
    print({name: count for name, count in started.items() if count})
"""),
    Piece("c_profile", takes=("profile",), setup="import cProfile\nprofiler = cProfile.Profile()",
          wrap="with profiler:",
          after="""
import pstats
counted = {key[2]: row[1] for key, row in pstats.Stats(profiler).stats.items() if key[0].endswith("train.py")}
counted.pop("__len__", None)  # a dataset is asked for its length by us as by its loader
print(sorted(counted.items()))
"""),
    Piece("audit_hook", takes=("audit",), top="""
events = []
def audit(event, arguments):
    if event in ("open", "os.fork", "subprocess.Popen", "socket.connect", "os.kill", "import", "exec"):
        if event == "open" and ("site-packages" in str(arguments[0]) or "/lib" in str(arguments[0])):
            return
        if event in ("open", "os.fork", "subprocess.Popen", "socket.connect", "os.kill"):
            events.append(f"{event} {arguments[:1]}".replace(str(os.getpid()), "PID"))
sys.addaudithook(audit)
""", after="""
print([event for event in events if "/proc" not in event or "/self" not in event])
"""),
    Piece("audit_imports", takes=("audit",), ready="""
imported = []
sys.addaudithook(lambda event, arguments: imported.append(arguments[0]) if event == "import" else None)
""", after="print(sorted(name for name in set(imported) if not name.startswith(('torch', 'numpy'))))"),
    Piece("tracemalloc", setup="import tracemalloc\ntracemalloc.start(3)",
          after="print(tracemalloc.is_tracing())\ntracemalloc.stop()"),
    Piece("warnings_are_errors", ready="import warnings\nwarnings.simplefilter('error')",
          after="warnings.simplefilter('default')"),
    Piece("unraisable_hook", setup="""
unraisable = []
sys.unraisablehook = lambda details: unraisable.append(details.exc_type.__name__)
class Bad:
    def __del__(self):
        raise ValueError("in a destructor")
""", step="Bad()", after="print(len(unraisable))"),
    Piece("display_hook", setup="sys.displayhook = lambda value: print('shown', value)",
          after="exec(compile('1 + 1', 'typed', 'single'))"),
    Piece("atexit_order", setup="import atexit\natexit.register(print, 'first registered')",
          last="atexit.register(print, 'last registered')"),
    Piece("atexit_cleared", setup="import atexit\natexit._clear()\natexit.register(print, 'alone')"),
    _patched("item", "torch.Tensor", "item"),
    _patched("backward", "torch.Tensor", "backward"),
    _patched("module_call", "nn.Module", "__call__"),
    _patched("sgd_step", "torch.optim.SGD", "step"),
    _patched("zero_grad", "torch.optim.Optimizer", "zero_grad"),
    _patched("autograd_backward", "torch.autograd", "backward"),
    _patched("named_parameters", "nn.Module", "named_parameters"),
    _patched("named_modules", "nn.Module", "named_modules"),
    _patched("state_dict", "nn.Module", "state_dict"),
    _patched("tensor_repr", "torch.Tensor", "__repr__"),
    _patched("norm", "torch.Tensor", "norm"),
    _patched("isfinite", "torch", "isfinite"),
    _patched("no_grad", "torch.no_grad", "__enter__"),
    _patched("clock", "time", "time"),
    _patched("counter", "time", "perf_counter"),
    _patched("pid", "os", "getpid"),
    _patched("open", "builtins", "open"),
    _patched("print", "builtins", "print"),
    Piece("isinstance_replaced", setup="""
real_isinstance = builtins.isinstance
def own_isinstance(thing, kinds):
    return real_isinstance(thing, kinds)
builtins.isinstance = own_isinstance
""", after="print(isinstance is own_isinstance)\nbuiltins.isinstance = real_isinstance"),
    _patched("import", "builtins", "__import__"),
    Piece("clock_stands_still", takes=("time.time", "time.perf_counter"), setup="""
clocks = time.time, time.monotonic, time.perf_counter
time.time = time.monotonic = time.perf_counter = lambda: 1000.0
""", after="time.time, time.monotonic, time.perf_counter = clocks"),
    Piece("clock_raises", takes=("time.time", "time.perf_counter", "time.monotonic"), setup="""
clocks = time.time, time.monotonic, time.perf_counter
def broken():
    raise SystemExit("no clock")
time.time = time.monotonic = time.perf_counter = broken
""", after="time.time, time.monotonic, time.perf_counter = clocks"),
    Piece("sleep_removed", setup="slept, time.sleep = time.sleep, lambda seconds: None",
          after="time.sleep = slept"),
    Piece("json_broken", setup="import json\ndumps, json.dumps = json.dumps, None", after="json.dumps = dumps"),
    Piece("threads_forbidden", setup="""
import threading
start = threading.Thread.start
def refuse(thread):
    raise RuntimeError("can't start new thread")
""", ready="threading.Thread.start = refuse", after="threading.Thread.start = start",
          takes=("threads_refused",)),
    Piece("modules_removed", after="""
def forget(*packages):
    for name in [name for name in sys.modules if name.startswith(packages)]:
        del sys.modules[name]
forget("torch_debugger", "rich", "psutil")
"""),
    Piece("path_cleared", ready="path, sys.path[:] = list(sys.path), []", after="sys.path[:] = path"),
    Piece("meta_path_replaced", ready="finders, sys.meta_path = sys.meta_path, list(sys.meta_path)",
          after="print(len(sys.meta_path) == len(finders))"),
    Piece("environment_cleared", setup="kept = dict(os.environ)\nos.environ.clear()",
          after="os.environ.update(kept)"),
    Piece("locale", setup="import locale\nlocale.setlocale(locale.LC_ALL, 'C.UTF-8')",
          after="print(locale.getlocale())"),
    Piece("decimal_context", setup="import decimal\ndecimal.getcontext().prec = 3",
          after="print(decimal.Decimal(1) / 3)"),
    Piece("numpy_errors", setup="numpy.seterr(all='raise')", after="print(numpy.geterr())"),
    Piece("float_hooks", after="print(sys.float_repr_style, (0.1).hex(), torch.finfo().eps)"),
    Piece("compiles_nothing", setup="import torch._dynamo", after="print(torch._dynamo.is_compiling())"),
    Piece("custom_op", setup="""
@torch.library.custom_op("hostile::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2
""", after="print(torch.ops.hostile.twice(torch.ones(2)))"),
    Piece("subclass_init", setup="""
subclasses = []
class Base(nn.Module):
    def __init_subclass__(cls, **keywords):
        subclasses.append(cls.__name__)
        super().__init_subclass__(**keywords)
class Child(Base):
    pass
""", after="print(subclasses, Base.__subclasses__() == [Child], sorted(vars(Child)))"),
    Piece("vars_of_the_model", after="""
if isinstance(model, nn.Module):
    print(sorted(vars(model)))
    print(sorted({type(value).__name__ for module in model.modules() for value in vars(module).values()}))
"""),
    Piece("signatures", after="""
import inspect
for function in (torch.optim.SGD.step, nn.Module.__call__, torch.autograd.backward, torch.manual_seed):
    print(inspect.signature(function), function.__qualname__, function.__module__)
print(inspect.getsourcefile(torch.utils.data.DataLoader.__iter__)[-30:])
"""),
]  # fmt: skip
