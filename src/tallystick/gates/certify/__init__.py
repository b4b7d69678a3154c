"""Certificates: completing claims into one, and the six checks that decide whether it holds."""

from tallystick.gates.certify.binding import bind
from tallystick.gates.certify.deficits import Deficit, Verified
from tallystick.gates.certify.verify import verify_certificate

__all__ = ["Deficit", "Verified", "bind", "verify_certificate"]
