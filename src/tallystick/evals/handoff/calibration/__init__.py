"""A 180-item known-answer calibration set for the checker of artifacts, frozen before the checker's rules were written.

Twelve fictional tasks of our own in six domains, fifteen conditions with labels by construction, four languages. Source
of the idea: constraint weakening, appendix G ("a 180-item known-answer calibration"); the items are *ours*.
"""
