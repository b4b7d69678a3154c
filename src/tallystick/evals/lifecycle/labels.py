"""The four evidence labels. They bound what a table may be read as saying. Source: the seed's appendix C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Label = Literal["Observational", "Controlled intervention", "Post-treatment descriptive", "Audit/engineering"]
LABELS: Final[Mapping[Label, str]] = {
    "Observational": "conditional distributions without an intervention",
    "Controlled intervention": "only the total effect of the treatment that was changed",
    "Post-treatment descriptive": "conditions on an event that a treatment induces, such as that a report was emitted",
    "Audit/engineering": "established from runtime order, source or traces",
}
"""Each label with what it allows. None establishes an internal representation or an intention."""
