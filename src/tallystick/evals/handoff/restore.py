"""Fixed artifacts with fields put back: the lines of the record's own block, all of them or some.

A whole block is what the handoff gate would insert. Some of its lines are a partial block, which never decides
anything by the precedence; the plain reading judges their words like any others. Nothing of the artifact is changed.
Source: constraint weakening, sections 6.1 and appendices D.2 and E.1; that the block is Tallystick's is *ours*.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tallystick.evals.handoff.record import BLOCKER, record
from tallystick.evals.handoff.task import FIELDS
from tallystick.handoff import with_block
from tallystick.handoff.carrier import BEGIN, blocker_lines

RESTORE: Final[Mapping[str, tuple[str, ...]]] = {
    "none": (), **{field: (field,) for field in FIELDS}, "all": FIELDS,
}  # fmt: skip
"""Component restoration (table 14): arm → fields put back."""
LEAVE_OUT: Final[Mapping[str, tuple[str, ...]]] = {
    "none": (), "all": FIELDS, **{f"without {field}": tuple(f for f in FIELDS if f != field) for field in FIELDS},
}  # fmt: skip
"""Leave-one-field-out (table 3)."""
_WITH_STATUS: Final = ("status", "removes")
"""What the actions are that a stop removes goes with the stop."""


def restored(artifact: str, about: str, fields: tuple[str, ...]) -> str:
    """Return an artifact with some of the record's fields before it.

    Args:
        artifact: the text as it is.
        about: id of the task.
        fields: of `FIELDS`; all four give the whole block of the record, none the artifact itself.
    """
    if not fields:
        return artifact
    carrier = record(about).carrier
    if set(fields) == set(FIELDS):
        return str(with_block(artifact, "text", carrier))
    blocker = carrier.blocker(BLOCKER)
    assert blocker is not None  # the record was made with it
    wanted = {name for field in fields for name in (_WITH_STATUS if field == "status" else (field,))}
    lines = [line for name, line in blocker_lines(blocker).items() if name in wanted]
    return "\n".join([BEGIN, *lines, artifact])
