// One session: what was asked, what was hidden, what the agent did about it, and what that was worth.

function sessionPage(session, turn) {
  const page = el("div", { class: "session" }, sessionHead(session), el("p", { class: "loading", role: "status" }, "Unpacking …"));
  loadSession(session).then((record) => {
    page.querySelector(".loading").remove();
    if (!record || !record.trajectory) {
      append(page, [el("p", { class: "missing" }, missing(session))]);
      return;
    }
    append(page, [sessionBody(session, record)]);
    requestAnimationFrame(() => goToTurn(turn));
  }).catch((error) => {
    page.querySelector(".loading").textContent = "Failed to read this session: " + error.message;
  });
  return page;
}

/** Why there is nothing to show of a session. */
function missing(session) {
  if (!carried(session)) return "This page is of too many sessions to carry the record of each: `pibench-host view " + data.runs[session.in].folder + "` shows this one.";
  return session.state === "waiting" ? "This session is not played yet." : "The run folder holds no record of this session.";
}

function goToTurn(turn) {
  const target = turn && document.getElementById("turn-" + turn);
  if (!target) return;
  target.scrollIntoView();
  target.classList.add("target");
}

function sessionHead(session) {
  const run = data.runs[session.in];
  const category = data.categoryOf.get(session.category);
  const before = neighbour(session, -1), after = neighbour(session, 1);
  return el("header", { class: "session-head" },
    el("p", { class: "crumbs" },
      link(["sessions"], { href: route(["sessions"], { in: String(session.in) }) }, run.label), " / ",
      link(["sessions"], { href: route(["sessions"], { persona: session.persona }) }, words(session.persona)), " / ", session.id),
    el("h1", {}, session.title),
    el("p", { class: "tags" },
      run.marks.map((mark) => tag("warn", mark)),
      category && el("a", { class: "tag plain", href: route(["sessions"], { category: session.category }) }, session.category + " " + category.title),
      tag(session.outcome === "complete" && !session.state ? "good" : "warn", session.state && session.state !== "finished" ? session.state : words(session.outcome)),
      run.runs > 1 && tag("plain", "run " + session.run + " of " + run.runs),
      session.weight > 1 && tag("plain", "final of " + session.weight),
      session.weight === 0 && tag("plain", "only a dependency"),
      session.no_offline_matcher && tag("warn", "no offline matcher")),
    el("dl", { class: "scores wide" },
      el("dt", { title: MEANINGS.Proc }, "Proc"), el("dd", {}, session.proc === null && unscored(session) || meter(session.proc, "proc")),
      session.proc_scored !== null && session.proc_scored !== session.proc && [el("dt", {}, "Proc, pooled"), el("dd", {}, meter(session.proc_scored, "proc"))],
      el("dt", { title: MEANINGS.Comp }, "Comp"), el("dd", {}, session.comp === null ? unscored(session) || "no checklist" : meter(session.comp, "comp")),
      el("dt", {}, "Turns"), el("dd", {}, [session.turns, duration(session.ms), session.cost && dollars(session.cost)].filter(Boolean).join(" · "))),
    others(session),
    el("nav", { class: "steps", "aria-label": "Neighbours" },
      before ? el("a", { href: sessionRoute(before), rel: "prev" }, "← ", titleFrom(session, before)) : el("span"),
      after ? el("a", { href: sessionRoute(after), rel: "next" }, titleFrom(session, after), " →") : el("span")));
}

/** Why a session has no score; null where it has one, or has nothing to score. */
function unscored(session) {
  if (!["judge_fault", "infrastructure", "unplayed"].includes(session.outcome)) return null;
  return "unscored (" + words(session.state && session.state !== "finished" ? session.state : session.outcome) + ")";
}

/** A neighbour's title, with its run where that is another one. */
function titleFrom(session, other) {
  return other.title + (other.run === session.run ? "" : " (run " + other.run + ")");
}

function neighbour(session, step) {
  const other = data.sessions[session.place + step];
  return other && other.in === session.in ? other : null;
}

/** The same session in other runs and of other models. */
function others(session) {
  const same = data.sessions.filter((one) => one.persona === session.persona && one.id === session.id);
  if (same.length < 2) return null;
  return el("p", { class: "small others" }, "Played as (Proc / Comp): ", same.slice(0, 60).map((one) => {
    const name = (data.runs.length > 1 ? data.runs[one.in].label : "") + (data.runs[one.in].runs > 1 ? " #" + one.run : "");
    return [el("a", { href: sessionRoute(one), "aria-current": one === session ? "page" : null }, name + " " + score(one.proc, 0) + " / " + score(one.comp, 0)), " "];
  }));
}

function sessionBody(session, record) {
  const context = contextOf(session, record);
  return el("div", { class: "columns" },
    el("div", { class: "side" }, el("button", { type: "button", class: "jump", click: () => document.getElementById("transcript").scrollIntoView() }, "To the transcript ↓"),
      intentList(context), groupPath(context), checklist(context), usageBox(record.trajectory.finished && record.trajectory.finished.usage, "Whole session")),
    el("div", { class: "turns", id: "transcript" },
      record.cut && el("p", { class: "note" }, "Long texts are cut to " + record.cut + " characters here; the run folder has them whole."),
      opening(context),
      record.trajectory.turns.map((turn) => turnView(turn, context)),
      ending(context)));
}

/** What a session's parts need of each other: intents and items with their numbers, texts and fates. */
function contextOf(session, record) {
  const trajectory = record.trajectory;
  const outline = session.outline;
  const finished = trajectory.finished;
  const told = finished ? finished.intents.map((intent) => intent.intent) : [];
  const ids = outline ? outline.intents.map((intent) => intent.id) : told;
  const intents = ids.map((id, at) => ({
    id, number: at + 1, turn: null, status: "open",
    content: outline ? outline.intents[at].content : "",
    scope: outline ? outline.intents[at].scope : null,
  }));
  for (const turn of trajectory.turns) {
    for (const change of turn.intents || []) {
      const intent = intents[change.intent];
      if (intent) Object.assign(intent, { status: change.status, turn: turn.turn, style: change.style });
    }
  }
  const items = itemsOf(outline, finished, trajectory.turns, finished && !unscored(session));
  return { session, record, trajectory, intents, items,
    intent: (id) => intents.find((intent) => intent.id === id),
    item: (id) => items.find((item) => item.id === id) };
}

/** The checklist's items. `met` is null where that is not known: without a score, of what the last turn did not judge. */
function itemsOf(outline, finished, turns, scored) {
  const ids = outline ? outline.checklist.map((item) => item.id)
    : finished ? finished.items.map((item) => item.id) : [];
  return ids.map((id, at) => {
    const verdicts = turns.flatMap((turn) => (turn.items || []).filter((item) => item.item === id).map((item) => ({ ...item, turn: turn.turn })));
    const ended = finished && finished.items.find((item) => item.id === id);
    const last = verdicts[verdicts.length - 1];
    const told = ended ? ended.met : verdicts.some((verdict) => verdict.pass);
    const known = told || scored || (last && last.turn === turns[turns.length - 1].turn);
    const written = outline && outline.checklist[at];
    return {
      id, number: at + 1, met: known ? told : null,
      criterion: written ? written.criterion : "", grader: written ? written.grader : undefined,
      weight: written ? written.weight : ended ? ended.weight : 1,
      deciding: verdicts.find((verdict) => verdict.pass) || last || null,
    };
  });
}

/** How an item stands. */
function itemTag(item, text) {
  if (item.met === null) return tag("plain", text, ": not judged");
  return tag(item.met ? "good" : "bad", item.met ? "✓ " : "✗ ", text);
}

function intentTag(intent) {
  return el("span", { class: "tag s-" + intent.status, title: MEANINGS[intent.status] }, intent.status + ": I" + intent.number);
}

function toTurn(context, number, ...children) {
  return el("a", { href: sessionRoute(context.session, number), click: () => requestAnimationFrame(() => goToTurn(number)) }, ...children);
}

function intentList(context) {
  if (!context.intents.length) return null;
  return el("section", {},
    el("h2", {}, "Hidden intents"),
    el("ol", { class: "intents" }, context.intents.map((intent) =>
      el("li", { id: "intent-" + intent.number },
        el("p", {}, intentTag(intent), " ",
          intent.turn ? toTurn(context, intent.turn, "turn " + intent.turn) : "not resolved",
          intent.scope === "persistent" && [" ", tag("plain", "persistent")],
          intent.style && [" ", tag("plain", words(intent.style))]),
        el("p", {}, intent.content || intent.id),
        placesView(context, intent)))));
}

/** Where an intent that was missed could have been found, and whether the agent had it before its eyes by then. */
function placesView(context, intent) {
  const missed = (context.record.missed || []).find((one) => one.intent === intent.id);
  if (!missed || !missed.places.length) return null;
  return el("ul", { class: "found-in" }, missed.places.map((place) =>
    el("li", {}, placeText(place),
      place.kind !== "question" && [": ", openedView(context, place)])));
}

function openedView(context, { opened, late }) {
  if (opened === 0) return "told at the start";
  const turn = opened ?? late;
  if (!turn) return "never opened";
  return [opened === null ? "opened too late, in " : "opened in ", toTurn(context, turn, "turn " + turn)];
}

/** The sessions of this one's group in their order; empty where it has none. */
function groupOf(session) {
  const outline = data.outlines.flatMap((one) => one.personas).find((persona) => persona.id === session.persona);
  const all = outline ? outline.sessions : [];
  const last = all.find((one) => one.depends_on.length && (one.id === session.id || one.depends_on.includes(session.id)));
  if (!last) return [];
  return all.filter((one) => one.id === last.id || last.depends_on.includes(one.id));
}

/** Through a group's sessions: where each hidden intent's evidence was, and where it was used. Made when it is opened. */
function groupPath(context) {
  const group = groupOf(context.session);
  if (group.length < 2) return null;
  return fold("Evidence and use across the group", () => {
    const box = el("div", {}, el("p", { class: "loading", role: "status" }, "Unpacking …"));
    const { session } = context;
    const played = group.map((one) => data.sessions.find((other) => other.in === session.in && other.run === session.run && other.persona === session.persona && other.id === one.id));
    Promise.all(played.map((one) => (one ? loadSession(one) : null))).then((records) => {
      replace(box, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Evidence and use across the group" }, pathTable(group, played, records)));
    });
    return box;
  }, { class: "path" });
}

function pathTable(group, played, records) {
  const head = group.map((one, at) => el("th", { scope: "col" }, played[at] ? el("a", { href: sessionRoute(played[at]) }, one.title) : one.title));
  const rows = group.flatMap((own, place) => own.intents.map((intent, number) => {
    const turns = records[place] && records[place].trajectory ? records[place].trajectory.turns : [];
    const used = turns.flatMap((turn) => (turn.intents || []).filter((change) => change.intent === number).map((change) => ({ turn: turn.turn, status: change.status })))[0];
    const places = intent.found_in || [];
    return el("tr", {}, el("th", { scope: "row" }, intent.id),
      group.map((column, at) => el("td", {},
        places.filter((one) => one.kind === "session" && one.session === column.id).length > 0 && el("p", {}, tag("plain", "evidence")),
        at === place && [
          places.filter((one) => one.kind !== "session").map((one) => el("p", { class: "small" }, placeText(one))),
          el("p", {}, used ? el("a", { href: sessionRoute(played[place], used.turn) }, tag("s-" + used.status, used.status + ", turn " + used.turn)) : tag("s-open", "open")),
        ])));
  }));
  return el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Hidden intent"), head)), el("tbody", {}, rows));
}

function placeText(place) {
  return { file: place.path, app: "records of " + place.app, session: "session " + place.session, memory: "USER.md", question: "by a question" }[place.kind] || place.kind;
}

function checklist(context) {
  if (!context.items.length) return null;
  const met = context.items.filter((item) => item.met).length;
  const unknown = context.items.filter((item) => item.met === null).length;
  return el("section", {},
    el("h2", {}, "Checklist ", el("small", {}, met + " of " + context.items.length + " met" + (unknown ? ", " + unknown + " not judged" : ""))),
    el("ol", { class: "checklist" }, context.items.map((item) =>
      el("li", { class: item.met === null ? "unknown" : item.met ? "met" : "missed" },
        el("p", {}, itemTag(item, "C" + item.number), " ",
          item.deciding && toTurn(context, item.deciding.turn, "turn " + item.deciding.turn), " ",
          tag("plain", item.grader === undefined ? "item" : item.grader ? "rule: " + item.grader : "rubric"),
          item.weight !== 1 && [" ", tag("plain", "weight " + item.weight)]),
        el("p", {}, item.criterion || item.id),
        item.deciding && item.deciding.reason && el("p", { class: "evidence" }, item.deciding.reason),
        item.deciding && votes(item.deciding),
        item.deciding && rawReply(item.deciding.exchange, context.record)))));
}

function opening(context) {
  const { trajectory, record } = context;
  const started = trajectory.started;
  return el("section", { class: "opening" },
    el("h2", {}, "Start ", el("small", {}, started.clock)),
    (record.wakes || []).map(wakeView),
    record.system && fold("System prompt", () => pre(record.system)),
    (started.inputs || []).map((inputs) => el("p", { class: "note" }, inputsText(inputs))),
    changesView(started.changes, (record.diffs || {}).start, "Staged files"),
    (started.faults || []).map(faultView));
}

/** What a session that is not played would have brought. */
function inputsText(inputs) {
  const brought = [...inputs.files, ...inputs.apps.map((app) => "records of " + app)];
  return inputs.session + " is not played; it brought " + (brought.join(", ") || "nothing") + ".";
}

/** A turn of the agent between two sessions: a job was due, or the heartbeat came. */
function wakeView(wake) {
  return fold([tag("plain", "before"), " woken by " + wake.by + " ", el("small", {}, wake.clock || "")], () => el("div", { class: "call-body" },
    bubble("user", "Told", wake.message), (wake.steps || []).map(stepView),
    changesView(wake.changes, wake.diffs, "Changed files"), (wake.faults || []).map(faultView)), { class: "call" });
}

function ending(context) {
  const { trajectory, record } = context;
  const finished = trajectory.finished;
  if (!finished) return el("section", { class: "ending" }, el("h2", {}, "Still playing"), el("p", { class: "note" }, "The next turn appears when it is journaled."));
  return el("section", { class: "ending" },
    el("h2", {}, "End: " + words(finished.outcome)),
    (finished.memory || []).length > 0 && fold("Memory step", () => el("div", {}, finished.memory.map(stepView))),
    changesView(finished.changes, (record.diffs || {}).end, "Files of the memory step"),
    (finished.faults || []).map(faultView));
}

/** Tokens and cost by role, as far as the record has them. */
function usageBox(usage, title) {
  if (!usage) return null;
  const roles = Object.entries(usage).filter(([, role]) => role && typeof role === "object" && Object.values(role).some((value) => value));
  const single = Object.entries(usage).filter(([, value]) => typeof value === "number" && value);
  if (!roles.length && !single.length) return null;
  return el("section", { class: "usage" },
    el("h2", {}, title),
    el("dl", { class: "facts" },
      roles.map(([name, role]) => [el("dt", {}, words(name)), el("dd", {}, Object.entries(role).filter(([, value]) => value).map(([key, value]) => usageText(key, value)).join(" · "))]),
      single.map(([name, value]) => [el("dt", {}, words(name)), el("dd", {}, usageText(name, value))])));
}

function usageText(key, value) {
  return key === "cost" ? dollars(value) : (typeof value === "number" ? value.toLocaleString("en") : String(value)) + " " + words(key);
}
