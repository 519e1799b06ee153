// The report's page as a reader uses it. Nothing is waited for but what the page itself shows.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { at, clean, dir, HOSTILE, launch, multiply, open, play, poison, PROGRAM, readJson, report, ROOT, run, serveModel, shot, writeJson } from "./scene.js";

const SESSION = "#/session/1/law_trainee/1/saltmarsh-statement";
const PAGES = ["#/", "#/sessions", SESSION, "#/tables", "#/compare/0/1", "#/compare/0/1/law_trainee/saltmarsh-statement"];

/** The rules of axe-core, run in the page. */
const AXE = readFileSync(join(ROOT, "tests/browser/node_modules/axe-core/axe.min.js"), "utf8");

let browser, url;

before(async () => {
  play("good", "reference");
  play("slow", "reactive");
  url = report("out", "good", "slow");
  browser = await launch();
});

after(async () => {
  await browser?.close();
  clean();
});

/** What axe-core finds wrong with a page, with its first places. */
async function violations(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() => axe.run());
  const first = (one) => one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ");
  return found.violations.map((one) => one.id + ": " + first(one));
}

async function go(page, hash, selector = "main h1") {
  await page.evaluate((hash) => { location.hash = hash; }, hash);
  await page.waitForSelector(selector);
  await page.waitForFunction(() => !document.querySelector(".loading"));
}

test("the page opens from disk, asks for nothing else and shows the leaderboard", async () => {
  const page = await open(browser, url);
  assert.match(await page.textContent(".banner"), /Scripted models/);
  assert.equal(await page.locator("#table-1 tbody tr.apart").count(), 2);
  assert.equal(await page.locator("#table-1 tbody tr.published").count(), 9);
  const blocks = await page.locator("#table-1 tr.divider").allTextContents();
  assert.deepEqual(blocks, ["scripted or by patterns, not comparable", "published, not measured here"]);
  await page.uncheck("#table-1 input");
  assert.equal(await page.locator("#table-1 tbody tr.published").count(), 0);
  assert.ok(await page.locator("figure img.for-light").first().isVisible());
  assert.deepEqual(page.asked.filter((asked) => !asked.startsWith("file:") && !asked.startsWith("data:")), []);
  assert.deepEqual(page.troubles, []);
});

test("a session shows intents at their turns, the checklist with evidence, calls and differences", async () => {
  const page = await open(browser, url + SESSION);
  await page.waitForSelector(".turn");
  const intents = await page.locator(".intents .tag.s-provided").count();
  assert.ok(intents > 0);
  assert.equal(await page.locator(".turn header .tag.s-provided").count(), intents);
  // Whoever works too late had opened none of the places by then.
  assert.ok(await page.locator(".found-in li", { hasText: "never opened" }).count() > 0);
  const late = await page.locator(".found-in li", { hasText: "opened too late, in turn " }).first().locator("a").getAttribute("href");
  assert.equal(late, SESSION + "/" + await page.locator(".turn").count());
  assert.ok(await page.locator(".checklist .met").count() > 5);
  assert.ok(await page.locator(".checklist .evidence").count() > 0);
  assert.equal(await page.locator("details[open]").count(), 0);
  await page.keyboard.press("e");
  assert.ok(await page.locator(".call-body").count() > 3);
  assert.ok(await page.locator(".changes .diff .plus").count() > 10);
  assert.ok(await page.locator(".findings li").count() > 10);
  await page.keyboard.press("e");
  assert.equal(await page.locator("details[open]").count(), 0);
  assert.deepEqual(page.troubles, []);
});

test("a session without a score says why, and which items nobody judged", async () => {
  cpSync(at("slow"), at("faulty"), { recursive: true });
  const results = readJson(at("faulty/results.json"));
  const line = results.sessions.find((one) => one.id === "saltmarsh-statement" && one.run === 1);
  Object.assign(line, { outcome: "judge_fault", proc: null, proc_scored: null, comp: null });
  writeJson(at("faulty/results.json"), results);
  const path = at("faulty/trajectories/law_trainee.r1/saltmarsh-statement.json");
  const { turns, finished, ...rest } = readJson(path);
  finished.outcome = "judge_fault";
  finished.items.forEach((item) => { item.met = false; });
  const [verdict] = turns.flatMap((turn) => turn.items || []);
  turns.forEach((turn) => delete turn.items);
  turns.at(-1).items = [{ ...verdict, pass: false }];
  writeJson(path, { ...rest, turns, finished });
  const page = await open(browser, report("unjudged", "faulty") + "#/session/0/law_trainee/1/saltmarsh-statement");
  await page.waitForSelector(".turn");
  const told = await page.locator(".scores dd").allTextContents();
  assert.deepEqual(told.slice(0, 2), ["unscored (judge fault)", "unscored (judge fault)"]);
  const count = finished.items.length;
  assert.equal(await page.locator(".side h2 small", { hasText: "met" }).textContent(), `0 of ${count} met, ${count - 1} not judged`);
  assert.equal(await page.locator(".checklist .missed").count(), 1);
  assert.equal(await page.locator(".checklist .tag", { hasText: ": not judged" }).count(), count - 1);
  assert.deepEqual(await page.evaluate(poorContrast), []);
  await go(page, "#/session/0/law_trainee/2/saltmarsh-statement", ".turn");
  await page.waitForFunction(() => !document.querySelector(".checklist .unknown"));
  assert.equal(await page.locator(".scores .meter").count(), 2);
  assert.ok(await page.locator(".checklist .met").count() > 5);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("the overview says what the scores and the words for intents mean", async () => {
  const page = await open(browser, url);
  assert.match(await page.textContent(".overview > .note"), /Proc, in percent: the share of hidden intents.+Comp, in percent: .+Proc comes first/);
  const legend = await page.textContent(".overview > .legend");
  for (const status of ["completed", "inferred", "provided", "open"]) assert.match(legend, new RegExp(status + ": [a-z]+ "));
  assert.match(await page.locator("#table-1 th", { has: page.locator("button", { hasText: /^Comp$/ }) }).getAttribute("title"), /^Comp: /);
  await page.context().close();
});

test("a link to a session of another run names the run", async () => {
  const first = readJson(at("good/results.json")).sessions.filter((session) => session.run === 1);
  const page = await open(browser, url + "#/session/0/law_trainee/1/" + first.at(-1).id);
  assert.match(await page.textContent("a[rel=next]"), / \(run 2\) →$/);
  assert.ok(!(await page.textContent("a[rel=prev]")).includes("(run "));
  await page.context().close();
});

test("paper holds all rows of the list, those out of sight too", async () => {
  multiply("slow", "hundreds", 200);
  const page = await open(browser, report("printed", "hundreds") + "#/sessions");
  await page.waitForSelector(".row");
  assert.ok(await page.locator(".row").count() < 200);
  await page.pdf();
  assert.equal(await page.locator(".row").count(), 200);
  await page.context().close();
});

test("a link leads to a turn", async () => {
  const page = await open(browser, url + SESSION + "/4");
  await page.waitForSelector("#turn-4.target");
  const top = await page.locator("#turn-4").evaluate((turn) => turn.getBoundingClientRect().top);
  assert.ok(top >= 0 && top < 200, String(top));
  await page.locator(".intents a").first().click();
  await page.waitForFunction(() => location.hash.endsWith("/1"));
  await page.goBack();
  assert.match(page.url(), /\/4$/);
});

test("search and filters narrow the list, and transcripts are searched too", async () => {
  const page = await open(browser, url + "#/sessions");
  const rows = page.locator(".row");
  const { sessions } = readJson(at("slow/outline.json")).personas.find((one) => one.id === "law_trainee");
  const drafts = sessions.filter((session) => session.category === "F");
  // Two reports of two runs each.
  assert.equal(await rows.count(), 4 * sessions.length);
  await page.fill("#search", "saltmarsh-statement");
  await page.waitForFunction(() => document.querySelectorAll(".row").length === 4);
  await page.selectOption("select[name=in]", "1");
  await page.waitForFunction(() => document.querySelectorAll(".row").length === 2);
  assert.match(page.url(), /q=saltmarsh-statement/);
  await page.reload();
  await page.waitForSelector(".row");
  assert.equal(await rows.count(), 2);
  await page.fill("#search", "Noted.");
  await page.waitForSelector(".list .missing");
  await page.check("input[type=checkbox]");
  const listed = (count) => page.waitForFunction((count) => document.querySelectorAll(".row").length === count, count);
  await listed(2 * sessions.length);
  await page.selectOption("select[name=category]", "F");
  await listed(2 * drafts.length);
});

test("the keyboard alone goes everywhere", async () => {
  const page = await open(browser, url);
  await page.keyboard.press("/");
  await page.waitForFunction(() => document.activeElement.id === "search");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".turn");
  const first = page.url();
  await page.keyboard.press("n");
  // The page of the next one is there when it leads back.
  await page.waitForFunction((first) => location.href !== first && document.querySelector("a[rel=prev]")?.href === first, first);
  await page.keyboard.press("p");
  await page.waitForFunction((first) => location.href === first, first);
  await page.keyboard.press("?");
  assert.ok(await page.locator("dialog[open]").isVisible());
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.waitForSelector(".compare table");
  await page.keyboard.press("d");
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  assert.deepEqual(page.troubles, []);
});

test("a column sorts, up and down and back, each block by itself", async () => {
  const page = await open(browser, url + "#/tables/table-1");
  const published = () => page.locator("#table-1 tbody tr.published > :first-child").allTextContents();
  const asWritten = await published();
  const head = page.locator("#table-1 th button", { hasText: /^Proc$/ });
  await head.click();
  assert.equal(await page.locator("#table-1 th[aria-sort=descending]").count(), 1);
  const falling = await published();
  assert.equal(falling[0], "GPT-5.4");
  await page.locator("#table-1 th button", { hasText: /^Proc$/ }).click();
  assert.equal((await published())[0], "Kimi K2.5");
  await page.locator("#table-1 th button", { hasText: /^Proc$/ }).click();
  assert.deepEqual(await published(), asWritten);
  assert.deepEqual(page.troubles, []);
});

test("the overview's tables of personas and categories have the same head and sort in the same way", async () => {
  const page = await open(browser, url);
  const names = () => page.locator("#categories tbody th").allTextContents();
  const asWritten = await names();
  assert.ok(asWritten.length > 2);
  const head = page.locator("#categories th button", { hasText: /^Category$/ });
  await head.click();
  assert.deepEqual(await names(), asWritten, "words begin at A");
  await head.click();
  assert.equal(await page.locator("#categories th[aria-sort=ascending]").count(), 1);
  assert.deepEqual(await names(), [...asWritten].reverse());
  await head.click();
  assert.deepEqual(await names(), asWritten);
  // Persona, sessions, two runs.
  assert.equal(await page.locator("#personas th button").count(), 4);
  await page.locator("#personas tbody th a").click();
  await page.waitForSelector(".row");
  assert.match(page.url(), /persona=law_trainee/);
  assert.deepEqual(page.troubles, []);
});

test("nine models stand beside each other on a desktop, and a row's lines meet", async () => {
  const copies = [1, 2, 3, 4, 5, 6, 7].map((copy) => "model-" + copy);
  for (const copy of copies) cpSync(at("slow"), at(copy), { recursive: true });
  const page = await open(browser, report("nine", "good", "slow", ...copies));
  for (const id of ["personas", "categories"]) {
    const [inside, seen, first] = await page.locator("#" + id + " .scroll").evaluate((box) =>
      [box.scrollWidth, box.clientWidth, box.querySelector("tbody th").getBoundingClientRect().width]);
    assert.ok(inside <= seen, id + ": " + inside + " in " + seen);
    assert.ok(first > 150, id + ": " + first);
  }
  const heights = await page.locator(".sheet tr").evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
  assert.deepEqual(heights.filter((height) => height % 1 > 0.01), [], "lines of whole pixels");
  await shot(page, "nine");
  await page.context().close();
});

test("a phone scrolls a figure inside its box, at a size that can be read", async () => {
  const page = await open(browser, url, { viewport: { width: 390, height: 844 } });
  // It is loaded when it is near.
  await page.locator(".figure-4 .drawing").scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector(".figure-4 img.for-light").naturalWidth > 0);
  const [inside, seen, drawn] = await page.locator(".figure-4 .drawing").evaluate((box) =>
    [box.scrollWidth, box.clientWidth, box.querySelector("img").getBoundingClientRect().width]);
  assert.ok(inside > seen, inside + " in " + seen);
  assert.ok(drawn > 640, "as wide as it is drawn: " + drawn);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "the page itself does not scroll");
  await page.context().close();
});

test("each drawing of the page has a title and a description", async () => {
  const page = await open(browser, url);
  for (const hash of PAGES) {
    await go(page, hash);
    const bare = await page.locator("main svg").evaluateAll((all) => all.filter((one) =>
      !one.querySelector(":scope > title")?.textContent || !one.querySelector(":scope > desc")?.textContent).length);
    assert.equal(bare, 0, hash);
  }
  await go(page, "#/", ".statusbar");
  assert.match(await page.locator(".statusbar desc").first().textContent(), /^\d+ /);
  await page.context().close();
});

test("words stay whole in tables, and a phone scrolls beside the first column and jumps to the transcript", async () => {
  const page = await open(browser, url + "#/tables/table-8", { viewport: { width: 390, height: 844 } });
  const [inside, seen, left] = await page.locator("#table-8 .scroll").evaluate((box) => {
    box.scrollLeft = 200;
    return [box.scrollWidth, box.clientWidth, box.querySelector("tbody tr > :first-child").getBoundingClientRect().left - box.getBoundingClientRect().left];
  });
  assert.ok(inside > seen, inside + " in " + seen);
  assert.ok(Math.abs(left) < 2, "the first column stays: " + left);
  const lines = await page.locator("#table-8 thead button").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height / 20));
  assert.ok(Math.max(...lines) < 6, lines.join());
  await go(page, SESSION, ".jump");
  await page.locator(".jump").click();
  await page.waitForFunction(() => Math.abs(document.getElementById("transcript").getBoundingClientRect().top) < 200);
  await page.context().close();
});

test("a group's path shows where evidence was and where it was used", async () => {
  const page = await open(browser, url + SESSION);
  await page.waitForSelector(".path summary");
  await page.locator(".path summary").click();
  await page.waitForSelector(".path table");
  assert.equal(await page.locator(".path thead th").count(), 4);
  assert.ok(await page.locator(".path tbody tr").count() >= 6);
  assert.ok(await page.locator(".path td .tag", { hasText: "evidence" }).count() > 0);
  assert.ok(await page.locator(".path td .tag", { hasText: ", turn " }).count() > 3);
  assert.deepEqual(page.troubles, []);
});

test("two runs are compared, either way round, and one session of both", async () => {
  const page = await open(browser, url + "#/compare/0/1");
  const proc = () => page.locator(".compare table").first().locator("tbody tr").first().textContent();
  assert.match(await proc(), /−100\.0/);
  await go(page, "#/compare/1/0");
  await page.waitForFunction(() => document.querySelector(".compare tbody").textContent.includes("+100.0"));
  await go(page, "#/compare/0/1/law_trainee/saltmarsh-statement", ".two .turn");
  assert.ok(await page.locator("tr.differs").count() > 3);
  await go(page, "#/nothing/here");
  assert.match(await page.textContent("main"), /no such place/);
});

test("every page is readable in light, in dark and on a phone", async () => {
  const told = [];
  const looks = { light: {}, dark: { colorScheme: "dark" }, phone: { viewport: { width: 390, height: 844 } } };
  for (const [look, options] of Object.entries(looks)) {
    const page = await open(browser, url, options);
    for (const [number, hash] of PAGES.entries()) {
      await go(page, hash);
      if (hash === SESSION) await page.waitForSelector(".turn");
      const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= window, look + " " + hash + " is " + wide + " wide");
      const poor = await page.evaluate(poorContrast);
      assert.deepEqual(poor, [], look + " " + hash);
      told.push(...(await violations(page)).map((one) => look + " " + hash + " " + one));
      await shot(page, look + "-" + number);
    }
    assert.deepEqual(page.troubles, []);
    await page.context().close();
  }
  assert.deepEqual(told, []);
});

/** Texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, 1.4.3). */
function poorContrast() {
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = new Set();
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
    if (!own || node.closest("svg, script, style, noscript, option") || !node.checkVisibility()) continue;
    const [one, other] = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
    if ((one + 0.05) / (other + 0.05) < 4.5) poor.add(node.className + ": " + node.textContent.slice(0, 40));
  }
  return [...poor];
}

test("text of agents, apps, files and authors stays text", async () => {
  poison("good", "bad");
  poison("slow", "worse");
  const page = await open(browser, report("hostile", "bad", "worse"));
  const routes = await page.evaluate(() => [...document.querySelectorAll("main a")].map((link) => link.getAttribute("href")));
  assert.ok(routes.length > 5);
  for (const route of ["#/", "#/tables", "#/compare/0/1", ...routes]) {
    assert.match(route, /^#\//);
    await go(page, route);
  }
  await go(page, "#/sessions", ".row");
  await page.locator(".row").nth(3).click();
  await page.waitForSelector(".turn");
  await page.keyboard.press("e");
  await shot(page, "hostile-session");
  assert.ok((await page.textContent("main")).includes("<img src=x onerror="));
  assert.ok(!(await page.textContent("body")).includes("\u202e"), "a direction is turned round");
  assert.equal(await page.locator("main img, main script, main iframe").count(), 0);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.deepEqual(page.asked.filter((asked) => !asked.startsWith("file:") && !asked.startsWith("data:")), []);
  assert.deepEqual(page.troubles, []);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, "a long word widens the page by " + wide);
  const raw = readFileSync(at("hostile/index.html"), "utf8");
  assert.ok(!raw.includes("<img src=x"));
  assert.ok(HOSTILE.includes("<img src=x"));
});

test("text from right to left is set so, and the rest as before", async () => {
  cpSync(at("slow"), at("hebrew"), { recursive: true });
  const path = at("hebrew/trajectories/law_trainee.r1/saltmarsh-statement.json");
  const record = readJson(path);
  record.turns[0].message = "אנא לרכז את הסכומים בקובץ בקשה.md, להגשה בסוף החודש.";
  writeJson(path, record);
  const outline = readJson(at("hebrew/outline.json"));
  const session = outline.personas.find((one) => one.id === "law_trainee").sessions.find((one) => one.id === "saltmarsh-statement");
  session.checklist[0].criterion = "בקשה.md מבקש הנחה מלאה";
  session.title = "בקשה";
  writeJson(at("hebrew/outline.json"), outline);
  const page = await open(browser, report("turned", "hebrew") + "#/session/0/law_trainee/1/saltmarsh-statement");
  await page.waitForSelector(".turn");
  const direction = (selector) => page.locator(selector).first().evaluate((node) => getComputedStyle(node).direction);
  assert.equal(await direction("#turn-1 .bubble.user .text"), "rtl");
  assert.equal(await direction(".checklist li > p:nth-of-type(2)"), "rtl");
  assert.equal(await direction("main h1"), "rtl");
  assert.equal(await direction(".intents li > p:nth-of-type(2)"), "ltr");
  assert.equal(await direction("#turn-2 .bubble.user .text"), "ltr");
  // The full stop stands at the left end of its line.
  await shot(page, "hebrew-session");
  // Beside other words such a text keeps to itself.
  await page.keyboard.press("e");
  assert.equal(await direction(".findings li bdi"), "rtl");
  assert.equal(await direction(".findings li"), "ltr");
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("a thousand sessions open quickly, one at a time", async () => {
  multiply("slow", "many", 1000);
  const many = report("thousand", "many");
  const began = performance.now();
  const page = await open(browser, many + "#/sessions");
  await page.waitForSelector(".row");
  const opened = performance.now() - began;
  assert.match(await page.textContent("main [role=status]"), /1000 sessions/);
  assert.ok(await page.locator(".row").count() <= 240, "rows are made as they come into sight");
  const typed = performance.now();
  await page.fill("#search", "copy 777");
  await page.waitForFunction(() => document.querySelectorAll(".row").length === 1);
  const searched = performance.now() - typed;
  const clicked = performance.now();
  await page.locator(".row").click();
  await page.waitForSelector(".turn");
  const unpacked = performance.now() - clicked;
  const size = statSync(at("thousand/index.html")).size;
  console.log(`1,000 sessions: ${(size / 1e6).toFixed(1)} MB; list ${Math.round(opened)} ms, search ${Math.round(searched)} ms, session ${Math.round(unpacked)} ms`);
  // A machine that does much else is slow; a page that unpacks everything is far slower.
  assert.ok(opened < 5000 && searched < 1500 && unpacked < 2000, [opened, searched, unpacked].join(", "));
});

test("a sheet is filled in, kept and saved, and the program takes it", async () => {
  run("audit", "good", "--sample", "2", "--sheet", "sheet.html");
  const page = await open(browser, pathToFileURL(at("sheet.html")).href);
  const questions = await page.locator("fieldset").count();
  assert.ok(questions > 5);
  assert.match(await page.textContent("#left"), new RegExp(`^${questions} of ${questions} `));
  await page.locator("input[value=yes], input[value=completed]").evaluateAll((all) => all.forEach((one) => one.click()));
  assert.match(await page.textContent("#left"), /^0 of /);
  await page.reload();
  assert.match(await page.textContent("#left"), /^0 of /, "what was chosen is kept");
  await shot(page, "sheet");
  const [saved] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  assert.match(saved.suggestedFilename(), /^verdicts-[0-9a-f]+\.csv$/);
  await saved.saveAs(at("mine.csv"));
  const [human] = JSON.parse(run("audit", "good", "--sample", "2", "--human", "mine.csv", "--json"));
  // Of sessions without a checklist nothing was asked of one.
  const sum = (what) => (human.checklist?.[what] ?? 0) + (human.intents?.[what] ?? 0);
  assert.equal(sum("judgements"), questions);
  assert.equal(sum("disagreements"), 0);
  assert.deepEqual(page.asked.filter((asked) => !asked.startsWith("file:") && !asked.startsWith("blob:")), []);
  assert.deepEqual(page.troubles, []);
});

test("a board's rows are chosen by agent, prompt and scaffold, on a phone too", async () => {
  run("suite", "new", "mine");
  writeFileSync(at("board.toml"), 'version = 1\ntitle = "Spring"\nruns = 1\nunknown_cost = true\nown_prompts = true\n');
  const words = readFileSync(join(ROOT, "host/crates/engine/prompts/rubric.md"), "utf8");
  mkdirSync(at("own"));
  writeFileSync(at("own", "rubric.md"), words + "\n");
  const model = await serveModel();
  const by = ["--user", "openai/u", "--judge", "openai/j", "--runs", "1"];
  const sent = { first: [], second: ["--scaffold-prompt", "coached"], third: ["--scaffold", "nanobot-0.1.4"], fourth: ["--prompts", at("own")] };
  for (const [name, more] of Object.entries(sent)) {
    await model.runs("run", "mine/suite.toml", "--agent", "openai/" + name, ...by, ...more, "--out", name);
    run("submit", "prepare", name, "--rules", "board.toml", "--out", `sent/${name}.submission`);
  }
  model.close();
  run("board", "build", "sent", "--rules", "board.toml", "--suite", "mine/suite.toml", "--prompts", at("own"), "--out", "site");
  const page = await open(browser, pathToFileURL(at("site", "index.html")).href);
  const shown = async () => (await page.locator("tbody tr:visible th a").allTextContents()).sort();
  const all = ["openai/first", "openai/fourth", "openai/second", "openai/third"];
  assert.deepEqual(await shown(), all);
  await page.fill("#agent", "SECOND");
  assert.deepEqual(await shown(), ["openai/second"]);
  await page.fill("#agent", "");
  for (const [field, value, there] of [
    ["prompt", "coached", ["openai/second"]],
    ["scaffold", "nanobot-0.1.4", ["openai/third"]],
    ["verified", "replayed", all],
    ["suite", await page.locator("#suite option").last().textContent(), all],
    ["protocol", "paper", all],
    ["prompts", await page.locator("#prompts option", { hasText: "own" }).textContent(), ["openai/fourth"]],
    ["verified", "judged again", []],
  ]) {
    await page.selectOption("#" + field, value);
    assert.deepEqual(await shown(), there, field);
    await page.selectOption("#" + field, "");
  }
  const report = page.locator("tbody tr:visible th a").first();
  const opened = await page.context().newPage();
  await opened.goto(new URL(await report.getAttribute("href"), page.url()).href);
  assert.match(await opened.textContent("main h1"), /./);
  await opened.close();
  await page.check("#signed");
  assert.deepEqual(await shown(), []);
  await page.uncheck("#signed");
  await shot(page, "board");
  assert.deepEqual(await violations(page), []);
  await page.setViewportSize({ width: 390, height: 800 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "the page itself does not scroll");
  await shot(page, "board-phone");
  assert.deepEqual(page.troubles, []);
});

test("the viewer follows a run that plays", async () => {
  cpSync(at("slow"), at("live"), { recursive: true });
  rmSync(at("live/results.json"));
  rmSync(at("live/trajectories"), { recursive: true });
  const journal = at("live/journal/law_trainee.r1.jsonl");
  const lines = readFileSync(journal, "utf8").split(/(?<=\n)/);
  rmSync(at("live/journal/law_trainee.r2.jsonl"));
  writeFileSync(journal, lines.slice(0, 3).join(""));
  writeFileSync(at("live/pulse.json"), JSON.stringify({ calls: 2, tokens: 1200, spent: "unknown", waits: ["openai: status 429, waiting 12 s, try 3 of 7"] }));
  const player = spawn("flock", ["--no-fork", at("live/lock"), "sleep", "600"]);
  const viewer = spawn(PROGRAM, ["view", "live"], { cwd: dir });
  try {
    const address = await new Promise((found) => viewer.stdout.once("data", (text) => found(String(text).trim())));
    assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/$/);
    const page = await open(browser, address + "#/session/0/law_trainee/1/saltmarsh-chronology");
    await page.waitForSelector("#turn-1");
    assert.equal(await page.locator("#turn-2").count(), 0);
    const doing = await page.waitForSelector(".doing:not(:empty)");
    assert.equal(await doing.textContent(), "openai: status 429, waiting 12 s, try 3 of 7; 2 calls in flight; 1200 tokens; cost unknown");
    await shot(page, "live");
    await page.setViewportSize({ width: 390, height: 844 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "the page itself does not scroll");
    await shot(page, "live-phone");
    await page.setViewportSize({ width: 1280, height: 900 });
    player.kill();
    await page.waitForSelector(".doing:empty", { state: "attached", timeout: 15000 });
    writeFileSync(journal, lines.slice(0, 4).join(""));
    await page.waitForSelector("#turn-2", { timeout: 15000 });
    writeFileSync(journal, lines.join(""));
    cpSync(at("slow/trajectories"), at("live/trajectories"), { recursive: true });
    cpSync(at("slow/results.json"), at("live/results.json"));
    await page.waitForSelector(".checklist, .ending h2:has-text('End')", { timeout: 15000 });
    assert.deepEqual(page.troubles, []);
    assert.ok(page.asked.every((asked) => asked.startsWith(address) || asked.startsWith("data:")), page.asked.join());
  } finally {
    player.kill();
    viewer.kill();
  }
});
