// Two runs side by side: the overall difference and what it is worth, each session, and one session of both.

function comparePage(a, b) {
  if (data.runs.length < 2) return el("div", {}, el("h1", {}, "Compare"), el("p", { class: "missing" }, "This report has one run. `pibench-host report A B` makes one of two."));
  const from = validRun(a, 0), to = validRun(b, from === 1 ? 0 : 1);
  const choose = (label, chosen, go) => el("label", {}, el("span", {}, label),
    el("select", { change: (event) => { location.hash = go(event.target.value); } },
      data.runs.map((run, place) => {
        const option = el("option", { value: place }, run.label);
        option.selected = place === chosen;
        return option;
      })));
  return el("div", { class: "compare" },
    el("h1", {}, "Compare"),
    el("form", { class: "filters", submit: (event) => event.preventDefault() },
      choose("A", from, (place) => route(["compare", place, to])),
      choose("B", to, (place) => route(["compare", from, place]))),
    from === to ? el("p", { class: "missing" }, "Choose two different runs.") : comparison(from, to));
}

function validRun(text, fallback) {
  const place = Number(text);
  return text !== undefined && Number.isInteger(place) && data.runs[place] ? place : fallback;
}

/** The pair as the report has it, turned round where it was asked for the other way. */
function pairOf(a, b) {
  const found = data.comparisons.find((pair) => pair.a === Math.min(a, b) && pair.b === Math.max(a, b));
  return found && (a < b ? found : turned(found));
}

function turned(pair) {
  const negative = (value) => (value === null ? null : -value);
  const measure = (one) => ({ ...one, only_a: one.only_b, only_b: one.only_a, overall: one.overall && {
    ...one.overall, a: one.overall.b, b: one.overall.a, difference: -one.overall.difference,
    std_a: one.overall.std_b, std_b: one.overall.std_a,
    interval: one.overall.interval && { low: -one.overall.interval.high, high: -one.overall.interval.low },
  } });
  const sides = (one) => ({ a: one.b, b: one.a, difference: negative(one.difference) });
  return { ...pair, proc: measure(pair.proc), comp: measure(pair.comp),
    sessions: pair.sessions.map((session) => ({ ...session, proc: sides(session.proc), comp: sides(session.comp) })) };
}

function comparison(a, b) {
  const pair = pairOf(a, b);
  if (!pair) return el("p", { class: "missing" }, "These are not runs of the same suite under the same protocol: their scores say nothing about each other.");
  const sorted = [...pair.sessions].sort((one, other) => weight(other) - weight(one));
  return [
    pair.cautions.map((caution) => el("p", { class: "caution", role: "note" }, caution)),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Overall difference" }, el("table", {},
      el("thead", {}, el("tr", {}, ["Score", "Sessions", "A", "B", "B − A", "95% interval", "p", "Detectable"].map((title, at) => el("th", { scope: "col", class: at ? "num" : null }, title)))),
      el("tbody", {}, [["Proc", pair.proc], ["Comp", pair.comp]].map(([name, measure]) => overallRow(name, measure))))),
    ["proc", "comp"].map((name) => el("p", { class: "note" }, verdict(name === "proc" ? "Proc" : "Comp", pair[name]))),
    el("h2", {}, "Sessions, the largest difference first"),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Sessions" }, el("table", { class: "pairs" },
      el("thead", {}, el("tr", {}, ["Session", "Proc A", "B", "B − A", "Comp A", "B", "B − A", "Both"].map((title, at) => el("th", { scope: "col", class: at ? "num" : null }, title)))),
      el("tbody", {}, sorted.map((session) => pairRow(a, b, session))))),
  ];
}

function weight(session) {
  return Math.abs(session.proc.difference || 0) + Math.abs(session.comp.difference || 0);
}

function overallRow(name, measure) {
  const one = measure.overall;
  const noisy = (value, std) => score(value) + (std === null ? "" : " ± " + score(std));
  const cells = one
    ? [noisy(one.a, one.std_a), noisy(one.b, one.std_b), signed(one.difference),
      one.interval ? signed(one.interval.low) + " to " + signed(one.interval.high) : "–",
      one.p_value < 0.0001 ? "< 0.0001" : one.p_value.toFixed(4), score(one.smallest_detectable)]
    : ["–", "–", "–", "–", "–", "–"];
  return el("tr", {}, el("th", { scope: "row" }, name), [measure.shared, ...cells].map((cell) => el("td", { class: "num" }, cell)));
}

function verdict(name, measure) {
  const one = measure.overall;
  if (!one) return name + ": no session was scored by both.";
  const left = [[measure.only_a, "scored by A only"], [measure.only_b, "scored by B only"], [measure.regrouped, "with groups of different sizes"]]
    .filter(([number]) => number > 0).map(([number, what]) => number + " " + what);
  const found = signed(one.difference) === signed(0) ? "the means are equal. "
    : one.told ? "the interval leaves out zero, so the difference counts for something. " : "this difference may be luck. ";
  return name + ": " + found +
    (one.smallest_detectable === null ? "" : "The suite cannot tell differences below " + score(one.smallest_detectable) + " points. ") +
    (left.length ? "Left out: " + left.join(", ") + "." : "");
}

function pairRow(a, b, session) {
  const change = (value) => el("td", { class: "num " + (value > 0 ? "up" : value < 0 ? "down" : "") }, signed(value));
  const first = (run) => data.sessions.find((one) => one.in === run && one.persona === session.persona && one.id === session.id);
  const left = first(a), right = first(b);
  return el("tr", {},
    el("th", { scope: "row" }, (left || right || {}).title || session.id, el("small", {}, session.persona + " / " + session.id)),
    el("td", { class: "num" }, score(session.proc.a)), el("td", { class: "num" }, score(session.proc.b)), change(session.proc.difference),
    el("td", { class: "num" }, score(session.comp.a)), el("td", { class: "num" }, score(session.comp.b)), change(session.comp.difference),
    el("td", {}, left && right && link(["compare", a, b, session.persona, session.id], {}, "side by side")));
}

/** One session of two runs. */
function sideBySide(a, b, persona, id) {
  const of = (run) => data.sessions.filter((one) => one.in === run && one.persona === persona && one.id === id);
  const left = of(a)[0], right = of(b)[0];
  if (!left || !right) return missingPage();
  const page = el("div", { class: "compare" },
    el("p", { class: "crumbs" }, link(["compare", a, b], {}, "Compare"), " / ", persona + " / " + id),
    el("h1", {}, left.title),
    el("p", { class: "loading", role: "status" }, "Unpacking …"));
  Promise.all([loadSession(left), loadSession(right)]).then((records) => {
    page.querySelector(".loading").remove();
    if (records.some((record) => !record || !record.trajectory)) {
      append(page, [el("p", { class: "missing" }, "A run folder holds no record of this session.")]);
      return;
    }
    const contexts = [contextOf(left, records[0]), contextOf(right, records[1])];
    append(page, [intentPairs(contexts), itemPairs(contexts), el("div", { class: "two" }, contexts.map(column))]);
  }).catch((error) => {
    page.querySelector(".loading").textContent = "Failed to read these sessions: " + error.message;
  });
  return page;
}

function pairTable(title, contexts, rows) {
  if (!rows.length) return null;
  return [el("h2", {}, title), el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "What"), contexts.map(({ session }, at) => el("th", { scope: "col" }, "AB"[at] + ": " + data.runs[session.in].label)))),
    el("tbody", {}, rows)))];
}

function intentPairs(contexts) {
  return pairTable("Hidden intents", contexts, contexts[0].intents.map((intent) => {
    const other = contexts[1].intent(intent.id);
    const cell = (one, context) => el("td", {}, one && [intentTag(one), " ", one.turn && toTurn(context, one.turn, "turn " + one.turn)]);
    return el("tr", { class: other && other.status !== intent.status ? "differs" : null },
      el("th", { scope: "row" }, intent.content || intent.id), cell(intent, contexts[0]), cell(other, contexts[1]));
  }));
}

function itemPairs(contexts) {
  return pairTable("Checklist", contexts, contexts[0].items.map((item) => {
    const other = contexts[1].item(item.id);
    const cell = (one, context) => el("td", {}, one && [itemTag(one, one.met === null ? "item" : one.met ? "met" : "missed"), " ",
      one.deciding && toTurn(context, one.deciding.turn, "turn " + one.deciding.turn)]);
    return el("tr", { class: other && item.met !== null && other.met !== null && other.met !== item.met ? "differs" : null },
      el("th", { scope: "row" }, item.criterion || item.id), cell(item, contexts[0]), cell(other, contexts[1]));
  }));
}

function column(context, at) {
  return el("section", {},
    el("h2", {}, "AB"[at] + ": ", el("a", { href: sessionRoute(context.session) }, data.runs[context.session.in].label)),
    el("div", { class: "turns" }, context.trajectory.turns.map((turn) => turnView(turn, context))));
}
