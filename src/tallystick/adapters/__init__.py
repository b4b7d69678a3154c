"""Adapters: one file per agent framework, the same verbs in each. A framework is imported only when its file is."""
