"""Handing over: the open blockers of a run as a typed block beside every artifact, compared with the ledger.

`carrier_of` says what has to travel, `transfer` judges an artifact and repairs it, `repair` only repairs, `compare`
only compares. All pure; `runtime.handing` records what comes of it.
"""

from tallystick.handoff.carrier import Blocker, Carrier, Resolved, carrier_from, carrier_of, render
from tallystick.handoff.compare import Compared, Foreign, Held, Loss, compare, held_by
from tallystick.handoff.forms import FORMS, Form, blocks, form_of, prose, prose_text, with_block
from tallystick.handoff.transfer import Transfer, repair, transfer

__all__ = [
    "FORMS", "Blocker", "Carrier", "Compared", "Foreign", "Form", "Held", "Loss", "Resolved", "Transfer", "blocks",
    "carrier_from", "carrier_of", "compare", "form_of", "held_by", "prose", "prose_text", "render", "repair",
    "transfer", "with_block",
]  # fmt: skip
