"""Evidence, not words: gates, a receipt ledger and audits for tool-using LLM agents.

The names here are what the package promises to keep; everything else may change.
"""

from tallystick.errors import ContractError, InputError, LedgerError, TallystickError

__version__ = "0.1.0.dev0"

__all__ = ["ContractError", "InputError", "LedgerError", "TallystickError"]
