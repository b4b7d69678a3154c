"""Mining: what good trajectories have in common, weighed by the act gate itself."""
