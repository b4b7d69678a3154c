"""The static study: every policy over every snapshot, the ablations, the isolated faults, and what the paper reports.

`static()` runs the policies; no figure in its result is written down anywhere but under `published`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

import yaml

from tallystick.evals.termination import score
from tallystick.evals.termination.conditions import CONDITIONS, MATCHED, MEANING, OURS, isolated, study
from tallystick.evals.termination.critic import Critic
from tallystick.evals.termination.family import data
from tallystick.evals.termination.manifest import manifest_ok
from tallystick.evals.termination.policies import DETERMINISTIC, MODEL, ORDER, Policy, ect
from tallystick.evals.termination.snapshot import CLEAN, Decision, Labelled, Snapshot, Split
from tallystick.evals.termination.tasks import SEED
from tallystick.gates.certify import verify_certificate
from tallystick.model.certificate import CHECKS, Check

REFERENCE: Final = "critic_core"
"""What the difference is taken from: the inspected termination-critic core."""
LABEL: Final = "reconstructed to match the published counts"
SPLITS: Final[tuple[Split, ...]] = get_args(Split)
Progress = Callable[[int, int], None]


def static(
    *,
    seed: str = SEED,
    critic: Critic | None = None,
    out: Path | None = None,
    progress: Progress | None = None,
    policies: Mapping[str, Policy] = DETERMINISTIC,
    gate: Callable[..., Decision] = ect,
) -> dict[str, Any]:
    """Run the static study and return its figures.

    Args:
        seed: of the tasks; another one draws other tasks of the same make.
        critic: the model behind the full-trace critic; without one it is not run.
        out: folder where a model's answers are kept, so that an interrupted run goes on.
        progress: is told (snapshots a model has judged, of all).
        policies: name → policy; other ones than the study's own are for tests of the study.
        gate: what the ablations switch checks off in: takes a snapshot and `without`.

    Returns:
        `{"heldout", "development", "isolated", "published", "definitions", "conditions", "seed", "manifest_ok",
        "labels", "model"}`. Each split has `policies` (name → U, C, S, macro_f1, of, by_fault; null for a policy that
        was not run), `ablations` (check → delta_U, of, fault, by_fault), `difference` (points, low, high; percentage
        points of unsafe completions, ECT minus critic core) and `f9`.

    Raises:
        InputError: numpy is missing, a model's endpoint or the folder cannot be used.
    """
    everything = study(seed)
    decided = {name: [(s, policy(s.snapshot)) for s in everything] for name, policy in policies.items()}
    if critic is not None:
        said = critic.judge([s.snapshot for s in everything], out, progress)
        decided[MODEL] = list(zip(everything, said, strict=True))
    without = {check: _ablated(partial(gate, without=(check,)), everything) for check in CHECKS}
    with_all = _ablated(partial(gate, without=()), everything)
    told: dict[str, Any] = {
        split: _split(
            {name: _of(rows, split) for name, rows in decided.items()},
            {check: _of(rows, split) for check, rows in without.items()},
            _of(with_all, split),
        )
        for split in SPLITS
    }
    return {
        "heldout": told["heldout"],
        "development": told["development"],
        "isolated": {check: alone(check, isolated(seed)[check]) for check in CHECKS},
        "published": published(),
        "definitions": dict(score.DEFINITIONS),
        "conditions": {c: MEANING[c] for c in CONDITIONS},
        "labels": {name: LABEL for name in ORDER if name not in (MODEL, "ect")},
        "seed": seed,
        "manifest_ok": manifest_ok() if seed == SEED else None,
        "model": None if critic is None else {"name": critic.called, "prompt_sha256": critic.prompt_sha256},
    }


def published() -> dict[str, Any]:
    """Return the paper's figures, each with its place in the source; cells that the source lacks are null."""
    found: dict[str, Any] = yaml.safe_load(data("published.yaml"))
    return found


def alone(check: Check, faults: Sequence[Labelled]) -> dict[str, Any]:
    """Return what the verifier says of a check's isolated faults, and of the same with that check switched off.

    Returns:
        `{"of", "refused", "only", "flipped"}`: how many there are; how many are refused; for how many no other check
        has a deficit; how many are complete once the check is off.
    """
    refused = only = flipped = 0
    for one in faults:
        shot = one.snapshot
        assert shot.shown.certificate is not None
        found = verify_certificate(shot.view, shot.contract, shot.shown.certificate)
        refused += not found.complete
        only += {d.check for d in found.deficits} == {check}
        flipped += not found.complete and ect(shot, without=(check,)) == "complete"
    return {"of": len(faults), "refused": refused, "only": only, "flipped": flipped}


def _ablated(gate: Callable[[Snapshot], Decision], everything: Sequence[Labelled]) -> list[tuple[Labelled, Decision]]:
    return [(s, gate(s.snapshot)) for s in everything]


def _of(rows: Sequence[tuple[Labelled, Decision]], split: Split) -> list[tuple[Labelled, Decision]]:
    return [(s, d) for s, d in rows if s.split == split]


def _split(
    decided: Mapping[str, score.Decided], without: Mapping[Check, score.Decided], with_all: score.Decided
) -> dict[str, Any]:
    policies: dict[str, Any] = dict.fromkeys(ORDER)
    for name, rows in decided.items():
        policies[name] = {**score.counts(rows), "by_fault": score.by_fault(rows)}
    ablations = {}
    for check, rows in without.items():
        effects: dict[str, int] = {
            c: score.unsafe(rows, c) - score.unsafe(with_all, c) for c in CONDITIONS if c != CLEAN
        }
        fault = MATCHED[check]
        of = sum(s.condition == fault for s, _ in rows)
        ablations[check] = {"delta_U": effects[fault], "of": of, "fault": fault, "by_fault": effects}
    return {
        "policies": policies,
        "ablations": ablations,
        "difference": score.difference(decided["ect"], decided[REFERENCE]),
        "f9": {
            name: {"U": score.unsafe(rows, OURS), "of": sum(s.condition == OURS for s, _ in rows)}
            for name, rows in decided.items()
        },
    }
