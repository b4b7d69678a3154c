"""What several evaluation suites share: seeded draws, intervals, statistics over clusters, folders of runs."""
