// Calls tools one after the other with the client of @modelcontextprotocol/sdk and prints what came back, one JSON
// object a line. Usage: node client.mjs '[["tool", {…}], …]' (URL | COMMAND ARGS…)
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [calls, target, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
await client.connect(
  target.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args, env: process.env, stderr: "ignore" }),
);
console.log(JSON.stringify((await client.listTools()).tools.map((tool) => tool.name)));
for (const [name, given] of JSON.parse(calls)) {
  try {
    console.log(JSON.stringify(await client.callTool({ name, arguments: given })));
  } catch (bad) {
    console.log(JSON.stringify({ thrown: bad.message }));
  }
}
await client.close();
