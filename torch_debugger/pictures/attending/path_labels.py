"""Paths of modules beside their maps: long ones made short, so that no two of them look alike."""

from __future__ import annotations


def path_label(path: str, longest: int) -> str:
    """`encoder.b.0.l.0.SelfAttention`: names become initials, from the right, until it fits; then it is cut.

    The numbers and the ends of a path tell layers apart: the decoder's first block from the encoder's.
    """
    parts = path.split(".")
    for place in (*range(len(parts) - 2, 0, -1), 0):
        if len(".".join(parts)) <= longest or len(parts) == 1:
            break
        parts[place] = parts[place] if parts[place].isdigit() else parts[place][:1]
    label = ".".join(parts)
    return label if len(label) <= longest else f"…{label[1 - longest :]}"
