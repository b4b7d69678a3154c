"""What was said in a run, as expressions read it: `talk.user`, `talk.last`, `talk.shown`, `talk.heard`.

Words are no evidence that something happened. They are evidence of what the user said, and of what the user had been
told before answering: that is what a contract may ask for (an amount disclosed, a reason given, a choice made).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tallystick.view.state import State


class Talk(Mapping[str, str]):
    """The talk of a run so far; each part is put together when an expression asks for it.

    Keys:
        user: everything the user said.
        last: the user's last message.
        shown: what the agent said before the user's last message, so that the user has answered it.
        heard: `user` and `shown` together.
    """

    __slots__ = ("_made", "_state")

    def __init__(self, state: State) -> None:
        self._state = state
        self._made: dict[str, str] = {}

    def __getitem__(self, key: str) -> str:
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]

    def _make(self, key: str) -> str:
        talk = self._state.talk
        answered = next((i for i in range(len(talk) - 1, -1, -1) if talk[i][0] == "user"), -1)
        match key:
            case "user":
                return "\n".join(text for who, text in talk if who == "user")
            case "last":
                return talk[answered][1] if answered >= 0 else ""
            case "shown":
                return "\n".join(text for who, text in talk[: answered + 1] if who == "agent")
            case "heard":
                return "\n".join(text for _, text in talk[: answered + 1])
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(("user", "last", "shown", "heard"))

    def __len__(self) -> int:
        return 4
