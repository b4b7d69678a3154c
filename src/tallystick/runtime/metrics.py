"""How accurate a model's progress reports are, as OpenTelemetry counters: outcomes and stages, never content.

Needs the extra `otel` (the API only; the host brings an SDK and says where numbers go). Nothing of it is imported
unless a guard is asked to count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.gates.stage import Stage
from tallystick.progress import Agreement

REPORTS: Final = "tallystick.progress.reports"
OUTCOME: Final = "tallystick.report.outcome"
STAGE: Final = "tallystick.stage"

Count = Callable[[Agreement, Stage], None]
"""Called once per report, with how it stands to the stage and the stage as derived."""


def report_counter(metrics: Any) -> Count | None:
    """Return what counts reports, or None where nobody asked.

    Args:
        metrics: None or False: nothing; True: OpenTelemetry's global meter provider; else a meter provider.

    Raises:
        InputError: it is none of these, or OpenTelemetry's API is not installed.
    """
    if metrics is None or metrics is False:
        return None
    if metrics is True:
        try:
            from opentelemetry.metrics import get_meter_provider  # noqa: PLC0415 - an extra, only where it is wanted
        except ImportError as bad:
            raise InputError("metrics need OpenTelemetry's API", where="metrics",
                             fix="pip install 'tallystick[otel]'") from bad  # fmt: skip
        metrics = get_meter_provider()
    if not callable(getattr(metrics, "get_meter", None)):
        raise InputError(f"a {type(metrics).__name__} is no meter provider", where="metrics",
                         fix="True, or an OpenTelemetry MeterProvider")  # fmt: skip
    counter = metrics.get_meter("tallystick").create_counter(
        REPORTS, unit="{report}", description="Progress reports of the model, by how they stand to the derived stage."
    )

    def count(agreement: Agreement, stage: Stage) -> None:
        counter.add(1, {OUTCOME: agreement, STAGE: str(stage)})

    return count
