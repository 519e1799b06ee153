// The first page: who scored what, and where to look next.

function overviewPage() {
  return el("div", { class: "overview" },
    el("h1", {}, data.runs.length === 1 ? data.runs[0].label : heading()),
    el("p", { class: "lead" }, lead()),
    scoresLegend(),
    statusLegend(),
    el("div", { class: "cards" }, data.runs.map(runCard)),
    data.runs.length === 2 && data.comparisons.length > 0 &&
      el("p", {}, link(["compare", 0, 1], { class: "button" }, "Compare the two runs")),
    sheetView(sheetOf("table-1")),
    figures(),
    groups("Personas", personaRows()),
    groups("Categories", categoryRows()),
    sheetView(sheetOf("failures")),
    sheetView(sheetOf("certainty")),
    sheetView(sheetOf("pass-k")),
    sheetView(sheetOf("usage")),
    faults());
}

/** Ablated runs are of models that stand there already. */
function heading() {
  const ablated = data.runs.filter((run) => run.ablated).length;
  const others = count(data.runs.length - ablated, "model");
  return ablated === 0 ? others : others + ", " + count(ablated, "ablated run");
}

function lead() {
  const suites = [...new Set(data.runs.map((run) => run.suite))].join(", ");
  return "Suite " + suites + " · " + count(data.sessions.length, "session") + " · pibench-host " + data.host;
}

function runCard(run, place) {
  const overall = run.measures.overall;
  const row = (name, scores, estimate, kind) => [
    el("dt", { title: MEANINGS[name] }, name),
    el("dd", {}, meter(scores && scores.mean, kind),
      el("small", {}, [
        scores && scores.std !== null && "± " + score(scores.std),
        estimate && estimate.interval && "95%: " + score(estimate.interval.low) + " to " + score(estimate.interval.high),
      ].filter(Boolean).join(" · "))),
  ];
  return el("article", { class: "card" },
    el("h2", {}, link(["sessions"], { href: route(["sessions"], { in: String(place) }) }, run.label)),
    el("p", { class: "tags" },
      run.marks.map((mark) => tag("warn", mark)),
      run.ablated && tag("warn", "without dependencies"),
      run.prompt && tag("warn", run.prompt + " prompt"),
      !run.complete && (run.interrupted ? tag("plain", "interrupted") : tag("live", "playing")),
      tag("plain", words(run.protocol)),
      tag("plain", count(run.runs, "run"))),
    el("dl", { class: "scores" },
      row("Proc", overall.proc, run.measures.proc_estimate, "proc"),
      row("Comp", overall.comp, run.measures.comp_estimate, "comp")),
    statusBar(run.measures.intents),
    el("p", { class: "tags", title: "hidden intents of scored sessions" }, STATUSES.filter((status) => run.measures.intents[status])
      .map((status) => el("span", { class: "tag s-" + status, title: MEANINGS[status] }, run.measures.intents[status] + " " + status))),
    el("p", { class: "small" },
      run.scored.of ? scoredOf(run) : "no session counts by itself",
      run.measures.turns && " · " + score(run.measures.turns.mean) + " turns per session",
      run.cost > 0 && " · " + dollars(run.cost),
      run.faults.length > 0 && [" · ", el("strong", {}, count(run.faults.length, "fault"))]),
    run.parts && partsOf(run),
    fold("Details", () => el("dl", { class: "facts" }, facts(run).map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))));
}

/** How many sessions Proc and Comp stand on, each by itself where they are others. */
function scoredOf({ scored, comp_scored: comp }) {
  const told = (one) => one.scored + " of " + one.of + " sessions";
  return comp ? told(scored) + " with a Proc, " + told(comp) + " with a Comp" : told(scored) + " scored";
}

/** Of a run that is played apart: who plays which part, and how far it is. */
function partsOf(run) {
  const heads = [["Part"], ["Node"], ["Start", "num"], ["Last line", "num"], ["Sessions", "num"], ["State"]];
  const finished = run.parts.filter((part) => part.state === "played").length;
  return fold(finished + " of " + count(run.parts.length, "part") + " played", () =>
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Parts of " + run.label },
      el("table", { class: "parts" },
        el("thead", {}, el("tr", {}, heads.map(([name, kind]) => el("th", { scope: "col", class: kind || "" }, name)))),
        el("tbody", {}, run.parts.map((part) => el("tr", {},
          el("th", { scope: "row" }, part.part),
          el("td", {}, part.node || "–"),
          el("td", { class: "num" }, part.start === null ? "–" : part.start),
          el("td", { class: "num" }, part.last || "–"),
          el("td", { class: "num" }, part.finished + "/" + part.sessions),
          el("td", {}, part.state)))))));
}

function facts(run) {
  return [
    ["Folder", run.folder], ["Agent", played(run, "agent")], ["User agent", played(run, "user")], ["Judge", played(run, "judge")],
    ["Suite", run.suite], ["Suite digest", run.suite_digest.slice(0, 16)], ["Protocol", run.protocol + ", version " + run.protocol_version], ["Scaffold", run.scaffold],
    ["Seed", run.seed], ["Host", run.host], ["Started", run.started],
  ];
}

/** A role's name, and who that is. */
function played(run, role) {
  return run[role] + " (" + words(run.players[role]) + ")";
}

function figures() {
  return el("section", {},
    el("h2", {}, "Figures"),
    el("div", { class: "figures" }, data.figures.map((figure) =>
      el("figure", { class: figure.id },
        el("div", { class: "drawing", tabindex: 0, role: "region", "aria-label": figure.title },
          el("img", { class: "for-light", src: figure.light, alt: figure.description, loading: "lazy" }),
          el("img", { class: "for-dark", src: figure.dark, alt: figure.description, loading: "lazy" })),
        el("figcaption", {}, figure.title)))));
}

/** Rows of {title, hint, href, sessions, scores by run} as a sheet, with its head and its sorting. */
function groups(title, rows) {
  if (!rows.length) return null;
  const column = (name, ...parts) => ({ title: name, origin: "measured", parts: parts.map((part) => ({ name: part })) });
  const figure = (spread) => spread ? { value: spread.mean, digits: 1, std: null, rank: null } : null;
  return sheetView({
    id: title.toLowerCase(),
    title,
    columns: [column(title.replace(/ies$/, "y").replace(/s$/, "")), column("Sessions", ""), ...data.runs.map((run) => column(run.label, "Proc", "Comp"))],
    rows: rows.map((row) => ({
      origin: "measured",
      cells: [{ words: row.title, hint: row.hint, href: row.href }, { count: row.sessions },
        ...row.scores.map((scores) => ({ figures: [figure(scores?.proc), figure(scores?.comp)] }))],
    })),
    notes: [],
  });
}

function personaRows() {
  const ids = [...new Set(data.sessions.map((session) => session.persona))];
  return ids.map((id) => {
    const outline = data.outlines.flatMap((outline) => outline.personas).find((persona) => persona.id === id);
    return {
      title: outline ? outline.name : id,
      hint: outline ? id : null,
      href: route(["sessions"], { persona: id }),
      sessions: new Set(data.sessions.filter((session) => session.persona === id).map((session) => session.id)).size,
      scores: data.runs.map((run) => run.measures.personas[id]),
    };
  });
}

function categoryRows() {
  return data.categories.map((category) => {
    const sessions = data.sessions.filter((session) => session.category === category.letter);
    return {
      title: category.letter + "  " + category.title,
      href: route(["sessions"], { category: category.letter }),
      sessions: new Set(sessions.map((session) => session.persona + "/" + session.id)).size,
      scores: data.runs.map((run) => run.measures.categories[category.letter]),
    };
  }).filter((row) => row.sessions > 0);
}

function faults() {
  const rows = data.runs.flatMap((run, place) => run.faults.map((fault) => ({ run, place, fault })));
  if (!rows.length) return null;
  return el("section", {},
    el("h2", {}, "Faults"),
    el("ul", { class: "faults" }, rows.slice(0, 200).map(({ run, place, fault }) =>
      el("li", {},
        tag("bad", fault.kind + " fault"), " ",
        link(["session", place, fault.persona, fault.run, fault.session].concat(fault.turn ? [fault.turn] : []), {},
          run.label + " · " + fault.persona + "/" + fault.session + ", run " + fault.run + (fault.turn ? ", turn " + fault.turn : "")),
        ": ", el("span", { class: "message" }, fault.message)))),
    rows.length > 200 && el("p", { class: "note" }, rows.length - 200 + " more are in the run folders."));
}
