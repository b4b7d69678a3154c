"""What is added to the agent's instructions: one block. The wording is *ours*, the four values are the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tallystick.gates.stage import Stage
from tallystick.progress import TAU2_STAGES

COMPLETED: Final = TAU2_STAGES[-1]
DUTY: Final = """<progress_reports>
End every message to the customer with one tag that says how far the task has come. It stands alone on the last line:
<stage>VALUE</stage>
VALUE is exactly one of
- NEEDS_INFO: you are still gathering information, and nothing has been changed yet.
- READY: you are about to act, and nothing has been changed yet.
- POST_OBS: something has been changed, by you or by the customer, and the task is not done yet.
- COMPLETED: nothing remains to be done.
Each message to the customer has exactly one tag. The customer's system removes it before the message is shown.
Messages in which you call a tool have none.
</progress_reports>
"""
"""The instruction block, which stands after the policy."""
ACCEPTED: Final[Mapping[Stage, tuple[str, ...]]] = {
    Stage.READY: ("NEEDS_INFO", "READY"),
    Stage.POST_OBS: ("POST_OBS",),
    Stage.COMPLETED: (COMPLETED,),
}
"""The values that are right at a stage. State cannot tell gathering from being ready: before action both are."""
PLACES: Final[Mapping[Stage, str]] = {Stage.READY: "pre", Stage.POST_OBS: "mid", Stage.COMPLETED: "completed"}
"""How checkpoints of a stage are called."""
