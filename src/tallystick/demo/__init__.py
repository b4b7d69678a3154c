"""The invoice desk, and the demo that runs on it. All of it is simulated."""
