// What the browser tests stand on: runs of the embedded suite, reports of them, a browser with a fresh profile.

import { execFile, execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

export const ROOT = resolve(import.meta.dirname, "../..");
export const PROGRAM = join(ROOT, "target/release/pibench-host");
/** Screenshots, for people to look at. */
export const SHOTS = join(ROOT, "target/browser");

export const dir = mkdtempSync(join(tmpdir(), "pibench-browser-"));
export const at = (...parts) => join(dir, ...parts);

export function run(...args) {
  return execFileSync(PROGRAM, args, { cwd: dir, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PIBENCH_CACHE: join(ROOT, "target/test-cache") } });
}

/** What a judge's or user agent's prompt wants said: that nothing is met, and that the user asks for the same again. */
function judged(system, prompt) {
  const lines = system.split("\n");
  const message = lines.indexOf("<the message>");
  if (message >= 0) return [lines[message - 1], "Is that all?", lines[message + 1]].join("\n");
  const [, nonce] = system.match(/=== (\S+) ITEM/);
  const items = [...prompt.split("\n# ").at(-1).matchAll(/^(\d+)\. (.+)$/gm)];
  const end = system.includes("REASON:") ? "REASON: it comes first" : "EVIDENCE: none\nVERDICT: NO";
  const blocks = items.map(([, number, text]) => `=== ${nonce} ITEM ${number} ===\nTEXT: ${text}\n${end}`);
  return (system.includes("REASON:") ? blocks.slice(0, 1) : blocks).join("\n");
}

/** A model that plays all three roles: an agent that does nothing, whose work is found to be nothing. */
export async function serveModel() {
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await request.toArray()).join(""));
    const [system, prompt] = body.messages.map((message) => message.content);
    const content = system.startsWith("This is a check") ? "OK" : body.tools?.length ? `Done by ${body.model}.` : judged(system, prompt);
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: "1", object: "chat.completion", created: 0, model: body.model, choices, usage }));
  });
  await new Promise((listens) => server.listen(0, "127.0.0.1", listens));
  // A test that fails before it closes the server ends all the same.
  server.unref();
  const env = { ...process.env, PIBENCH_CACHE: join(ROOT, "target/test-cache"), OPENAI_API_KEY: "none",
    OPENAI_BASE_URL: `http://127.0.0.1:${server.address().port}/v1` };
  const runs = (...args) => promisify(execFile)(PROGRAM, args, { cwd: dir, env });
  return { runs, close: () => server.close() };
}

/** Plays one persona's episode twice. */
export function play(out, agent) {
  run("run", join(ROOT, "tasks/suite.toml"), "--persona", "law_trainee", "--agent", agent, "--runs", "2", "--out", out);
}

/** The address of a report of some runs. */
export function report(out, ...runs) {
  run("report", ...runs, "--out", out);
  return pathToFileURL(at(out, "index.html")).href;
}

export const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));
export const writeJson = (path, value) => writeFileSync(path, JSON.stringify(value));

/** Markup, script, links, formulas, turned text; it may stand in the name of a file. */
export const HOSTILE = "<img src=x onerror=\"window.pwned=1\"><script>window.pwned=1<\\script>'\"&amp;{{7*7}}javascript:window.pwned=1\u202e";

const FORMAT_WORDS = new Set(["outcome", "status", "kind", "protocol", "scope", "category", "stage", "step", "event", "style", "blob",
  "exchange", "system", "snapshot", "suite_digest", "clock", "scaffold"]);

/** What the program reads as its own words, whole. */
const FORMAT_PARTS = new Set(["players"]);

function poisoned(value, key) {
  if (FORMAT_PARTS.has(key)) return value;
  if (typeof value === "string") return FORMAT_WORDS.has(key) ? value : value + HOSTILE;
  if (Array.isArray(value)) return value.map((one) => poisoned(one, key));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poisoned(one, name)]));
  return value;
}

/** A copy of a run whose every text holds the payload. */
export function poison(from, to) {
  cpSync(at(from), at(to), { recursive: true });
  for (const name of ["manifest.json", "results.json", "outline.json"]) writeJson(at(to, name), poisoned(readJson(at(to, name))));
  const results = readJson(at(to, "results.json"));
  results.faults = [{ persona: HOSTILE, session: HOSTILE, run: 1, turn: 1, kind: "guest", source: HOSTILE, cause: HOSTILE, message: HOSTILE }];
  writeJson(at(to, "results.json"), results);
  for (const episode of readdirSync(at(to, "trajectories"))) {
    const [persona, repeat] = episode.split(".");
    for (const file of readdirSync(at(to, "trajectories", episode))) {
      const path = at(to, "trajectories", episode, file);
      writeJson(path, poisoned(readJson(path)));
      renameSync(path, at(to, "trajectories", episode, file.replace(".json", HOSTILE + ".json")));
    }
    renameSync(at(to, "trajectories", episode), at(to, "trajectories", persona + HOSTILE + "." + repeat));
  }
}

/** A copy of a run with so many sessions: those that it has, again and again under other names. */
export function multiply(from, to, sessions) {
  cpSync(at(from), at(to), { recursive: true });
  const results = readJson(at(to, "results.json"));
  const outline = readJson(at(to, "outline.json"));
  const persona = outline.personas.find((one) => one.id === "law_trainee");
  const lines = results.sessions.filter((line) => line.run === 1);
  const written = [...persona.sessions];
  const folder = at(to, "trajectories", persona.id + ".r1");
  for (let copy = 0; lines.length < sessions; copy++) {
    const line = lines[copy % 4];
    const id = line.id + "-" + copy;
    cpSync(join(folder, line.id + ".json"), join(folder, id + ".json"));
    lines.push({ ...line, id });
    persona.sessions.push({ ...written.find((one) => one.id === line.id), id, title: "Copy " + copy });
  }
  results.sessions = lines;
  writeJson(at(to, "results.json"), results);
  writeJson(at(to, "outline.json"), outline);
}

/** A page that has errors, requests and dialogs counted. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  page.troubles = [];
  page.asked = [];
  page.on("pageerror", (error) => page.troubles.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.troubles.push(message.text()));
  page.on("dialog", (dialog) => {
    page.troubles.push("dialog: " + dialog.message());
    dialog.dismiss();
  });
  page.on("request", (request) => page.asked.push(request.url()));
  await page.goto(url);
  await page.waitForSelector("main h1");
  return page;
}

export async function shot(page, name) {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, name + ".png") });
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.PIBENCH_CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
}

export function clean() {
  if (existsSync(dir)) rmSync(dir, { recursive: true, force: true });
}
