"""The ledger: append-only, hash-chained events of runs, with one fenced writer per run.

`store` is the port, `memory` and `sqlite` are its drivers, `keys` makes and loads Ed25519 keys, `export` writes a run
as a canonical file that ends in a signed head (`checkpoint`), and `verify` (with `fsck` for SQLite files) re-derives
everything from raw bytes by code that shares nothing with the writer.
"""
