"""Certificates as documents: bound and verified at a stop, signed in a DSSE envelope, checked offline by anybody.

`stopping` judges a stop and binds its certificate, `envelope` signs and opens, `record` finds a run's certificate in
its events, and `check` is the offline check of a certificate against an export under a pinned key.
"""
