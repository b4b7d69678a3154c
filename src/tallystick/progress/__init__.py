"""What a model says about progress, read exactly. A report is a claim: compared with the stage, never believed."""

from tallystick.progress.report import ENCODINGS, STAGES, TAU2_STAGES, Encoding, Report, parse_report

__all__ = ["ENCODINGS", "STAGES", "TAU2_STAGES", "Encoding", "Report", "parse_report"]
