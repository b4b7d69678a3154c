"""The `tallystick` command. Every command is a thin shell over the library: it reads files, calls, prints."""

from tallystick.cli.app import main

__all__ = ["main"]
