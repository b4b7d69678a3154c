"""The MCP gateway: a relay in front of any MCP server that puts every `tools/call` before the gates.

What it need not read it relays byte for byte. `frames` reads JSON-RPC lines, `session` is one connection without any
I/O, `flight` drives a guarded call from frames instead of a thread, `stdio` and `http` are the two transports.
"""
