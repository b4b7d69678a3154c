"""Statements in prose: the values they mention, and what the record says of them. Pure: no I/O, no clock, no model."""
