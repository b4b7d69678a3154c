"""The two models that stand beside the bootstrap, over baseline, XML, due rows: one per deployment, one pooled.

Source: unreliable-progress-bar, appendix M, "mixed-model robustness". Both come from statsmodels, of the `evals` extra.
What a fit cannot answer is *not estimable*, with the reason, and never a number that only looks like an answer.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.common.estimate import Estimate, not_estimable
from tallystick.evals.common.intervals import Z, numpy
from tallystick.evals.lifecycle.columns import Columns
from tallystick.evals.lifecycle.measures import INTERMEDIATE

_NO_VARIANCE: Final = 1e-6
"""Of the residual's variance, below which a scenario's is 0."""
_SEPARATED: Final = "separated: some stage is always or never clean, so the odds ratio has no finite estimate"


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """The pooled coefficient with each scenario left out in turn.

    Attributes:
        by_scenario: what each leaves.
        low, high: the range; None where none is estimable.
    """

    by_scenario: dict[str, Estimate]
    low: float | None
    high: float | None


def rows_of(c: Columns, arm: str = "baseline", encoding: str = "xml") -> Columns:
    """Return the rows both models are fitted to: one arm, one encoding, due, answered."""
    picked = c.only(arm=arm, encoding=encoding)
    return picked.where(picked.s & picked.due & (picked.stage >= 0))


def mixed(c: Columns) -> Estimate:
    """Fit `clean ~ intermediate` with a random intercept per scenario, linear, REML: a difference of probabilities.

    Args:
        c: one deployment's rows, from `rows_of`.
    """
    np = numpy()
    api = _statsmodels()
    outcome, before, groups = c.coded("CLEAN").astype(float), c.at(*INTERMEDIATE).astype(float), c.index["scenario"]
    size, clusters = len(c), len(np.unique(groups))
    reason = _unusable(outcome, before, clusters)
    if not reason and all(_constant(outcome[before == level]) for level in (0.0, 1.0)):
        reason = "degenerate: nothing varies within a stage, so there is no error to estimate"
    if reason:
        return not_estimable(reason, clusters=clusters, rows=size)
    exog = np.column_stack([np.ones(size), before])
    with _quiet():
        try:
            # Powell needs no gradient, which is singular where scenarios do not differ: variance at its bound of 0.
            fit = api.MixedLM(outcome, exog, groups=groups).fit(reml=True, method="powell")
        except (np.linalg.LinAlgError, ValueError) as bad:
            return not_estimable(f"the fit fails: {bad}", clusters=clusters, rows=size)
        if not fit.converged:
            return not_estimable("the fit does not converge", clusters=clusters, rows=size)
        found = _read(fit.params[1], fit.bse[1], clusters, size)
        bound = float(fit.cov_re[0][0]) < _NO_VARIANCE * float(fit.scale)
    note = "scenarios differ no more than chance: their variance is 0" if bound else ""
    return msgspec.structs.replace(found, why=found.why or note)


def pooled(c: Columns) -> Estimate:
    """Fit a logistic GEE of clean on intermediate with an effect per deployment, clustered by scenario: log odds ratio.

    The working correlation is independence and the errors are robust (*ours*; the source names neither). Deployments
    that are always or never clean say nothing about the coefficient and are left out; `why` names them.
    """
    np = numpy()
    api = _statsmodels()
    flat = [d for d in c.present("deployment") if _constant(c.coded("CLEAN")[c.named("deployment", d)])]
    c = c.where(~c.named("deployment", *flat))
    outcome, before, groups = c.coded("CLEAN").astype(float), c.at(*INTERMEDIATE).astype(float), c.index["scenario"]
    size, clusters = len(c), len(np.unique(groups))
    reason = _unusable(outcome, before, clusters) or _separation(outcome, before)
    if reason:
        return not_estimable(reason, clusters=clusters, rows=size)
    deployments = c.present("deployment")
    fixed = [c.named("deployment", d).astype(float) for d in deployments]
    exog = np.column_stack([before, *fixed])
    with _quiet():
        try:
            fit = api.GEE(outcome, exog, groups=groups, family=api.families.Binomial()).fit(maxiter=200)
        except (np.linalg.LinAlgError, ValueError) as bad:
            return not_estimable(f"the fit fails: {bad}", clusters=clusters, rows=size)
        if not fit.converged:
            return not_estimable("the fit does not converge", clusters=clusters, rows=size)
        found = _read(fit.params[0], fit.bse[0], clusters, size)
    note = f"left out, always or never clean: {', '.join(flat)}" if flat else ""
    return msgspec.structs.replace(found, why=found.why or note)


def without_each_scenario(c: Columns) -> LeftOut:
    """Return the pooled coefficient with each scenario left out in turn."""
    found = {name: pooled(c.where(~c.named("scenario", name))) for name in c.present("scenario")}
    values = [one.value for one in found.values() if one.value is not None]
    return LeftOut(by_scenario=found, low=min(values, default=None), high=max(values, default=None))


def _unusable(outcome: Any, before: Any, clusters: int) -> str:
    if not len(outcome):
        return "no rows"
    if _constant(before):
        return "only intermediate or only terminal rows"
    if _constant(outcome):
        return "degenerate: every row is clean" if outcome[0] else "degenerate: no row is clean"
    return "one scenario only" if clusters < 2 else ""


def _separation(outcome: Any, before: Any) -> str:
    """All rows of a level alike in every deployment means no finite log odds; a fit would stop somewhere large."""
    return _SEPARATED if any(_constant(outcome[before == level]) for level in (0.0, 1.0)) else ""


def _constant(values: Any) -> bool:
    return not len(values) or bool((values == values[0]).all())


def _read(value: float, se: float, clusters: int, rows: int) -> Estimate:
    value, se = float(value), float(se)
    if not (math.isfinite(value) and math.isfinite(se)) or se <= 0:
        return not_estimable("the fit has no finite standard error", clusters=clusters, rows=rows)
    return Estimate(
        value=value, se=se, low=value - Z * se, high=value + Z * se, p=math.erfc(abs(value / se) / math.sqrt(2)),
        clusters=clusters, rows=rows,
    )  # fmt: skip


@contextmanager
def _quiet() -> Iterator[None]:
    """What statsmodels warns about is checked on its results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _statsmodels() -> Any:
    try:
        return importlib.import_module("statsmodels.api")
    except ImportError:
        raise InputError(
            "the models need statsmodels", fix="install the `evals` extra: `pip install 'tallystick[evals]'`"
        ) from None
