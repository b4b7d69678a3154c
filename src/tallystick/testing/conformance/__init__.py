"""The suite every adapter passes: what a framework's loop must do with a guard in it, whatever its hooks are called.

An adapter's author writes one `Harness` (run a scripted model under a guard in your framework) and subclasses
`AdapterConformance` in a test file; pytest does the rest:

    class TestMine(AdapterConformance):
        @pytest.fixture
        def harness(self) -> Harness:
            return MyHarness()
"""

from tallystick.testing.conformance.port import Ask, Final, Harness, Model, Seen, Transcript, Turn, scripted
from tallystick.testing.conformance.suite import AdapterConformance
from tallystick.testing.conformance.world import CONTRACT, TASK, World

__all__ = [
    "CONTRACT",
    "TASK",
    "AdapterConformance",
    "Ask",
    "Final",
    "Harness",
    "Model",
    "Seen",
    "Transcript",
    "Turn",
    "World",
    "scripted",
]
