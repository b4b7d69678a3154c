"""Keeps the leases of live runs from expiring while a tool works, a model thinks or a person is asked."""

from __future__ import annotations

import threading
import weakref

from tallystick.runtime.journal import Journal


class Heartbeat:
    """One daemon thread for all runs of a guard; it ends when there is none left.

    A run whose process is killed is beaten no more, so its lease expires and another process may take over.
    """

    def __init__(self, ttl_seconds: float) -> None:
        self._ttl = ttl_seconds
        self._lock = threading.Lock()
        self._journals: weakref.WeakSet[Journal] = weakref.WeakSet()
        self._stop: threading.Event | None = None

    def add(self, journal: Journal) -> None:
        """Beat for this run from now on."""
        with self._lock:
            self._journals.add(journal)
            if self._stop is None:
                self._stop = threading.Event()
                threading.Thread(target=self._beat, args=(self._stop,), name="tallystick-lease", daemon=True).start()

    def remove(self, journal: Journal) -> None:
        """Beat no more for this run."""
        with self._lock:
            self._journals.discard(journal)
            if not self._journals and self._stop is not None:
                self._stop.set()
                self._stop = None

    def _beat(self, stop: threading.Event) -> None:
        while not stop.wait(self._ttl / 3):
            with self._lock:
                journals = list(self._journals)
            for journal in journals:
                if not journal.broken:
                    journal.renew(self._ttl)
