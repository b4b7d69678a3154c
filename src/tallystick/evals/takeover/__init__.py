"""The takeover suite: what becomes of a half-done task when another model finishes it, from the same reached state.

Source: residual completion (CFRC), section 4. Surfaces bring frontiers, stages finish them, measures count.
"""
