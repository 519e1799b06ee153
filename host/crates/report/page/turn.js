// One turn: what the agent was told, what it did step by step, and what the user agent, graders and judge found.

function turnView(turn, context) {
  const { record } = context;
  const changed = (turn.intents || []).map((change) => context.intents[change.intent]).filter(Boolean);
  const newlyMet = context.items.filter((item) => item.met && item.deciding && item.deciding.turn === turn.turn);
  const ms = (record.ms || {})[turn.turn];
  return el("article", { class: "turn", id: "turn-" + turn.turn, tabindex: -1 },
    el("header", {},
      el("h2", {}, toTurn(context, turn.turn, "Turn " + turn.turn)),
      el("span", { class: "small" }, [turn.clock, duration(ms)].filter(Boolean).join(" · ")),
      changed.map((intent) => el("a", { href: sessionRoute(context.session), click: (event) => { event.preventDefault(); show("intent-" + intent.number); } }, intentTag(intent))),
      newlyMet.map((item) => tag("good", "✓ C" + item.number))),
    bubble("user", "User", turn.message),
    (turn.steps || []).map(stepView),
    finalText(turn),
    changesView(turn.changes, (record.diffs || {})[turn.turn], "Changed files"),
    (turn.faults || []).map(faultView),
    findings(turn, context),
    turn.outcome && el("p", { class: "note" }, "The session ends: ", el("b", {}, words(turn.outcome)), "."),
    turnUsage(turn.usage));
}

function show(id) {
  const target = document.getElementById(id);
  target.scrollIntoView({ block: "center" });
  target.classList.add("target");
}

function bubble(kind, who, text) {
  return el("div", { class: "bubble " + kind }, el("span", { class: "who" }, who), el("div", { class: "text" }, text));
}

/** Steps by kind; one that this page does not know is shown as it is. */
function stepView(step) {
  switch (step.step) {
    case "reply":
      return [
        step.reasoning && fold(["Reasoning ", el("small", {}, count(step.reasoning.length, "character"))], () => pre(step.reasoning), { class: "reasoning" }),
        step.text && bubble("agent", "Agent", step.text),
      ];
    case "call":
      return callView(step);
    case "picture":
      return fold([tag("plain", "picture"), " ", step.path], () =>
        el("img", { src: "data:" + step.media_type + ";base64," + step.data, alt: step.path }), { class: "call" });
    case "notice":
    case "nudge":
      return el("p", { class: "notice" }, tag("plain", step.step === "nudge" ? "scaffold to agent" : "scaffold"), " ", step.text);
    case "subagent":
      return fold([tag("plain", "subagent"), " ", step.label], () => el("div", { class: "call-body" },
        bubble("user", "Task", step.task), (step.steps || []).map(stepView), el("h3", {}, "Result"), pre(step.result)), { class: "call" });
    case "consolidated":
      return fold([tag("plain", "summary"), " earlier turns gave way to it"], () => el("div", { class: "call-body" },
        (step.steps || []).map(stepView), pre(step.summary)), { class: "call" });
    default:
      return fold(words(step.step || "step"), () => pre(pretty(step)), { class: "call" });
  }
}

function callView(step) {
  const call = step.record || {};
  const failed = call.status !== "ok";
  const summary = [
    el("code", {}, call.tool || "tool"), " ",
    el("span", { class: "preview" }, preview(call.arguments)),
    failed && tag("bad", words(call.status || "") + (call.code ? " " + call.code : "")),
  ];
  return fold(summary, () => el("div", { class: "call-body" },
    el("h3", {}, "Arguments"), argumentsView(call.arguments),
    el("h3", {}, failed ? "Refusal" : "Result"), pre(pretty(call.result || ""), { class: failed ? "bad-text" : null }),
    step.file && el("p", { class: "small" }, "The chat shows its beginning; all of it is in ", el("code", {}, step.file), "."),
    otherFields(call, ["number", "turn", "tool", "arguments", "status", "code", "result"])), { class: "call" + (failed ? " failed" : "") });
}

/** Fields of a record that this page has no place for. */
function otherFields(value, known) {
  const rest = Object.entries(value).filter(([key]) => !known.includes(key));
  if (!rest.length) return null;
  return [el("h3", {}, "More"), pre(pretty(Object.fromEntries(rest)))];
}

/** Long texts get a block of their own, so that files can be read as they were written. */
function argumentsView(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return pre(pretty(value ?? ""));
  const entries = Object.entries(value);
  if (!entries.length) return el("p", { class: "small" }, "none");
  return el("dl", { class: "arguments" }, entries.map(([key, part]) => [
    el("dt", {}, key),
    el("dd", {}, typeof part === "string" && part.includes("\n") ? pre(part) : el("code", {}, typeof part === "string" ? part : JSON.stringify(part))),
  ]));
}

function preview(value) {
  const text = value && typeof value === "object"
    ? Object.entries(value).map(([key, part]) => key + ": " + (typeof part === "string" ? part : JSON.stringify(part))).join(", ")
    : String(value ?? "");
  const line = text.replace(/\s+/g, " ");
  return line.length > 140 ? line.slice(0, 139) + "…" : line;
}

/** What went to the user, where the steps do not show it already. */
function finalText(turn) {
  const said = (turn.steps || []).filter((step) => step.step === "reply").map((step) => step.text || "");
  if (!turn.response || said.some((text) => text.trim() === turn.response.trim())) return null;
  return bubble("agent response", "To the user", turn.response);
}

function changesView(changes, diffs, title) {
  if (!changes || !changes.length) return null;
  return el("section", { class: "changes" },
    el("h3", {}, title),
    changes.map((change, at) => fold(
      [tag("f-" + change.kind, change.kind), " ", el("code", {}, change.path)],
      () => changeBody(change, change.diff !== undefined ? change.diff : diffs && diffs[at]))));
}

function changeBody(change, diff) {
  if (typeof diff === "string") return diffView(diff);
  if (diff) return el("p", { class: "small" }, "Not compared: " + diff.before + " bytes before, " + diff.after + " after.");
  if (change.added) return pre(change.added);
  return el("p", { class: "small" }, "The run folder holds no content of it.");
}

function diffView(text) {
  const lines = text.replace(/\n$/, "").split("\n").map((line) => {
    const kind = line.startsWith("@@") ? "hunk" : { "+": "plus", "-": "minus" }[line[0]];
    return el("span", { class: kind || null }, line + "\n");
  });
  return el("pre", { class: "diff" }, lines);
}

function faultView(fault) {
  return el("p", { class: "fault" },
    tag("bad", fault.kind + " fault"), " ",
    el("b", {}, fault.source + (fault.cause ? " (" + fault.cause + ")" : "")), ": ", fault.message);
}

/** What the user agent, graders and judge found in a turn, folded. */
function findings(turn, context) {
  const judgements = turn.judgements || [], items = turn.items || [];
  const next = rawReply(turn.next_exchange, context.record);
  if (!judgements.length && !items.length && !next) return null;
  const yes = judgements.filter((one) => one.yes).length, passed = items.filter((one) => one.pass).length;
  const title = ["Findings ", el("small", {}, [
    judgements.length && "user agent: " + yes + " of " + judgements.length + " yes",
    items.length && "checklist: " + passed + " of " + items.length + " pass",
  ].filter(Boolean).join(" · "))];
  return fold(title, () => el("div", { class: "findings" },
    ["satisfaction", "question"].map((stage) => stageView(stage, judgements.filter((one) => one.stage === stage), context)),
    next && [el("h3", {}, "The user's next message"), next],
    items.length > 0 && [el("h3", {}, "Graders and judge"), el("ul", {}, items.map((item) => {
      const known = context.item(item.item);
      return el("li", {},
        tag(item.pass ? "good" : "bad", (item.pass ? "✓ " : "✗ ") + (known ? "C" + known.number : item.item)), " ",
        known && known.criterion, item.reason && el("p", { class: "evidence" }, item.reason), votes(item), rawReply(item.exchange, context.record));
    }))]), { class: "found" });
}

function stageView(stage, judgements, context) {
  if (!judgements.length) return null;
  return [
    el("h3", {}, stage === "satisfaction" ? "Stage 1: satisfied unstated?" : "Stage 2: asked by a targeted question?"),
    el("ul", {}, judgements.map((judgement) => {
      const intent = context.intent(judgement.intent);
      return el("li", {},
        tag(judgement.yes ? "good" : "plain", (judgement.yes ? "yes " : "no ") + (intent ? "I" + intent.number : judgement.intent)), " ",
        intent && intent.content, judgement.reason && el("p", { class: "evidence" }, judgement.reason), rawReply(judgement.exchange, context.record));
    })),
  ];
}

/** What each of several judges said. */
function votes(item) {
  const said = (item.votes || []).map((vote) => vote.judge + ": " + (vote.pass ? "pass" : "no pass"));
  return said.length > 0 && el("p", { class: "small" }, said.join(" · "));
}

/** The judge's own words, where a model was asked. */
function rawReply(name, record) {
  const exchange = name && (record.exchanges || {})[name];
  if (!exchange) return null;
  const list = Array.isArray(exchange) ? exchange : [exchange];
  return fold("Raw reply", () => el("div", {}, list.map((one) => [
    el("p", { class: "small" }, [one.prompt, one.prompt_hash && "prompt " + one.prompt_hash.slice(0, 12),
      one.temperature === null ? "default temperature" : one.temperature !== undefined && "temperature " + one.temperature].filter(Boolean).join(" · ")),
    (one.replies || []).map((reply, at) => [one.replies.length > 1 && el("p", { class: "small" }, "Attempt " + (at + 1)), pre(reply)]),
  ])), { class: "raw" });
}

function turnUsage(usage) {
  if (!usage) return null;
  const parts = Object.entries(usage).filter(([, role]) => role && typeof role === "object" && (role.input_tokens || role.output_tokens))
    .map(([name, role]) => name + " " + (role.input_tokens || 0).toLocaleString("en") + " in, " + (role.output_tokens || 0).toLocaleString("en") + " out" +
      (role.cost ? ", " + dollars(role.cost) : ""));
  return parts.length ? el("p", { class: "small tokens" }, "Tokens: " + parts.join(" · ")) : null;
}
