"""Imported by the generated programs: writes down what a script can see of its process, its weights and its
random numbers. It stands on its own: it is copied beside the programs."""

import atexit
import builtins
import contextlib
import gc
import hashlib
import json
import os
import signal
import sys
import threading
import warnings

_tensors = []
_optimizers = []
_first = os.getpid()
# Taken now: programs replace what they find in builtins and os.
_open, _write, _close, _getpid, _listdir, _readlink = (os.open, os.write, os.close, os.getpid, os.listdir, os.readlink)


def watch(tensors, optimizers):
    """What is hashed from now on; the lists may still grow."""
    global _tensors, _optimizers
    _tensors, _optimizers = tensors, optimizers


def tell(moment):
    """Appends one line of JSON: everything that is seen now."""
    seen = {"moment": moment, "child": _getpid() != _first}
    for look in LOOKS:
        seen[look.__name__] = None if moment == "start" and look is random_numbers else look()  # not yet seeded
    line = json.dumps(seen, default=str, sort_keys=True).encode() + b"\n"
    number = _open(os.environ["WITNESS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    _write(number, line)
    _close(number)


def weights():
    torch = sys.modules.get("torch")
    if torch is None or not _tensors:
        return None
    digest = hashlib.sha256()
    for tensor in _tensors:
        digest.update(_bytes(torch, tensor))
    for optimizer in _optimizers:
        for state in optimizer.state_dict()["state"].values():
            for name in sorted(state, key=str):
                value = state[name]
                digest.update(_bytes(torch, value) if isinstance(value, torch.Tensor) else repr(value).encode()[:80])
    return digest.hexdigest()[:16]


def _bytes(torch, tensor):
    if tensor.device.type != "cpu" or tensor.layout != torch.strided:
        return repr((tensor.shape, tensor.dtype)).encode()
    with torch.no_grad():
        plain = tensor.detach().contiguous()
        if plain.is_complex():
            plain = torch.view_as_real(plain)
        return plain.reshape(-1).view(torch.uint8).numpy().tobytes()


def random_numbers():
    states = {}
    if "torch" in sys.modules:
        states["torch"] = bytes(sys.modules["torch"].get_rng_state().tolist())
    if "numpy" in sys.modules:
        states["numpy"] = repr(sys.modules["numpy"].random.get_state()[1:3]).encode()
        states["numpy"] += sys.modules["numpy"].random.get_state()[1].tobytes()
    if "random" in sys.modules and hasattr(sys.modules["random"], "getstate"):
        states["random"] = repr(sys.modules["random"].getstate()).encode()
    return {name: hashlib.sha256(state).hexdigest()[:12] for name, state in states.items()}


def threads():
    return sorted(f"{thread.name} daemon={thread.daemon}" for thread in threading.enumerate())


def file_numbers():
    """Where the open ones lead to, whatever their numbers; and those below 3 by number."""
    leads = []
    for number in _listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the number of the listing itself is closed by now
            to = _readlink(f"/proc/self/fd/{number}").split(":")[0]
            if not to.startswith("/dev/shm/torch_"):  # batches: how many wait is up to the workers' pace
                leads.append(f"{number} {to}" if int(number) < 3 else to)
    return sorted(leads)


def next_file_number():
    number = _open("/", os.O_RDONLY)
    _close(number)
    return number


def environment():
    return dict(os.environ)


def arguments():
    return list(sys.argv)


def original_arguments():
    return list(sys.orig_argv)


def import_path():
    return [str(entry) for entry in sys.path]


def importers():
    return [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path + sys.path_hooks]


def flags():
    return {
        name: getattr(sys.flags, name) for name in dir(sys.flags) if not name.startswith(("_", "n_", "count", "index"))
    }


def modules():
    return sorted({name.partition(".")[0] for name in list(sys.modules)})


def signals():
    return {str(int(number)): _name(signal.getsignal(number)) for number in signal.valid_signals()}


def signal_masks():
    names = ("SigBlk", "SigIgn", "SigCgt", "Umask", "NoNewPrivs", "Seccomp")
    with builtins.open("/proc/self/status") as status:
        rows = dict(line.split(":", 1) for line in status)
    masks = {name: rows[name].strip() for name in names if name in rows}
    for name in ("SigBlk", "SigIgn", "SigCgt"):
        own = int(masks[name], 16) & ~(0b11 << 31)  # 32 and 33 are the C library's own: posix_spawn ignores them
        masks[name] = [number for number in range(1, 65) if own >> number - 1 & 1]
    return masks


def hooks():
    found = {
        "excepthook": sys.excepthook,
        "threading.excepthook": threading.excepthook,
        "unraisablehook": sys.unraisablehook,
        "displayhook": sys.displayhook,
        "breakpointhook": sys.breakpointhook,
        "trace": sys.gettrace(),
        "profile": sys.getprofile(),
        "threading.trace": threading._trace_hook,
        "threading.profile": threading._profile_hook,
        "print": builtins.print,
        "input": builtins.input,
        "import": builtins.__import__,
        "asyncgen": sys.get_asyncgen_hooks().firstiter,
    }
    return {name: _name(hook) for name, hook in found.items()}


def monitoring():
    tools = getattr(sys, "monitoring", None)
    return [tools.get_tool(number) for number in range(6)] if tools else None


def _name(thing):
    if thing is None or isinstance(thing, int):
        return repr(thing)
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', type(thing).__name__)}"


def warning_filters():
    return [f"{entry[0]} {entry[1]} {entry[2].__name__} {entry[3]} {entry[4]}" for entry in warnings.filters]


def garbage_collection():
    callbacks = [_name(callback) for callback in gc.callbacks]
    return {
        "enabled": gc.isenabled(), "threshold": gc.get_threshold(), "debug": gc.get_debug(),
        "frozen": bool(gc.get_freeze_count()), "callbacks": callbacks,
    }  # fmt: skip


def torch_settings():
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "backends"):
        return None
    return {
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warn only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "gradients": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "dtype": str(torch.get_default_dtype()),
        "device": str(torch.get_default_device()),
        "anomaly": torch.is_anomaly_enabled(),
        "mkldnn": torch.backends.mkldnn.enabled,
        "cudnn": [torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark],
        "matmul": torch.get_float32_matmul_precision(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "denormal": torch.tensor([1e-310], dtype=torch.float64, device="cpu").mul(1).tolist(),
    }


def interpreter():
    return {
        "recursion": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "bytecode": sys.dont_write_bytecode,
        "executable": sys.executable,
        "prefix": sys.prefix,
        "faulthandler": "faulthandler" in sys.modules and sys.modules["faulthandler"].is_enabled(),
        "tracemalloc": "tracemalloc" in sys.modules and sys.modules["tracemalloc"].is_tracing(),
        "int digits": sys.get_int_max_str_digits(),
        "locale": sys.modules["locale"].setlocale(6) if "locale" in sys.modules else None,
        "builtins": sorted(vars(builtins)),
    }


def process():
    import resource

    try:
        here = os.getcwd()
    except OSError as error:
        here = repr(error)
    return {
        "folder": here,
        "leads its group": os.getpgrp() == _getpid(),
        "leads its session": os.getsid(0) == _getpid(),
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "cores": sorted(os.sched_getaffinity(0)),
        "limits": {n: resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n.startswith("RLIMIT_")}
        if hasattr(resource, "getrlimit")
        else None,
        "alarm": signal.getitimer(signal.ITIMER_REAL)[1],
        "children": _children(),
    }


def _children():
    with builtins.open(f"/proc/self/task/{threading.main_thread().native_id}/children") as file:
        return len(file.read().split())


def main_module():
    main = sys.modules["__main__"]
    names = {name: type(value).__name__ for name, value in list(vars(main).items())}
    names["file"] = getattr(main, "__file__", None)
    names["spec"] = str(getattr(main, "__spec__", None))
    names["is that of multiprocessing"] = sys.modules.get("__mp_main__", main) is main
    return names


def frames_below():
    """What is on the stack under the script's own first frame."""
    frame, below, found = sys._getframe(), [], False
    while frame is not None:
        if found:
            below.append(f"{os.path.basename(frame.f_code.co_filename)} {frame.f_code.co_name}")
        found = found or (frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__")
        frame = frame.f_back
    return below


def streams():
    told = {}
    for name in ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__"):
        stream = getattr(sys, name)
        told[name] = [type(stream).__qualname__] + [
            repr(getattr(stream, detail, None)) for detail in ("encoding", "errors", "line_buffering", "mode", "name")
        ]
    return told


LOOKS = (
    weights, random_numbers, threads, file_numbers, next_file_number, environment, arguments,
    original_arguments, import_path, importers, flags, modules, signals, signal_masks, hooks, monitoring,
    warning_filters, garbage_collection, torch_settings, interpreter, process, main_module, frames_below,
    streams,
)  # fmt: skip

tell("start")
atexit.register(tell, "exit")
