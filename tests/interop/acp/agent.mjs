// An agent on the protocol's official TypeScript SDK: it plays the reference workflow of each session, by HTTP to the user's
// apps. usage: agent.mjs SESSIONS.json

import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const told = JSON.parse(readFileSync(process.argv[2], "utf8"));
let server, asked = 0, turns = 0;

async function mcp(method, params) {
  const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  for (const { name, value } of server.headers) headers[name] = value;
  const notification = method.startsWith("notifications/");
  const message = { jsonrpc: "2.0", method, params, ...(notification ? {} : { id: ++asked }) };
  const answer = await fetch(server.url, { method: "POST", headers, body: JSON.stringify(message) });
  return notification ? undefined : (await answer.json()).result;
}

function find(path, saved) {
  const [name, ...parts] = path.trim().split(".");
  return parts.reduce((value, part) => value[part], saved[name]);
}

// As the built-in policy fills in what earlier calls gave.
function fill(value, saved) {
  if (Array.isArray(value)) return value.map((item) => fill(item, saved));
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, saved)]));
  if (typeof value !== "string") return value;
  const whole = /^\{\{((?:(?!\}\}).)*)\}\}$/.exec(value);
  if (whole) return find(whole[1], saved);
  return value.replace(/\{\{(.*?)\}\}/g, (_, path) => {
    const found = find(path, saved);
    return typeof found === "string" ? found : JSON.stringify(found);
  });
}

// A request that is a signal stands escaped in JSON.
function opens(session, message) {
  const line = session.request.trim().split("\n")[0];
  return message.includes(line) || message.includes(JSON.stringify(line).slice(1, -1));
}

async function work(message) {
  const workflow = told.find((one) => opens(one, message))?.reference ?? [];
  const saved = {}, said = [];
  for (const step of workflow) {
    if (step.say !== undefined) said.push(step.say.trim());
    else {
      const called = await mcp("tools/call", { name: step.tool, arguments: fill(step.arguments ?? {}, saved) });
      if (step.save) saved[step.save] = JSON.parse(called.content[0].text);
    }
  }
  return said.filter(Boolean).join("\n\n");
}

const app = agent({ name: "interop" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { mcpCapabilities: { http: true } },
  }))
  .onRequest(methods.agent.session.new, async ({ params }) => {
    server = params.mcpServers[0];
    const clientInfo = { name: "interop", version: "1" };
    await mcp("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    await mcp("notifications/initialized");
    return { sessionId: "one" };
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const message = params.prompt.map((block) => block.text).join("\n\n");
    const text = (turns++ === 0 && (await work(message))) || "Done.";
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
    await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    return { stopReason: "end_turn" };
  });

app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
