"""The duty on τ²-bench."""
