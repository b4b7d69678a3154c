"""What a model says about progress, read exactly. A report is a claim: compared with the stage, never believed."""

from tallystick.progress.agreement import AGREEMENTS, Agreement, Reports, Said, compared, stage_named
from tallystick.progress.duty import instructions
from tallystick.progress.report import ENCODINGS, STAGES, TAU2_STAGES, Encoding, Report, parse_report

__all__ = [
    "AGREEMENTS",
    "ENCODINGS",
    "STAGES",
    "TAU2_STAGES",
    "Agreement",
    "Encoding",
    "Report",
    "Reports",
    "Said",
    "compared",
    "instructions",
    "parse_report",
    "stage_named",
]
