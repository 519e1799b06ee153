// The list of all sessions: search, filters, order. Rows are made as they come into sight.

const ROWS_AT_ONCE = 80;

const ORDERS = {
  proc: ["Proc, lowest first", (session) => session.proc ?? 101],
  comp: ["Comp, lowest first", (session) => session.comp ?? 101],
  turns: ["most turns", (session) => -session.turns],
  ms: ["longest", (session) => -(session.ms || 0)],
  cost: ["most expensive", (session) => -(session.cost || 0)],
};

function sessionsPage(query) {
  const filter = {
    q: query.get("q") || "", in: query.get("in") || "", persona: query.get("persona") || "",
    category: query.get("category") || "", outcome: query.get("outcome") || "", order: query.get("order") || "",
    deep: query.get("deep") || "",
  };
  const list = el("div", { class: "list" });
  const told = el("p", { class: "small", role: "status" });
  const summary = el("div");
  let run = 0;
  const show = async () => {
    const mine = ++run;
    history.replaceState(null, "", route(["sessions"], filter));
    let found = filtered(filter);
    if (filter.deep && filter.q) found = await inTranscripts(filter, told, () => mine === run);
    if (mine !== run || !found) return;
    told.textContent = count(found.length, "session") + (found.length < data.sessions.length ? " of " + data.sessions.length : "");
    replace(summary, filter.persona || filter.category ? groupSummary(filter) : null);
    rowsOf(list, found);
  };
  const select = (name, label, options, all = "all") => el("label", {}, el("span", {}, label),
    el("select", { name, change: (event) => { filter[name] = event.target.value; show(); } },
      el("option", { value: "" }, all),
      options.map(([value, text]) => {
        const option = el("option", { value }, text);
        option.selected = filter[name] === value;
        return option;
      })));
  const search = el("input", { type: "search", id: "search", placeholder: "title, intent, criterion, id …", value: filter.q,
    "aria-label": "Search sessions", input: (event) => { filter.q = event.target.value; show(); } });
  const deep = el("input", { type: "checkbox", change: (event) => { filter.deep = event.target.checked ? "1" : ""; show(); } });
  deep.checked = Boolean(filter.deep);
  const unique = (of) => [...new Set(data.sessions.map(of).filter(Boolean))].sort();
  show();
  return el("div", {},
    el("h1", {}, "Sessions"),
    el("form", { class: "filters", role: "search", submit: (event) => event.preventDefault() },
      el("label", { class: "wide" }, el("span", {}, "Search"), search),
      data.runs.length > 1 && select("in", "Model", data.runs.map((run, place) => [String(place), run.label])),
      select("persona", "Persona", unique((session) => session.persona).map((id) => [id, words(id)])),
      select("category", "Category", unique((session) => session.category).map((letter) => [letter, letter + " " + data.categoryOf.get(letter).title])),
      select("outcome", "Outcome", unique((session) => session.outcome).map((outcome) => [outcome, words(outcome)])),
      select("order", "Order", Object.entries(ORDERS).map(([name, [text]]) => [name, text]), "as played"),
      el("label", { class: "check" }, deep, " search transcripts too")),
    told, summary, statusLegend(), list);
}

function filtered(filter) {
  const terms = filter.deep ? [] : filter.q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = data.sessions.filter((session) =>
    (filter.in === "" || session.in === Number(filter.in)) &&
    (!filter.persona || session.persona === filter.persona) &&
    (!filter.category || session.category === filter.category) &&
    (!filter.outcome || session.outcome === filter.outcome) &&
    terms.every((term) => session.text.includes(term)));
  const order = ORDERS[filter.order];
  return order ? found.sort((one, other) => order[1](one) - order[1](other)) : found;
}

/** Unpacks one session after the other; null when a newer search began. */
async function inTranscripts(filter, told, current) {
  const wanted = filter.q.toLowerCase();
  const candidates = filtered(filter);
  const found = [];
  for (const [at, session] of candidates.entries()) {
    if (!current()) return null;
    told.textContent = "Looking into " + (at + 1) + " of " + candidates.length + " …";
    let record = null;
    try {
      record = await loadSession(session);
    } catch {
      continue;
    }
    if (session.text.includes(wanted) || textOf(record).toLowerCase().includes(wanted)) found.push(session);
  }
  return found;
}

/** All texts of a record, each in a line. */
function textOf(value) {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object") return String(value);
  return Object.values(value).map(textOf).join("\n");
}

function groupSummary(filter) {
  const category = data.categoryOf.get(filter.category);
  const rows = data.runs.map((run) => ({
    run,
    scores: filter.persona ? run.measures.personas[filter.persona] : run.measures.categories[filter.category],
  })).filter(({ scores }) => scores);
  if (filter.persona && filter.category) return null;
  return el("div", { class: "group" },
    category && el("p", {}, el("b", {}, category.title), ": ", category.description),
    el("div", { class: "cards" }, rows.map(({ run, scores }) => el("div", { class: "card slim" },
      el("b", {}, run.label),
      el("dl", { class: "scores" },
        el("dt", {}, "Proc"), el("dd", {}, meter(scores.proc && scores.proc.mean, "proc")),
        el("dt", {}, "Comp"), el("dd", {}, meter(scores.comp && scores.comp.mean, "comp")))))));
}

function rowsOf(list, found) {
  list.replaceChildren();
  let shown = 0;
  const more = el("div", { class: "more" });
  const watch = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) add();
  }, { rootMargin: "600px" });
  const add = () => {
    const next = found.slice(shown, shown + ROWS_AT_ONCE);
    shown += next.length;
    more.before(...next.map(sessionRow));
    if (shown >= found.length) {
      watch.disconnect();
      more.remove();
    }
  };
  // On paper nothing comes into sight.
  list.showAll = () => {
    while (shown < found.length) add();
  };
  list.append(more);
  if (!found.length) replace(list, el("p", { class: "missing" }, "No session fits."));
  else {
    add();
    if (more.isConnected || shown < found.length) watch.observe(more);
  }
}

function sessionRow(session) {
  return el("a", { class: "row", href: sessionRoute(session) },
    el("span", { class: "letter", title: session.category ? (data.categoryOf.get(session.category) || {}).title : "no category" }, session.category || "·"),
    el("span", { class: "what" },
      el("b", {}, session.title),
      el("small", {}, sessionPlace(session))),
    el("span", { class: "state" }, stateTag(session), statusBar(session.intents)),
    el("span", { class: "pair", title: MEANINGS.Proc }, el("small", {}, "Proc"), meter(session.proc, "proc")),
    el("span", { class: "pair", title: MEANINGS.Comp }, el("small", {}, "Comp"), meter(session.comp, "comp")),
    el("span", { class: "turns" }, count(session.turns, "turn")));
}

function sessionPlace(session) {
  const run = data.runs[session.in];
  return (data.runs.length > 1 ? run.label + " · " : "") + session.persona + " / " + session.id +
    (run.runs > 1 ? " · run " + session.run : "");
}

function stateTag(session) {
  if (session.state === "waiting") return tag("plain", "waiting");
  if (session.state === "interrupted") return tag("plain", "interrupted");
  if (session.state === "playing") return tag("live", "playing");
  if (session.outcome === "complete") return null;
  return tag(session.outcome === "max_turns" ? "warn" : "bad", words(session.outcome));
}

function sessionRoute(session, turn) {
  return route(["session", session.in, session.persona, session.run, session.id].concat(turn ? [turn] : []));
}
