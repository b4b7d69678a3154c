"""Tests of the demo world."""
