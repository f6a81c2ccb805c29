"""TD944: a file that is missing, cut short, or no checkpoint at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.checkpoints_keys import counted, load_statement, missing_and_unexpected, some_names
from torch_debugger.checks.crashes.explanation import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.crashes.layers_and_losses import Setting, defaults_of
from torch_debugger.checks.crashes.user_code import (
    Change,
    Statement,
    argument_of,
    calls_of,
    first_line,
    is_simple_statement,
    line_replaced,
    number_of,
    one_line,
    parse_expression,
    rewritten,
    statement_of,
    with_argument,
)
from torch_debugger.records import CrashFact, LayerFact, Place
from torch_debugger.records.crash_modules import FileFact, ModelLoad

# A file that is no checkpoint: missing, empty, cut short, or something else altogether.
_ABSENT = "FileNotFoundError", "IsADirectoryError", "NotADirectoryError", "PermissionError"
_CUT_MESSAGE = "failed finding central directory"
_AGAIN = "copy, download or save the file again, and compare the sizes"
_CUT_SHORT = "Saving or copying it was interrupted: a torch file keeps its list of contents at the very end."
_WHAT = {
    "empty": ("is empty", "Saving it was interrupted before the first byte, or the disk was full.", _AGAIN),
    "zeros": ("starts with nothing but zeros", "The system stopped before the content reached the disk.", _AGAIN),
    "cut-zip": ("is cut short", _CUT_SHORT, _AGAIN),
    "old-torch": ("is cut short", "Saving or copying it was interrupted: it ends in the middle.", _AGAIN),
    "cut-safetensors": ("is a safetensors file that is cut short", "Copying it was interrupted.", _AGAIN),
    "html": (
        "is a web page",
        "The download saved a page (a login, a warning, a viewer) and not the file behind it.",
        "download it again from the address of the file itself (with `curl -L`, or the link to the raw file)",
    ),
    "lfs-pointer": (
        "is a Git LFS pointer and not the file itself",
        "The repository keeps large files elsewhere, and they were not fetched when it was cloned.",
        "fetch it in the repository: `git lfs install`, then `git lfs pull`",
    ),
    "torchscript": (
        "is a TorchScript archive",
        "It was made by torch.jit.save, which stores code beside the tensors.",
        "read it with `torch.jit.load({path})`",
    ),
    "safetensors": (
        "is a safetensors file",
        "That format is not a pickle; it has a reader of its own.",
        "read it with `load_file({path})`, after `from safetensors.torch import load_file` (`pip install safetensors`)",
    ),
    "pickle": (
        "is a plain pickle, not made by torch.save",
        "torch.load reads the form that torch.save writes; pickle.dump writes another.",
        "read it with `pickle.load(open({path}, \"rb\"))` if you made or trust it, and save with torch.save next time",
    ),
    "numpy": (
        "is a numpy array",
        "It was made by numpy.save.",
        "read it with `torch.from_numpy(np.load({path}))`",
    ),
    "hdf5": ("is an HDF5 file", "Keras and h5py write it.", "read it with `h5py.File({path})`"),
    "gzip": ("is compressed with gzip", "torch.load does not unpack it.", "unpack it first: `gunzip` or `tar -xzf`"),
    "7z": ("is a 7z archive", "torch.load does not unpack it.", "unpack it first"),
    "zip": (
        "is a zip archive of other files",
        "A torch file is a zip archive too, but one with a `data.pkl` in it.",
        "unpack it first, if the checkpoint is inside",
    ),
    "gguf": ("is a GGUF file", "llama.cpp and its relatives write it.", "use the checkpoint it was converted from"),
    "image": ("is an image", "Its first bytes say so.", "look at the path: another file was meant"),
    "pdf": ("is a PDF", "Its first bytes say so.", "look at the path: another file was meant"),
    "json": ("is a JSON text", "It holds no tensors.", "look at the path: the tensors are in another file"),
    "text": ("is a text", "It holds no tensors.", "look at the path: another file was meant"),
}  # fmt: skip


def explain_file(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.checkpoints, user_frame(crash)
    file = evidence.file if evidence is not None else None
    if file is None or frame is None:
        return None
    statement = statement_of(frame, None)
    if file.writing:
        return _unwritten(crash, file, statement)
    if file.exists and not file.folder and not file.buffer and file.form in _WHAT:
        # What the file is, by its size and first bytes.
        told, why, fix = _WHAT[file.form]
        path, call = _path_text(statement), statement.call(["torch.load"])
        start = f", beginning with `{file.start}`" if file.start and file.form in ("json", "text", "html") else ""
        promised = f", for a file of {bytes_text(file.expected_bytes)}" if file.expected_bytes else ""
        script = file.form == "torchscript" and call is not None
        return Blame(
            message=f"The file `{_name(file)}` {told}{start}: {bytes_text(file.size_bytes)}{promised}.",
            why=why,
            fix=f"{_capital(fix.replace('{path}', path))}.",
            where=statement.line,
            evidence=file_evidence(file, statement),
            edit=rewritten(statement.whole, call or "", f"torch.jit.load({path})") if script else None,
        )
    if not file.exists and _CUT_MESSAGE in crash.message and (file.buffer or crash.kind not in _ABSENT):
        return Blame(
            message=f"The file `{_name(file)}` was cut short when torch.load read it.",
            why=f"{_CUT_SHORT} The file is gone by now, so its size could not be looked at.",
            fix=f"{_capital(_AGAIN)}.",
            where=statement.line,
            evidence={"file": file.path, "line": line_text(statement.line)},
            confidence=0.85,
        )
    return _unread_buffer(crash, file, statement) if file.buffer else _absent(crash, file, statement)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _name(file: FileFact) -> str:
    return os.path.basename(file.path) or file.path


def bytes_text(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} byte{'' if size == 1 else 's'}"


def _path_text(statement: Statement) -> str:
    argument = statement.argument(["torch.load", "load"], 0, "f")
    return argument.text if argument is not None else "path"


def file_evidence(file: FileFact, statement: Statement) -> dict[str, float | str]:
    evidence: dict[str, float | str] = {"file": file.path, "size": bytes_text(file.size_bytes)}
    if file.form:
        evidence["form"] = file.form
    if file.start:
        evidence["start"] = file.start
    if file.free_bytes >= 0:
        evidence["free"] = bytes_text(file.free_bytes)
    return evidence | {"line": line_text(statement.line)}


def _absent(crash: CrashFact, file: FileFact, statement: Statement) -> Blame | None:
    """No such file, or a folder in its place; with what is there instead."""
    if crash.kind not in _ABSENT or (file.exists and not file.folder):
        return None
    if any("torch/utils/data/" in item.file for item in crash.frames):
        return None  # a file that a dataset reads is one of its samples
    named = ", ".join(f"`{name}`" for name in file.near)
    at, folder, edit = f" at {place_text(statement.line)}", os.path.dirname(file.path) or "that folder", None
    if file.folder:
        message = f"`{file.path}` is a folder and no file{f'; it holds {named}' if named else ''}."
        fix = f"Name a file in it{at}."
    elif not file.parent_exists:
        message = f"There is no folder `{folder}`, so no file `{_name(file)}` in it."
        fix = f"Make the path right{at}, or start the script where `{folder}` is."
    elif not named:
        message = f"There is no file `{file.path}`, and no other checkpoint in its folder."
        fix = f"Make the path right{at}, or save the checkpoint there first."
    else:
        message = f"There is no file `{file.path}`; the folder has {named}."
        fix = f"Write `{file.near[0]}` instead of `{_name(file)}`{at}, if that is the one you mean."
        edit = rewritten(statement.whole, _name(file), file.near[0]) if len(file.near) == 1 else None
    return Blame(
        message=message,
        why="A path that does not start with `/` is looked up from the folder the script was started in.",
        fix=fix,
        where=statement.line,
        evidence=file_evidence(file, statement) | {"near": ", ".join(file.near) or "none"},
        edit=edit,
    )


def _unread_buffer(crash: CrashFact, file: FileFact, statement: Statement) -> Blame | None:
    """A whole checkpoint in memory, read from its end: the buffer was not rewound after writing."""
    if file.form != "zip" or crash.kind != "EOFError":
        return None
    place, name = statement.whole, _path_text(statement)
    return Blame(
        message=f"torch.load began at the end of a buffer that holds a whole checkpoint "
        f"({bytes_text(file.size_bytes)}).",
        why="A buffer has one position for reading and writing; after torch.save it stands behind the last byte.",
        fix=f"Rewind it before {place_text(statement.line)}: `{name}.seek(0)`.",
        where=statement.line,
        evidence={"size": bytes_text(file.size_bytes), "line": line_text(statement.line)},
        confidence=0.95,
        edit=line_replaced(place, f"{name}.seek(0)\n{first_line(place)}") if name.isidentifier() else None,
    )


# A checkpoint that torch.save could not write: no such folder, or no room.
_NO_SPACE = 28  # errno ENOSPC
_STOPPED = ("file write failed", "iostream error", "unexpected pos")  # torch's archive writer tells no errno


def _unwritten(crash: CrashFact, file: FileFact, statement: Statement) -> Blame | None:
    line, edit, confidence = place_text(statement.line), None, 0.98
    if not file.parent_exists:
        folder = os.path.dirname(file.path)
        made = f'{file.os_name or "os"}.makedirs("{folder}", exist_ok=True)'
        message = f"torch.save could not write `{file.path}`: there is no folder `{folder}`."
        why = "torch.save makes the file but not the folder it goes into."
        fix = f"Make the folder before {line}: `{made}`."
        imports = [] if file.os_name else ["import os"]
        edit = line_replaced(statement.whole, "\n".join([*imports, made, first_line(statement.whole)]))
    elif file.folder:
        message = f"torch.save was given `{file.path}`, which is a folder."
        why = "torch.save writes one file and needs its name."
        fix = f"Add a file name at {line}: `{os.path.join(file.path, 'checkpoint.pt')}`."
    else:
        # By the free bytes; else by the errno; else only that the write stopped short.
        short = 0 <= file.free_bytes < file.expected_bytes - file.size_bytes
        told = _NO_SPACE in [each.attributes.get("errno") for each in (crash, *crash.causes)]
        stopped = any(words in crash.message for words in _STOPPED)
        if not (short or told or (stopped and file.size_bytes < file.expected_bytes)):
            return None
        room = f"{bytes_text(file.free_bytes)} are free there" if file.free_bytes >= 0 else "the free room is not known"
        doubt = "" if short else " The free room alone does not explain it: look for a quota or a limit on file size."
        message = (
            f"Writing `{os.path.basename(file.path)}` stopped after {bytes_text(file.size_bytes)} of at least "
            f"{bytes_text(file.expected_bytes)}; {room}."
        )
        why = f"The disk took no more bytes, so the file is cut short and cannot be loaded.{doubt}"
        fix = (
            f"Free some room or save somewhere else at {line}; delete this file, and keep fewer old checkpoints. "
            "Saving to a temporary name and renaming it afterwards keeps the last good file."
        )
        confidence = 0.95 if short or told else 0.8
    return Blame(message, why, fix, statement.line, file_evidence(file, statement), confidence, edit)


class DamagedCheckpoint(CrashCheck):
    """A checkpoint file is missing, cut short, no checkpoint at all, or could not be written.

    Symptom:
        torch.load stops with "PytorchStreamReader failed reading zip archive", "invalid load key", an
        EOFError or FileNotFoundError; torch.save with "Parent directory does not exist" or a failed write.
    Evidence:
        The size of the file and its first and last few hundred bytes, which tell what it is; similar names
        in its folder; for a write, the bytes to write and those free. Nothing of the file is unpickled.
    Fix:
        Fetch or save the file again, name the one that is there, make the folder, or read the file with
        the reader of its own format, as the finding says.
    Known limits:
        A file that is whole but holds wrong bytes in the middle is not recognised. Of open files only those
        with a name are looked at.
    """

    id = "TD944"
    name = "damaged-checkpoint"
    title = "a checkpoint file is missing, cut short or no checkpoint"
    explainers = (explain_file,)


# Classes that torch.load will not import from a file unless it is told that they are safe.
_LISTED = 6  # more than this is no list that anybody should write


def explain_refusal(crash: CrashFact) -> Blame | None:
    """weights_only, the default since torch 2.6, met a class that it does not know."""
    evidence, frame = crash.evidence.checkpoints, user_frame(crash)
    refused = evidence.refused if evidence is not None else ()
    if not refused or frame is None or crash.kind != "UnpicklingError":
        return None
    statement = statement_of(frame, None)
    # The statement inside the context that allows the names; with an import where one is not in reach.
    place, line, unknown = statement.whole, place_text(statement.line), [item for item in refused if not item.written]
    imports = ["from {0} import {2}".format(*item.name.rpartition(".")) for item in unknown]
    names = [item.written or item.name.rpartition(".")[2] for item in refused]
    inside = f"with torch.serialization.safe_globals([{', '.join(names)}]):"
    plain = not any(item.user_class for item in unknown) and is_simple_statement(place.code or "")
    allow, edit = f"The file names {len(refused)} such classes, too many to allow one by one.", None
    if len(refused) <= _LISTED:
        needed = f", after {' and '.join(f'`{each}`' for each in imports)}" if imports else ""
        allow = f"To load this file as it is, put {line} inside `{inside}`{needed}."
        if plain and evidence is not None and evidence.refused_all:
            edit = line_replaced(place, "\n".join([*imports, inside, f"    {first_line(place)}"]))
    if any(item.module_class for item in refused):
        what = "a whole model, saved as an object"
        better = "Better, save `model.state_dict()` and load it into a model that you build."
    elif all(item.name.startswith("numpy.") for item in refused):
        what = "numpy values"
        better = "Better, save plain values: `float(x)` or `x.item()` for a number, `torch.from_numpy(x)` for an array."
    else:
        what = f"{len(refused)} classes"
        if len(refused) == 1:
            owner = "your own" if refused[0].user_class else "a"
            what = f"{owner} {'function' if refused[0].function else 'class'}"
        better = "Better, save plain values (`vars(x)` of a settings object) beside the state dicts."
    trust = "Pass `weights_only=False` instead only for a file that you made or trust."
    return Blame(
        message=f"torch.load refused {what} in the file: {some_names([item.name for item in refused])}.",
        why="Since torch 2.6 torch.load reads only tensors and plain values unless it is told otherwise "
        "(weights_only=True): importing and calling what a file names would let that file run any code.",
        fix=f"{allow} {better} {trust}",
        where=statement.line,
        evidence={"refused": ", ".join(item.name for item in refused), "line": line_text(statement.line)},
        edit=edit,
    )


class CheckpointRefused(CrashCheck):
    """torch.load refused a class or function that the file names.

    Symptom:
        torch.load stops with "Weights only load failed" and "Unsupported global".
    Evidence:
        The name that the unpickler stopped at, taken from its own frame, and all others in the file that it
        would refuse; they are read from the pickle's opcodes, and nothing of the file is run.
    Fix:
        Allow exactly these names with torch.serialization.add_safe_globals, or save state dicts and plain
        values only. weights_only=False is for files that you made or trust.
    Known limits:
        Of an open file only the first refused name is known. Whether a file deserves trust is for you to say.
    """

    id = "TD942"
    name = "checkpoint-refused"
    title = "torch.load refused a class that the file names"
    explainers = (explain_refusal,)


# Tensors of a checkpoint that have another shape in the model: which size differs, and who sets it.

# The size that each dimension of a tensor is, and the position of its argument.
_IN, _OUT = ("in_features", 0), ("out_features", 1)
_CHANNELS_IN, _CHANNELS_OUT = ("in_channels", 0), ("out_channels", 1)
_ROWS, _COLUMNS = ("num_embeddings", 0), ("embedding_dim", 1)
_SIZES: dict[tuple[str, str], tuple[tuple[str, int], ...]] = {
    ("Linear", "weight"): (_OUT, _IN),
    ("Linear", "bias"): (_OUT,),
    ("Embedding", "weight"): (_ROWS, _COLUMNS),
    ("EmbeddingBag", "weight"): (_ROWS, _COLUMNS),
}
_SIZES |= {(f"Conv{n}d", "weight"): (_CHANNELS_OUT, _CHANNELS_IN) for n in (1, 2, 3)}
_SIZES |= {(f"Conv{n}d", "bias"): (_CHANNELS_OUT,) for n in (1, 2, 3)}
_SIZES |= {(f"ConvTranspose{n}d", "weight"): (_CHANNELS_IN, _CHANNELS_OUT) for n in (1, 2, 3)}
_NORM = (("num_features", 0),)
_SIZES |= {(f"BatchNorm{n}d", leaf): _NORM for n in (1, 2, 3) for leaf in ("weight", "running_mean")}
_RECURRENT = ("hidden_size", 1), ("input_size", 0)
_SIZES |= {(kind, "weight_ih_l0"): _RECURRENT for kind in ("LSTM", "GRU", "RNN")}
_SIZES |= {("MultiheadAttention", "in_proj_weight"): (("embed_dim", 0), ("embed_dim", 0))}
_STACKED = {"LSTM": 4, "GRU": 3, "MultiheadAttention": 3}  # gates, or query, key and value
_TOLD = 4


@dataclass(frozen=True, slots=True)
class ShapeDifference:
    """One tensor with both its shapes."""

    name: str
    saved: tuple[int, ...]
    wanted: tuple[int, ...]

    def sizes(self) -> list[tuple[int, int, int]]:
        """Dimension, size in the model, size in the checkpoint: those that differ."""
        if len(self.saved) != len(self.wanted):
            return []
        pairs = enumerate(zip(self.wanted, self.saved, strict=True))
        return [(dimension, now, then) for dimension, (now, then) in pairs if now != then]


def explain_checkpoint_shapes(crash: CrashFact) -> Blame | None:
    checkpoints = crash.evidence.checkpoints
    load = checkpoints.model if checkpoints is not None and crash.kind == "RuntimeError" else None
    differences = list(_differences(load)) if load is not None else []
    if load is None or not differences:
        return None
    if load.strict and any(missing_and_unexpected(load.saved, load.wanted)):
        return None
    change, line = _change(load, differences), load_statement(crash).line
    first, more = differences[0], len(differences) - 1
    others = f"; {counted(more, 'other tensor')} differ{'s' if more == 1 else ''} too" if more else ""
    names = some_names([item.name for item in differences]).replace("`", "")
    evidence: dict[str, float | str] = {
        item.name: f"{shape_text(item.wanted)} in the model, {shape_text(item.saved)} saved" for item in differences[:4]
    }
    return Blame(
        message=f"`{load.name}.{first.name}` is {shape_text(first.wanted)} in the model but {shape_text(first.saved)} "
        f"in the checkpoint{others}.",
        why="load_state_dict copies values into the tensors that are there; it never changes a shape, not even "
        "with strict=False.",
        fix=_sizes_fix(load, differences, change),
        where=change.where if change is not None else line,
        evidence=evidence | {"differing": names, "line": line_text(line)},
        edit=change.edit if change is not None else None,
    )


def _differences(load: ModelLoad) -> Iterator[ShapeDifference]:
    saved = {entry.name: entry.shape for entry in load.saved}
    for entry in load.wanted:
        if entry.name in saved and saved[entry.name] != entry.shape:
            yield ShapeDifference(entry.name, saved[entry.name], entry.shape)


def _sizes_fix(load: ModelLoad, differences: list[ShapeDifference], change: Change | None) -> str:
    settings = [setting for item in differences if (setting := _setting(load, item)) is not None]
    told = [f"`{item.layer.path}` with {item.keyword}={item.got} instead of {item.built_for}" for item in settings]
    sizes = f": {', '.join(list(dict.fromkeys(told))[:_TOLD])}" if told else ""
    built = change.text if change is not None else f"Build the model with the sizes it was saved with{sizes}"
    layers = list(dict.fromkeys(item.name.rpartition(".")[0] for item in differences))
    if len(layers) != 1 or not layers[0] or len(load.wanted) <= len(differences):
        return f"{built}."
    return (
        f"{built}. To keep the model's own `{layers[0]}` and train it anew, leave it out and load the rest: "
        f'`{{k: v for k, v in state.items() if not k.startswith("{layers[0]}.")}}` with `strict=False`.'
    )


def _change(load: ModelLoad, differences: list[ShapeDifference]) -> Change | None:
    """The one number that, changed where the model is built, makes all shapes meet."""
    found = {(now, then) for item in differences for _, now, then in _sizes_of(load, item)}
    if len(found) != 1 or not all(item.sizes() for item in differences):
        return None
    now, then = next(iter(found))
    settings = [setting for item in differences if (setting := _setting(load, item)) is not None]
    if not settings:
        return None
    at_root = _in_the_models_own_call(settings[0].layer, now, then)
    if at_root is not None:
        return at_root
    reach = {(setting.layer.path, setting.keyword) for setting in settings}
    edit = settings[0].edit() if len(reach) == 1 else None
    return Change(settings[0].fix("").rstrip("."), edit, settings[0].where)


def _layer(load: ModelLoad, item: ShapeDifference) -> LayerFact | None:
    path = f"{load.name}.{item.name.rpartition('.')[0]}".rstrip(".")
    return next((layer for layer in load.layers if layer.path == path), None)


def _sizes_of(load: ModelLoad, item: ShapeDifference) -> list[tuple[int, int, int]]:
    """The differing sizes, of stacked tensors those of one of the parts: an LSTM stacks four gates."""
    layer = _layer(load, item)
    parts = _STACKED.get(layer.kind, 1) if layer is not None else 1
    return [
        (dimension, now, then) if dimension else (dimension, now // parts, then // parts)
        for dimension, now, then in item.sizes()
    ]


def _setting(load: ModelLoad, item: ShapeDifference) -> Setting | None:
    layer, leaf = _layer(load, item), item.name.rpartition(".")[2]
    sizes = _SIZES.get((layer.kind, leaf), ()) if layer is not None else ()
    dimension, now, then = next(iter(_sizes_of(load, item)), (0, 0, 0))
    if layer is None or dimension >= len(sizes) or layer.settings.get(sizes[dimension][0]) != now:
        return None
    keyword, position = sizes[dimension]
    return Setting(layer, keyword, position, then)


def _in_the_models_own_call(layer: LayerFact, now: int, then: int) -> Change | None:
    """Net(num_classes=10) -> Net(num_classes=100), where the user's class takes the number."""
    for inner, outer in zip(layer.constructions, layer.constructions[1:], strict=False):
        names = defaults_of(inner.scope)
        calls = calls_of(outer.place.code or "", inner.maker) if inner.maker else []
        if len(calls) != 1 or not names:
            continue
        written = [(name, argument_of(calls[0], place, name)) for place, name in enumerate(names)]
        fitting = [item for _, item in written if item is not None and number_of(item.text) == now]
        absent = [name for name, item in written if item is None and names[name] == now]
        if len(fitting) == 1:
            return _rewritten(outer.place, calls[0], fitting[0].replaced(str(then)))
        if not fitting and len(absent) == 1 and parse_expression(calls[0]) is not None:
            return _rewritten(outer.place, calls[0], with_argument(calls[0], f"{absent[0]}={then}"))
    return None


def _rewritten(place: Place, before: str, after: str) -> Change:
    text = f"Change `{one_line(before)}` to `{one_line(after)}` at {place_text(place)}"
    return Change(text, rewritten(place, before, after), replace(place, code=first_line(place)))


class CheckpointShapes(CrashCheck):
    """A checkpoint fits the model by its names, but some of its tensors have other shapes.

    Symptom:
        load_state_dict stops with "size mismatch for fc.weight: copying a param with shape [100, 512]
        from checkpoint, the shape in current model is [10, 512]".
    Evidence:
        Both shapes of each tensor, the layer's settings, and the lines that build it and the model.
    Fix:
        Build the model with the number it was saved with; the constructor's line is filled in where one
        number explains all differences. Or leave the layer out to train it anew.
    Known limits:
        Which of the two models is meant is for you to say. Sizes that several numbers make up together,
        as the heads of an attention layer, are told without an edit.
    """

    id = "TD941"
    name = "checkpoint-shapes"
    title = "a checkpoint's tensors have other shapes than the model's"
    explainers = (explain_checkpoint_shapes,)
