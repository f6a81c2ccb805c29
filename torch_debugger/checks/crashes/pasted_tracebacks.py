"""A pasted traceback: numbers of torch's message, taken where the lines of the traceback agree with it.

There are no tensors here, so that much stays unknown; each explanation says what.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from torch_debugger.checks.crashes.explanation import Blame, first_of, line_text, place_text, shape_text, user_frame
from torch_debugger.records import CrashFact, CrashFrame, Place

_CONFIDENCE, _BARE_CONFIDENCE = 0.8, 0.6
MORE = "Paste the whole traceback, or run the script under `torch-debugger run`, for the line and its shapes."
_CODE_LENGTH = 120
_OWN_RAISE = re.compile(r"raise\b")


@dataclass(frozen=True, slots=True)
class Reading:
    """A message of torch's, and the user's line that led to it."""

    crash: CrashFact
    frame: CrashFrame | None  # of a message without a traceback there is none
    match: re.Match[str]

    @property
    def code(self) -> str:
        """The expression that raised, where carets mark it, else its line."""
        if self.frame is None:
            return ""
        return self.frame.failing or " ".join(self.frame.code.split())[:_CODE_LENGTH]

    @property
    def at(self) -> str:
        """`self.fc1(x)` at net.py:31"""
        if self.frame is None:
            return "a line of yours"
        return f"`{self.code}` at {place_text(self.place)}" if self.code else place_text(self.place)

    @property
    def place(self) -> Place:
        return self.crash.place

    def number(self, group: int) -> int:
        return int(self.match[group])

    def sizes(self, group: int) -> tuple[int, ...]:
        return tuple(int(size) for size in re.findall(r"-?\d+", self.match[group]))

    def blame(self, message: str, why: str, fix: str, unknown: str, **evidence: float | str) -> Blame:
        if self.frame is None:
            return Blame(
                message=f"From the message alone: {message}",
                why=why,
                fix=f"{fix} Not known from the message: which line it was, and {unknown}. {MORE}",
                where=self.place,
                evidence=dict(evidence),
                confidence=_BARE_CONFIDENCE,
            )
        return Blame(
            message=f"From the text alone: {message}",
            why=why,
            fix=f"{fix} Not known from the text: {unknown}. `torch-debugger run` on the script shows it.",
            where=self.place,
            evidence={**evidence, "line": line_text(self.place)},
            confidence=_CONFIDENCE,
        )


def read(crash: CrashFact, pattern: str, *, through: str = "", line: str = "") -> Reading | None:
    """The message, when it came out of torch: through files, or from a line, that this message comes from."""
    frame = user_frame(crash)
    if crash.pasted and not crash.frames:
        found = re.search(pattern, crash.message)
        return Reading(crash, None, found) if found is not None else None
    if not crash.pasted or frame is None or _OWN_RAISE.match(frame.code):
        return None
    behind = [each.file for each in crash.frames[len(crash.frames) - crash.frames[::-1].index(frame) :]]
    if not all("/torch/" in file for file in behind):
        return None
    came_through = bool(through) and any(re.search(through, file) for file in behind)
    stands_there = bool(line) and not behind and re.search(line, frame.failing or frame.code) is not None
    match = re.search(pattern, crash.message)
    return Reading(crash, frame, match) if match is not None and (came_through or stands_there) else None


def from_text(
    pattern: str, *, through: str = "", line: str = ""
) -> Callable[[Callable[[Reading], Blame | None]], Callable[[CrashFact], Blame | None]]:
    """Make a crash's explainer of a function that explains this message of torch's."""

    def decorate(explain: Callable[[Reading], Blame | None]) -> Callable[[CrashFact], Blame | None]:
        def explain_crash(crash: CrashFact) -> Blame | None:
            found = read(crash, pattern, through=through, line=line)
            return explain(found) if found is not None else None

        return explain_crash

    return decorate


# Pasted tracebacks whose message says it all: what to say of each, as data.
@dataclass(frozen=True, slots=True)
class TextRule:
    """A message of torch's, the files or the line it comes from, and the words; named groups fill them in."""

    pattern: str
    message: str  # {at} is the user's line
    why: str
    fix: str
    unknown: str
    through: str = ""
    line: str = ""
    outside: str = ""  # a file of which no frame may be: there the same message means something else

    def __call__(self, crash: CrashFact) -> Blame | None:
        if self.outside and any(re.search(self.outside, frame.file) for frame in crash.frames):
            return None
        reading = read(crash, self.pattern, through=self.through, line=self.line)
        if reading is None:
            return None
        words = {name: text for name, text in reading.match.groupdict().items() if text is not None}
        message, why, fix = (text.format(at=reading.at, **words) for text in (self.message, self.why, self.fix))
        return reading.blame(message, why, fix, self.unknown, **words)


def explain_by(*rules: TextRule) -> Callable[[CrashFact], Blame | None]:
    """An explainer that tries these rules in their order."""
    return lambda crash: first_of(rule(crash) for rule in rules)


# Messages pasted alone, without a traceback: what they say alone. With a traceback its lines decide.
_VALUES = "the values that met there"

explain_message_numpy = TextRule(
    pattern=r"can't convert (?P<device>\w+)(?::\d+)? device type tensor to numpy",
    message="a tensor on the device {device} was to become a numpy array.",
    why="numpy reads the memory of the CPU.",
    fix="Write `.detach().cpu().numpy()`.",
    unknown="which tensor",
)
explain_message_worker = TextRule(
    pattern=r"DataLoader worker \(pid.*?\) (?:is killed by signal|exited unexpectedly)",
    message="a worker process of a DataLoader ended in the middle of its work.",
    why="Most often the machine ran out of memory or of shared memory (/dev/shm), or the dataset crashed in C.",
    fix="Try `num_workers=0`: an exception of the dataset then shows where it is raised. If that runs, use fewer "
    "workers or give the container more shared memory (`--shm-size`).",
    unknown="what ended it",
)
explain_message_collective = TextRule(
    pattern=r"[Ww]atchdog caught collective operation timeout.*?OpType=(?P<operation>\w+)",
    message="a rank waited in {operation} for the others until the time was up.",
    why="Another rank never came to the same collective: it failed, had fewer batches, or took another branch.",
    fix="Look at the first error of the other ranks; every rank must make the same collectives in the same order. "
    "Run all ranks under `torch-debugger run`, which says who did not come.",
    unknown="which rank did not come",
)
explain_message_memory = TextRule(
    pattern=r"CUDA out of memory\. Tried to allocate (?P<asked>[\d.]+ \w+)",
    message="{asked} more were asked for than the GPU had left.",
    why="Weights, gradients, optimizer state and the activations of the batch share the memory of the GPU.",
    fix="Halve the batch and accumulate gradients over two steps; use bf16 autocast; add up `loss.item()` and not "
    "`loss`. `torch-debugger rehearse` says how large a batch fits.",
    unknown="what holds the memory",
)
explain_message_kernel = TextRule(
    pattern=r"CUDA error: (?P<error>device-side assert triggered|misaligned address|"
    r"an illegal memory access was encountered)",
    message='a kernel on the GPU failed: "{error}".',
    why="Kernels run behind the program, so the line of the traceback may be a later one. Most often an index or a "
    "label is out of range.",
    fix="Run the script once on the CPU, or with `CUDA_LAUNCH_BLOCKING=1`, for the exact line; compare the largest "
    "label and index with what the layers were built for.",
    unknown=_VALUES,
)
explain_message_variable = TextRule(
    pattern=r"^name '(?P<name>\w+)' is not defined|(?:local|free) variable '(?P<local>\w+)'",
    message="a variable or module is used that has no value there.",
    why="Python knows a name only after a line has given it a value, or imported it.",
    fix="Look for a misspelling, a forgotten import, or a variable that only one branch or loop gives its value.",
    unknown="what is in scope there",
)
explain_message_attribute = TextRule(
    pattern=r"module 'torch(?P<inside>[\w.]*)' has no attribute '(?P<name>\w+)'",
    message="`torch{inside}` has no `{name}` in the version that is installed.",
    why="It was renamed or removed, is newer than this torch, or a file of yours is called torch.py.",
    fix="Compare `torch.__version__` with the version that the code was written for, and look the name up in the "
    "release notes.",
    unknown="the version of torch",
)
explain_message_scalar_type = TextRule(
    pattern=r"expected scalar type (?P<wanted>\w+) but found (?P<found>\w+)",
    message="an operation takes {wanted} and got {found}.",
    why="Class numbers are integers (int64); inputs, predictions and targets of a regression are float32.",
    fix="Convert the odd one: `.float()` for numbers, `.long()` for class numbers.",
    unknown=_VALUES,
)
explain_message_devices = TextRule(
    pattern=r"Expected all tensors to be on the same device",
    message="tensors of one operation are on different devices.",
    why="An operation runs on one device, and nothing is moved by itself.",
    fix="Move the model once (`model.to(device)`) and each batch in the loop (`x = x.to(device)`); make new "
    "tensors with `device=x.device`.",
    unknown="which of them",
)


# Pasted tracebacks out of backward and of what it needs.
_BACKWARD = r"/torch/(?:_tensor|autograd/__init__|autograd/graph)\.py$"

explain_text_no_graph = TextRule(
    pattern=r"element (?P<element>\d+) of tensors does not require grad and does not have a grad_fn",
    through=_BACKWARD,
    message="{at} goes back through a tensor that no trainable weight leads to.",
    why="Somewhere before it the graph was cut, or nothing was recorded.",
    fix="Look between the model and the loss for `.detach()`, `.item()`, `.data`, `torch.tensor(...)`, "
    "`no_grad`, numpy or `argmax`, and for weights with `requires_grad=False`.",
    unknown="the line that cuts the graph",
)
explain_text_twice = TextRule(
    pattern=r"Trying to backward through the graph a second time",
    through=_BACKWARD,
    message="{at} goes through a graph that an earlier backward has already used up.",
    why="backward frees what it needed of the graph; a tensor kept from an earlier step still leads there.",
    fix="Compute the loss anew in each step, and `.detach()` what is carried over from one to the next "
    "(a hidden state, a running loss, a fake batch).",
    unknown="which tensor is carried over",
)
explain_text_not_scalar = TextRule(
    pattern=r"grad can be implicitly created only for scalar outputs",
    through=_BACKWARD,
    message="{at} starts from a tensor with more than one entry.",
    why="A gradient is of one number.",
    fix="Reduce the loss first, `.mean()` or `.sum()`; look for `reduction='none'`.",
    unknown="the shape of that tensor",
)
explain_text_in_place = TextRule(
    pattern=r"modified by an inplace operation: \[torch\.(?:cuda\.)?\w+ \[(?P<shape>[\d, ]*)\]\]"
    r"(?:, which is output \d+ of (?P<operation>\w+),)? is at version (?P<version>\d+); "
    r"expected version (?P<expected>\d+)",
    through=_BACKWARD,
    message="{at} needs a tensor of shape [{shape}] as it was at version {expected}; something has written "
    "into it since, it is at version {version}.",
    why="backward needs the values the forward computed with.",
    fix="Look for `+=`, `x[...] = `, functions that end in `_` and `inplace=True` on a tensor of that "
    "shape, and for an `optimizer.step()` between forward and backward.",
    unknown="the line that writes into it",
)
explain_text_leaf = TextRule(
    pattern=r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place operation",
    line=r"[-+*/]=|\]\s*=|\w_\(",
    message="{at} writes into a weight while gradients are recorded.",
    why="A leaf of the graph must keep its values until backward has been.",
    fix="Write under `with torch.no_grad():`, or make a new tensor.",
    unknown="nothing that matters here; the shapes",
)
explain_text_detach = TextRule(
    pattern=r"Can't call numpy\(\) on Tensor that requires grad",
    line=r"numpy|np\.|plt\.|plot|imshow|asarray|array\(",
    message="{at} makes a numpy array of a tensor that requires grad.",
    why="numpy knows nothing of gradients.",
    fix="Write `.detach().cpu().numpy()`.",
    unknown="the shape of that tensor",
)


# Pasted tracebacks about devices, memory and indices.
_ANY_LINE = r"\w"

explain_text_devices = explain_by(
    TextRule(
        pattern=r"Expected all tensors to be on the same device, but found at least two devices, "
        r"(?P<first>[\w:]+) and (?P<second>[\w:]+)",
        through=r"/torch/",
        line=_ANY_LINE,
        message="{at} brings a tensor on {first} and one on {second} together.",
        why="An operation computes on one device.",
        fix="Send the odd one to the other's device: `x = x.to(device)` for a batch, `model.to(device)` for a "
        "model; a tensor made in forward takes `device=x.device`, one kept by a module `register_buffer`.",
        unknown="which tensor is the odd one, and the line that made it",
    ),
    TextRule(
        pattern=r"Expected all tensors to be on the same device, but got (?P<argument>\w+) is on "
        r"(?P<first>[\w:]+), different from other tensors on (?P<second>[\w:]+)",
        through=r"/torch/",
        line=_ANY_LINE,
        message="{at} got its `{argument}` on {first}, and everything else on {second}.",
        why="An operation computes on one device.",
        fix="Send it to {second} where it is made: `.to('{second}')`; one kept by a module belongs into "
        "`register_buffer`.",
        unknown="the line that made it",
    ),
    TextRule(
        pattern=r"Input type \(torch\.cuda\.(?P<kind>\w+)Tensor\) and weight type \(torch\.(?P=kind)Tensor\)",
        through=r"/torch/nn/modules/conv\.py$",
        message="{at} calls a layer whose weights are on the CPU with an input on the GPU.",
        why="A layer computes where its weights are.",
        fix="Call `model.to(device)` before training; layers kept in a plain list are not moved by it: use "
        "`nn.ModuleList`.",
        unknown="whether it is the whole model or one layer",
    ),
    TextRule(
        pattern=r"Input type \(torch\.(?P<kind>\w+)Tensor\) and weight type \(torch\.cuda\.(?P=kind)Tensor\)",
        through=r"/torch/nn/modules/conv\.py$",
        message="{at} calls a layer whose weights are on the GPU with an input on the CPU.",
        why="A layer computes where its weights are.",
        fix="Send the batch to the model's device: `x = x.to(device)`.",
        unknown="the line that made the input",
    ),
    TextRule(
        pattern=r"Torch not compiled with CUDA enabled",
        through=r"/torch/cuda/__init__\.py$",
        message="{at} asks for a GPU, and this torch is built for the CPU alone.",
        why="The installed torch holds no CUDA code.",
        fix="Install a CUDA build of torch, or choose the device by `'cuda' if torch.cuda.is_available() else 'cpu'`.",
        unknown="whether the machine has a GPU",
    ),
)
explain_text_memory = TextRule(
    pattern=r"(?:CUDA|HIP|XPU) out of memory\. Tried to allocate (?P<asked>[\d.]+ \w+)\.? .*?"
    r"total capacity (?:of )?(?P<total>[\d.]+ \w+)(?: of which |.*?; )(?P<free>[\d.]+ \w+)(?: is)? free",
    through=r"/torch/",
    line=_ANY_LINE,
    message="{at} asked for {asked} more; the GPU holds {total}, of which {free} were free.",
    why="What the step needs at once does not fit: weights, gradients, optimizer state, activations.",
    fix="Halve the batch and accumulate gradients over two steps; or use bf16 autocast.",
    unknown="what holds the memory, and whether it grows from step to step",
)
explain_text_indices = explain_by(
    TextRule(
        pattern=r"^index out of range in self",
        through=r"/torch/nn/modules/sparse\.py$",
        message="an embedding called by {at} was asked for a row that it does not have.",
        why="Indices go from 0 to num_embeddings - 1.",
        fix="Compare `indices.max()` with num_embeddings; count special and padding tokens too.",
        unknown="the index, and the size of the table",
    ),
    TextRule(
        pattern=r"^Target (?P<target>-?\d+) is out of bounds",
        through=r"/torch/nn/functional\.py$",
        message="the loss called by {at} got the label {target}, and the model has no such output.",
        why="Labels go from 0 to the number of classes - 1.",
        fix="Give the last layer one output for each class, or number the labels from 0; a label that means "
        "nothing goes into `ignore_index`.",
        unknown="the number of outputs, and how many labels are wrong",
    ),
    TextRule(
        pattern=r"^index (?P<index>-?\d+) is out of bounds for dimension (?P<dimension>\d+) "
        r"with size (?P<size>\d+)",
        line=r"\[|index_select|gather|take",
        outside=r"/torch/utils/data/",
        message="{at} takes entry {index} of dimension {dimension}, which has {size}.",
        why="Entries are numbered from 0 to the size - 1.",
        fix="Print the index and the shape before the line.",
        unknown="where the index comes from",
    ),
)


# Pasted tracebacks out of load_state_dict and torch.load.
_MODULE = r"/torch/nn/modules/module\.py$"
_LOADING = r"^Error\(s\) in loading state_dict for (\w+):"
_PREFIXES = "module.", "_orig_mod.", "model."
_FILE = "what else the file holds"


def explain_text_keys(crash: CrashFact) -> Blame | None:
    reading = read(crash, _LOADING, through=_MODULE)
    missing, unexpected = _names(crash.message, "Missing"), _names(crash.message, "Unexpected")
    if reading is None or "size mismatch for" in crash.message or not (missing or unexpected):
        return None
    for prefix in _PREFIXES:
        if missing and unexpected and {f"{prefix}{name}" for name in missing} >= set(unexpected):
            return reading.blame(
                f"{reading.at} loads a checkpoint whose names start with `{prefix}`; those of `{reading.match[1]}` do "
                "not.",
                "It was saved from a wrapper (DataParallel, DDP, torch.compile) around the model.",
                f"Take the prefix off: `{{name.removeprefix('{prefix}'): value for name, value in state.items()}}`.",
                _FILE,
            )
    counted = f"{len(missing)} of its parameters are missing and {len(unexpected)} of the file's are not its own"
    return reading.blame(
        f"{reading.at} loads a checkpoint that does not fit `{reading.match[1]}`: {counted}.",
        "Parameters are found by name. The names of the file and of the model differ.",
        "Build the model as it was when it was saved, or rename the keys; `strict=False` loads what fits, "
        "and only that.",
        _FILE,
        missing=", ".join(missing[:4]),
        unexpected=", ".join(unexpected[:4]),
    )


def explain_text_sizes(crash: CrashFact) -> Blame | None:
    reading = read(crash, _LOADING, through=_MODULE)
    sizes = re.findall(
        r"size mismatch for ([\w.]+): copying a param with shape torch\.Size\(\[([\d, ]*)\]\) from checkpoint, "
        r"the shape in current model is torch\.Size\(\[([\d, ]*)\]\)",
        crash.message,
    )
    if reading is None or not sizes:
        return None
    name, saved, built = sizes[0]
    others = f", and {len(sizes) - 1} more differ" if len(sizes) > 1 else ""
    return reading.blame(
        f"{reading.at} loads a checkpoint in which `{name}` has the shape [{saved}]; the model was built with "
        f"[{built}]{others}.",
        "Parameters are copied, so their shapes must be equal.",
        "Build the model with the sizes it was saved with, or leave those parameters out of the state.",
        "the line that builds that layer",
        saved=shape_text([int(size) for size in re.findall(r"\d+", saved)]),
        built=shape_text([int(size) for size in re.findall(r"\d+", built)]),
    )


def _names(message: str, kind: str) -> list[str]:
    found = re.search(rf"{kind} key\(s\) in state_dict: (.*)", message)
    return re.findall(r'"([^"]+)"', found[1]) if found else []


explain_text_cuda_file = TextRule(
    pattern=r"Attempting to deserialize object on a CUDA device but torch\.cuda\.is_available\(\) is False",
    through=r"/torch/serialization\.py$",
    message="{at} loads tensors that were saved on a GPU, and here is none.",
    why="Tensors go back to the device they were saved from.",
    fix="Load them with `torch.load(path, map_location='cpu')`.",
    unknown=_FILE,
)
explain_text_refused = TextRule(
    pattern=r"Unsupported global: GLOBAL (?P<name>[\w.]+) was not an allowed global",
    through=r"/torch/serialization\.py$",
    message="{at} loads a file that holds a `{name}`, which is more than tensors.",
    why="Since torch 2.6 `torch.load` makes no objects of other classes unless they are allowed: making "
    "them may run code.",
    fix="If you trust the file: `torch.serialization.add_safe_globals([{name}])` before the load. Better: "
    "save state dicts and plain numbers.",
    unknown=_FILE,
)
