"""The invoice desk as a server made with the `mcp` package: python desk_mcp.py DESK."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

from tallystick.demo.desk import Desk

server = MCPServer("desk")
for name, tool in Desk(sys.argv[1]).tools().items():
    server.add_tool(tool, name=name)
server.run("stdio")
