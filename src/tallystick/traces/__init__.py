"""Importers: recorded conversations of other systems, as neutral traces.

`read` takes a file or folder, `parse` takes bytes, `detect` names the format. Nothing is guessed: what cannot be read
or paired becomes `TraceDamage` with a code, and importing the same bytes again gives the same traces.
"""

from tallystick.traces.files import Skipped, find, read, read_file
from tallystick.traces.formats import FORMATS, detect, parse
from tallystick.traces.to_events import to_events

__all__ = ["FORMATS", "Skipped", "detect", "find", "parse", "read", "read_file", "to_events"]
