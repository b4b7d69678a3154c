"""Tallystick: an agent's word is never authority; only evidence is."""

__version__ = "0.1.0.dev0"
