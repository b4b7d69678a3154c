"""How a model is put before a case: our own loop, Inspect's ReAct agent, Pydantic AI's loop, and the SCGR front end.

All of them are given the same public task and tools (`opened.OpenCase`) and nothing else. None of them knows a case.
"""
