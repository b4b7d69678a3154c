"""Which deployments a study counts: prechecks of identity and transport, lanes that came through, reasons of the rest.

Source: unreliable-progress-bar, appendices H, J and T. No excluded deployment consumes a denominator; failures are
counted on denominators of their own, and nothing is imputed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from tallystick.evals.common.intervals import Interval, wilson
from tallystick.evals.lifecycle.row import Row

LANE: Final = 0.95
"""Share of planned replies a lane must have; the source's for its follow-up, ours as an option for every study."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """What a precheck found of one deployment.

    Attributes:
        probes, answered: short requests made, and those with a complete response.
        needed: answers below which transport fails; the source's bar is 18 of 20.
        asked: the model's name as asked for.
        served: the names that came back; none where the endpoint states none.
    """

    deployment: str
    probes: int
    answered: int
    needed: int
    asked: str = ""
    served: tuple[str, ...] = ()


class Excluded(msgspec.Struct, frozen=True, kw_only=True):
    """A planned deployment that is not counted, and why."""

    deployment: str
    reason: str


class Transport(msgspec.Struct, frozen=True, kw_only=True):
    """Replies that did not come, on their own denominator."""

    failed: int
    of: int
    wilson: Interval | None


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """Who was planned, who counts, who does not and why, and what was lost on the way.

    Attributes:
        planned: deployments, in order.
        admitted: those whose rows are scored.
        excluded: the others.
        transport: deployment → replies lost among all asked for, excluded deployments included.
        identity: deployment → (prechecks whose identity failed, prechecks made).
    """

    planned: tuple[str, ...]
    admitted: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    transport: dict[str, Transport]
    identity: dict[str, tuple[int, int]]


def unfit(check: Check) -> str:
    """Return why a precheck does not admit, or "". A name counts if it is the one asked for or a dated form of it."""
    if check.answered < check.needed:
        return f"transport: {check.answered} of {check.probes} probes answered, {check.needed} needed"
    other = [s for s in check.served if check.asked and s != check.asked and not s.startswith(f"{check.asked}-")]
    return f"identity: asked for `{check.asked[:80]}`, served by `{other[0][:80]}`" if other else ""


def admit(
    planned: Sequence[str],
    checks: Iterable[Check],
    rows: Iterable[Row],
    *,
    expected: Mapping[str, int] | None = None,
    lane: float = LANE,
    exempt: Iterable[str] = (),
) -> tuple[Admission, list[Row]]:
    """Return who is admitted, and the rows that count.

    Args:
        planned: every deployment of the study's plan.
        checks: their prechecks; a deployment without one is excluded.
        rows: all rows, of whomever. Those of a deployment that was not planned are excluded like the others.
        expected: deployment → replies planned; a lane with fewer valid ones than `lane` of them is excluded. Without
            it no lane is judged.
        lane: that share.
        exempt: deployments that need no precheck: scripted reporters.
    """
    found: dict[str, list[Check]] = {}
    for check in checks:
        found.setdefault(check.deployment, []).append(check)
    lanes: dict[str, list[Row]] = {}
    for row in rows:
        lanes.setdefault(row.deployment, []).append(row)
    names = tuple(dict.fromkeys([*planned, *lanes]))
    free, plan = set(exempt), set(planned)
    reasons = {}
    for name in names:
        valid = sum(row.reply.valid for row in lanes.get(name, ()))
        reason = "" if name in plan else "not planned"
        if not reason and name not in free:
            # The last precheck decides; earlier ones were attempts to get there.
            reason = unfit(found[name][-1]) if name in found else "no precheck"
        wanted = (expected or {}).get(name, 0)
        if not reason and wanted and valid < lane * wanted:
            reason = f"lane: {100 * valid / wanted:.1f}% of {wanted} replies came, {100 * lane:g}% needed"
        if not reason and not valid:
            reason = "no data"
        reasons[name] = reason
    admission = Admission(
        planned=tuple(planned),
        admitted=tuple(n for n in names if not reasons[n]),
        excluded=tuple(Excluded(deployment=n, reason=reasons[n]) for n in names if reasons[n]),
        transport={n: _lost(lanes.get(n, [])) for n in names},
        identity={n: (sum("identity" in unfit(c) for c in found.get(n, ())), len(found.get(n, ()))) for n in names},
    )
    counted = set(admission.admitted)
    return admission, [row for name in names if name in counted for row in lanes[name]]


def _lost(rows: Sequence[Row]) -> Transport:
    failed = sum(not row.reply.valid for row in rows)
    return Transport(failed=failed, of=len(rows), wilson=wilson(failed, len(rows)))
