"""Fit the checker's weights on labelled artifacts: `python benchmarks/handoff_checker_fit.py FILE... [--write]`.

FILEs as for `handoff_checker.py`; a FILE written `NAME@2` counts twice, for texts that are most like those the checker
is for. Without `--write` nothing is changed: each task's artifacts are read with weights fitted on all other tasks, and
the scores of that are printed for every FILE. Which phrases have a weight is counted over all, without labels. The
development half of the calibration set is always among what is fitted on; its other half never is. Needs numpy (the
`dev` extra).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

try:
    from benchmarks.handoff_checker import compared, rows
except ImportError:  # run as a file
    from handoff_checker import compared, rows

from tallystick.errors import TallystickError
from tallystick.evals.handoff.calibration.build import items
from tallystick.handoff import checker
from tallystick.handoff.checker import Profile
from tallystick.handoff.checker.judging import retained
from tallystick.handoff.checker.phrases import FIELDS, MOST, phrases
from tallystick.handoff.checker.reading import read
from tallystick.handoff.checker.signals import SAYINGS, signals

PACKAGE = Path(checker.__file__).parent
KINDS = sorted(SAYINGS)
VARIANTS = Path(__file__).with_name("handoff_checker_variants.json")
RIDGE = 1.5
"""Of the logistic weights, towards `handoff_checker_priors.json`."""
PHRASE_RIDGE = 0.5
PHRASE_SCALE = 4.0
"""What one unit of a phrase score (labels are -1 and 1) counts in logits."""
VARIANT = 0.3
"""What a text with an added line counts beside one that was written as it is."""
TASKS = 8
"""In how many tasks a phrase has to be met; fewer make it a phrase of a task, not of the language."""
LABEL = {"preserves": "preserves_as_blocker"}


def variants(labelled: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return texts with a line added that changes a label in a known way: a release, a lost fallback, or nothing."""
    lines = json.loads(VARIANTS.read_text(encoding="utf-8"))
    out = []
    for n, r in enumerate(labelled):
        label = r["label_final"]
        actions = [a.replace("_", " ") for a in r["task"]["removed_actions"]]
        way = str(r["task"]["z"]["fallback"]).rstrip(".")
        if r["artifact"].startswith(("{", "[")) or not r["artifact"].isascii() or not actions:
            continue
        kind = ("released", "fallback_lost", "neutral", "released")[n % 4]
        if kind == "released" and not label["preserves_as_blocker"]:
            continue
        if kind == "fallback_lost" and not label["r_f"]:
            continue
        act = actions[n % len(actions)]
        line = lines[kind][n // 4 % len(lines[kind])].format(act=act, past=f"we {act}", way=way[0].lower() + way[1:])
        changed = {"released": {"preserves_as_blocker": 0}, "fallback_lost": {"r_f": 0}, "neutral": {}}[kind]
        text = f"{line}\n{r['artifact']}" if n % 5 == 0 and kind != "released" else f"{r['artifact']}\n{line}"
        out.append(r | {"artifact": text, "label_final": label | changed})
    return out


class Sample:
    """Artifacts as numbers: what was read in each, what its labels are, and which task it belongs to."""

    def __init__(self, labelled: list[dict[str, Any]], weight: list[float] | None = None) -> None:
        added = variants(labelled)
        self.weight = np.array([*(weight or [1.0] * len(labelled)), *[VARIANT] * len(added)])
        self.given = len(labelled)
        labelled = [*labelled, *added]
        self.labelled = labelled
        readings = [read(r["task"], r["artifact"]) for r in labelled]
        self.kinds = [Counter(s.kind for s in signals(r)) for r in readings]
        self.phrases = [phrases(r) for r in readings]
        self.tasks = np.array([str(r["task"].get("id")) for r in labelled])
        self.counts = np.array([[min(2, c[k]) for k in KINDS] + [1] for c in self.kinds], float)
        self.labels = {f: np.array([float(r["label_final"][LABEL.get(f, f)]) for r in labelled]) for f in FIELDS}


def logistic(x: Any, t: Any, w: Any, start: Any) -> Any:
    """Ridge logistic weights around `start`, by Newton's method."""
    b = start.copy()
    for _ in range(60):
        p = 1 / (1 + np.exp(-np.clip(x @ b, -30, 30)))
        step = np.linalg.solve(
            (x * (w * p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(len(b)), x.T @ (w * (p - t)) + RIDGE * (b - start)
        )
        b = b - step
        if np.abs(step).max() < 1e-6:
            break
    return b


def signal_weights(sample: Sample, chosen: Any) -> dict[str, Any]:
    """Weights of the kinds of signal, field by field; a kind without a prior for a field has no weight for it."""
    priors = json.loads((Path(__file__).parent / "handoff_checker_priors.json").read_text(encoding="utf-8"))
    out = {}
    for f in FIELDS:
        mask = np.array([float(k in priors[f]) for k in [*KINDS, "bias"]])
        start = np.array([priors[f].get(k, 0.0) for k in [*KINDS, "bias"]])
        out[f] = logistic(sample.counts[chosen] * mask, sample.labels[f][chosen], sample.weight[chosen], start) * mask
    return out


def vocabulary(sample: Sample) -> dict[str, int]:
    """Phrases that are met in `TASKS` tasks or more."""
    where = defaultdict(set)
    for found, task in zip(sample.phrases, sample.tasks, strict=True):
        for phrase in found:
            where[phrase].add(task)
    return {p: n for n, p in enumerate(sorted(p for p, tasks in where.items() if len(tasks) >= TASKS))}


def incidence(found: Iterable[frozenset[str]], known: dict[str, int]) -> Any:
    """Artifacts by phrases, each row of length one."""
    kept = [[known[p] for p in each if p in known] for each in found]
    x = np.zeros((len(kept), len(known)))
    for n, at in enumerate(kept):
        x[n, at] = 1 / np.sqrt(max(1, len(at)))
    return x


def kernel(sample: Sample, x: Any) -> Any:
    """The ridge kernel of the artifacts, turned round; what counts less may be missed by more."""
    return np.linalg.inv(x @ x.T + PHRASE_RIDGE * np.diag(1 / sample.weight))


def targets(sample: Sample, field: str) -> tuple[Any, float]:
    """Labels as -1 and 1 around their mean, and the mean."""
    t = sample.labels[field] * 2 - 1
    middle = float(np.average(t, weights=sample.weight))
    return t - middle, middle


def phrase_weights(sample: Sample, known: dict[str, int]) -> tuple[dict[str, Any], dict[str, float]]:
    """Ridge regression of labels of -1 and 1 on phrases: weights and constants, in logits."""
    x = incidence(sample.phrases, known)
    turned = kernel(sample, x)
    weights, constants = {}, {}
    for f in FIELDS:
        t, middle = targets(sample, f)
        weights[f] = PHRASE_SCALE * (x.T @ (turned @ t))
        constants[f] = PHRASE_SCALE * middle
    return weights, constants


def leanings_apart(sample: Sample) -> dict[str, Any]:
    """What phrases make of each artifact by weights of all other tasks, in logits: the closed form of leaving out."""
    turned = kernel(sample, incidence(sample.phrases, vocabulary(sample)))
    out = {}
    for f in FIELDS:
        t, middle = targets(sample, f)
        dual, lean = turned @ t, np.zeros(len(t))
        for task in set(sample.tasks):
            at = np.flatnonzero(sample.tasks == task)
            lean[at] = t[at] - np.linalg.solve(turned[np.ix_(at, at)], dual[at])
        out[f] = PHRASE_SCALE * (lean + middle)
    return out


def crossed(sample: Sample) -> list[dict[str, int]]:
    """Code every artifact with weights from all other tasks."""
    coded: list[dict[str, int]] = [{} for _ in sample.labelled]
    given = np.arange(len(sample.labelled)) < sample.given
    leans = leanings_apart(sample)
    for task in sorted(set(sample.tasks)):
        spoken = signal_weights(sample, np.flatnonzero(sample.tasks != task))
        for n in np.flatnonzero((sample.tasks == task) & given):
            kept = retained(
                {f: float(sample.counts[n] @ spoken[f] + np.clip(leans[f][n], -MOST[f], MOST[f])) for f in FIELDS},
                sample.kinds[n],
            )
            force = kept.pop("preserves")
            coded[n] = Profile(
                trajectory=sample.labelled[n]["trajectory"], preserves_as_blocker=force,
                caveat_or_later_check_or_omission=not force, **kept,
            ).row()  # fmt: skip
    return coded


def write(sample: Sample) -> None:
    """Fit on everything and write `weights.json` and `phrases.json` of the checker."""
    every = np.arange(len(sample.labelled))
    spoken = signal_weights(sample, every)
    known = vocabulary(sample)
    leaning, constant = phrase_weights(sample, known)
    signs = {f: {k: round(float(w), 1) for k, w in zip([*KINDS, "bias"], spoken[f], strict=True) if w} for f in FIELDS}
    table = {
        "bias": [round(constant[f], 2) for f in FIELDS],
        "weights": {p: [round(float(leaning[f][n]), 2) for f in FIELDS] for p, n in known.items()},
    }
    (PACKAGE / "weights.json").write_text(json.dumps(signs, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    lines = ",\n".join(f"{json.dumps(p, ensure_ascii=False)}: {json.dumps(row)}" for p, row in table["weights"].items())
    (PACKAGE / "phrases.json").write_text(
        f'{{"bias": {json.dumps(table["bias"])}, "weights": {{\n{lines}\n}}}}\n', encoding="utf-8"
    )


def counting(name: str) -> tuple[Path, float]:
    """Read `FILE` or `FILE@2`."""
    path, mark, by = name.rpartition("@")
    if not mark or not by.replace(".", "", 1).isdigit() or float(by) <= 0:
        return Path(name), 1.0
    return Path(path), float(by)


def main(argv: list[str] | None = None) -> int:
    """Cross-validate, or fit and write; 2 for a file that cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE", help="labelled artifacts; FILE@2 counts each of them twice")
    parser.add_argument("--write", action="store_true", help="fit on all files and write the checker's tables")
    args = parser.parse_args(argv)
    try:
        counted = [counting(name) for name in args.files]
        files = {path: rows(path) for path, _ in counted}
    except TallystickError as bad:
        print(f"error: {bad}", file=sys.stderr)
        return 2
    beside = [
        {"id": i.id, "task": i.task, "artifact": i.artifact, "trajectory": i.trajectory, "label_final": i.labels}
        for i in items() if i.half == "dev"
    ]  # fmt: skip
    weight = [by for path, by in counted for _ in files[path]] + [1.0] * len(beside)
    sample = Sample([r for labelled in files.values() for r in labelled] + beside, weight)
    if args.write:
        write(sample)
        return 0
    coded = crossed(sample)
    at = 0
    for path, labelled in files.items():
        report = compared(labelled, coded[at : at + len(labelled)])
        at += len(labelled)
        print(path.name, report["n"], " ".join(f"{f} {v:.3f}" for f, v in report["macro_f1"].items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
