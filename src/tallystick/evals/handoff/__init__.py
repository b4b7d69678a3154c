"""Operational state preservation across handoffs: suite, calibration set and statistics."""
