"""A file that is no checkpoint: missing, empty, cut short, or something else altogether."""

from __future__ import annotations

import os

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.statements import Change, Statement, statement_of
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.checkpoints import FileFact

_ABSENT = ("FileNotFoundError", "IsADirectoryError", "NotADirectoryError", "PermissionError")
_CUT_MESSAGE = "failed finding central directory"
_AGAIN = "copy, download or save the file again, and compare the sizes"
_CUT_SHORT = "Saving or copying it was interrupted: a torch file keeps its list of contents at the very end."
_WHAT = {
    "empty": ("is empty", "Saving it was interrupted before the first byte, or the disk was full.", _AGAIN),
    "zeros": ("starts with nothing but "
              "zeros", "The system stopped before the content reached the disk.", _AGAIN),
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
        "read it with `load_file({path})`, after `from safetensors.torch import load_file` "
        "(`pip install safetensors`)",
    ),
    "pickle": (
        "is a plain pickle, not made by torch.save",
        "torch.load reads the form that torch.save writes; pickle.dump writes another.",
        "read it with `pickle.load(open({path}, \"rb\"))` if you made or trust it, and save with torch.save "
        "next time",
    ),
    "numpy": (
        "is a numpy array",
        "It was made by numpy.save.",
        "read it with `torch.from_numpy(np.load({path}))`",
    ),
    "hdf5": ("is an HDF5 file", "Keras and h5py write it.", "read it with `h5py.File({path})`"),
    "gzip": ("is compressed with "
             "gzip", "torch.load does not unpack it.", "unpack it first: `gunzip` or `tar -xzf`"),
    "7z": ("is a 7z archive", "torch.load does not unpack it.", "unpack it first"),
    "zip": (
        "is a zip archive of other files",
        "A torch file is a zip archive too, but one with a `data.pkl` in it.",
        "unpack it first, if the checkpoint is inside",
    ),
    "gguf": ("is a GGUF file", "llama.cpp and its relatives write "
                               "it.", "use the checkpoint it was converted from"),
    "image": ("is an image", "Its first bytes say so.", "look at the path: another file was meant"),
    "pdf": ("is a PDF", "Its first bytes say so.", "look at the path: another file was meant"),
    "json": ("is a JSON text", "It holds no tensors.", "look at the path: the tensors are in another file"),
    "text": ("is a text", "It holds no tensors.", "look at the path: another file was meant"),
}  # fmt: skip


def explain_unreadable_file(crash: CrashFact) -> Blame | None:
    """What the file is, by its size and first bytes."""
    evidence, frame = crash.evidence.checkpoints, user_frame(crash)
    file = evidence.file if evidence is not None else None
    if file is None or frame is None or file.writing or not file.exists or file.folder or file.buffer:
        return None
    if file.form not in _WHAT:
        return None
    statement = statement_of(frame, None)
    told, why, fix = _WHAT[file.form]
    return Blame(
        message=f"The file `{_name(file)}` {told}{_start(file)}: "
        f"{bytes_text(file.size_bytes)}{_promised(file)}.",
        why=why,
        fix=f"{_capital(fix.replace('{path}', _path_text(statement)))}.",
        where=statement.line,
        evidence=file_evidence(file, statement),
        confidence=0.97,
        edit=_other_reader(statement) if file.form == "torchscript" else None,
    )


def _other_reader(statement: Statement) -> Edit | None:
    call = statement.call(["torch.load"])
    changed = f"torch.jit.load({_path_text(statement)})"
    return rewritten(statement.whole, call, changed) if call is not None else None


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _name(file: FileFact) -> str:
    return os.path.basename(file.path) or file.path


def _start(file: FileFact) -> str:
    return f", beginning with `{file.start}`" if file.start and file.form in ("json", "text", "html") else ""


def _promised(file: FileFact) -> str:
    return f", for a file of {bytes_text(file.expected_bytes)}" if file.expected_bytes else ""


def bytes_text(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size} byte{'' if size == 1 else 's'}"


def _path_text(statement: Statement) -> str:
    argument = statement.argument(["torch.load", "load"], 0, "f")
    return argument.text if argument is not None else "path"


def file_evidence(file: FileFact, statement: Statement) -> dict[str, float | str]:
    told: dict[str, float | str] = {"file": file.path, "size": bytes_text(file.size_bytes)}
    if file.form:
        told["form"] = file.form
    if file.start:
        told["start"] = file.start
    if file.free_bytes >= 0:
        told["free"] = bytes_text(file.free_bytes)
    return told | {"line": line_text(statement.line)}


def explain_absent_file(crash: CrashFact) -> Blame | None:
    """No such file, or a folder in its place; with what is there instead."""
    evidence, frame = crash.evidence.checkpoints, user_frame(crash)
    file = evidence.file if evidence is not None else None
    if file is None or frame is None or file.writing or file.buffer or crash.kind not in _ABSENT:
        return None
    if (file.exists and not file.folder) or any("torch/utils/data/" in item.file for item in crash.frames):
        return None  # a file that a dataset reads is one of its samples
    statement = statement_of(frame, None)
    message, fix, edit = _absence(file, statement)
    return Blame(
        message=message,
        why="A path that does not start with `/` is looked up from the folder the script was started in.",
        fix=fix,
        where=statement.line,
        evidence=file_evidence(file, statement) | {"near": ", ".join(file.near) or "none"},
        confidence=0.97,
        edit=edit,
    )


def explain_vanished_file(crash: CrashFact) -> Blame | None:
    """A file that was cut short when torch read it, and is gone by now."""
    evidence, frame = crash.evidence.checkpoints, user_frame(crash)
    file = evidence.file if evidence is not None else None
    if file is None or frame is None or file.writing or file.exists or _CUT_MESSAGE not in crash.message:
        return None
    statement = statement_of(frame, None)
    return Blame(
        message=f"The file `{_name(file)}` was cut short when torch.load read it.",
        why=f"{_CUT_SHORT} The file is gone by now, so its size could not be looked at.",
        fix=f"{_capital(_AGAIN)}.",
        where=statement.line,
        evidence={"file": file.path, "line": line_text(statement.line)},
        confidence=0.85,
    )


def _absence(file: FileFact, statement: Statement) -> tuple[str, str, Edit | None]:
    named = ", ".join(f"`{name}`" for name in file.near)
    if file.folder:
        inside = f"; it holds {named}" if named else ""
        return f"`{file.path}` is a folder and no file{inside}.", f"Name a file in it{_at(statement)}.", None
    folder = os.path.dirname(file.path) or "that folder"
    if not file.parent_exists:
        fix = f"Make the path right{_at(statement)}, or start the script where `{folder}` is."
        return f"There is no folder `{folder}`, so no file `{_name(file)}` in it.", fix, None
    if not named:
        fix = f"Make the path right{_at(statement)}, or save the checkpoint there first."
        return f"There is no file `{file.path}`, and no other checkpoint in its folder.", fix, None
    edit = rewritten(statement.whole, _name(file), file.near[0]) if len(file.near) == 1 else None
    fix = f"Write `{file.near[0]}` instead of `{_name(file)}`{_at(statement)}, if that is the one you mean."
    return f"There is no file `{file.path}`; the folder has {named}.", fix, edit


def _at(statement: Statement) -> str:
    return f" at {place_text(statement.line)}"


def explain_unread_buffer(crash: CrashFact) -> Blame | None:
    """A whole checkpoint in memory, read from its end: the buffer was not rewound after writing."""
    evidence, frame = crash.evidence.checkpoints, user_frame(crash)
    file = evidence.file if evidence is not None else None
    if file is None or frame is None or not file.buffer or file.form != "zip" or crash.kind != "EOFError":
        return None
    statement = statement_of(frame, None)
    change = _rewinding(statement)
    return Blame(
        message=f"torch.load began at the end of a buffer that holds a whole checkpoint "
        f"({bytes_text(file.size_bytes)}).",
        why="A buffer has one position for reading and writing; after torch.save it stands behind the last "
        "byte.",
        fix=f"{change.text}.",
        where=change.where,
        evidence={"size": bytes_text(file.size_bytes), "line": line_text(statement.line)},
        confidence=0.95,
        edit=change.edit,
    )


def _rewinding(statement: Statement) -> Change:
    place, name = statement.whole, _path_text(statement)
    text = f"Rewind it before {place_text(statement.line)}: `{name}.seek(0)`"
    if not name.isidentifier() or place.file is None or place.line is None or not place.code:
        return Change(text, None, statement.line)
    first = place.code.partition("\n")[0]
    return Change(text, Edit(place.file, place.line, first, f"{name}.seek(0)\n{first}"), statement.line)
