// The frame: which page is shown, keys, light and dark.

const PLACES = [["Overview", []], ["Sessions", ["sessions"]], ["Tables", ["tables"]], ["Compare", ["compare"]]];

const KEYS = [
  ["/", "search sessions"], ["g o, g s, g t, g c", "overview, sessions, tables, compare"],
  ["j, k", "next and previous row, or turn"], ["Enter", "open"], ["n, p", "next and previous session"],
  ["e", "unfold or fold everything"], ["d", "light or dark"], ["?", "these keys"], ["Esc", "close"],
];

const root = document.getElementById("page");
const main = el("main", { id: "main", tabindex: -1 });
const help = el("dialog", { "aria-label": "Keys" },
  el("h2", {}, "Keys"),
  el("dl", { class: "keys" }, KEYS.map(([key, what]) => [el("dt", {}, key), el("dd", {}, what)])),
  el("form", { method: "dialog" }, el("button", {}, "Close")));
const live = el("span", { class: "small", role: "status" });
/** How the models are doing: it changes too often to be read out. */
const doing = el("span", { class: "small doing" });

/** The hash as steps and a query. */
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const steps = path.split("/").filter(Boolean).map((step) => {
    try {
      return decodeURIComponent(step);
    } catch {
      return step;
    }
  });
  return { steps, query: new URLSearchParams(query || "") };
}

function showPage() {
  const { steps, query } = place();
  const page = pageOf(steps, query);
  replace(main, page);
  document.querySelectorAll("nav.places a").forEach((one) => {
    const here = one.dataset.place === (steps[0] === "session" ? "sessions" : steps[0] || "");
    if (here) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  });
  const heading = main.querySelector("h1");
  document.title = (heading ? heading.textContent + " · " : "") + "pibench-host";
}

function pageOf(steps, query) {
  switch (steps[0]) {
    case undefined:
      return overviewPage();
    case "sessions":
      return sessionsPage(query);
    case "session": {
      const session = findSession(...steps.slice(1, 5));
      return session ? sessionPage(session, steps[5]) : missingPage();
    }
    case "tables":
      return tablesPage(steps[1]);
    case "compare":
      return steps.length >= 5 ? sideBySide(Number(steps[1]), Number(steps[2]), steps[3], steps[4]) : comparePage(steps[1], steps[2]);
    default:
      return missingPage();
  }
}

function missingPage() {
  return el("div", {}, el("h1", {}, "Nothing here"), el("p", {}, "This report has no such place. ", link([], {}, "Overview")));
}

/** A step inside the session that is shown moves the view and builds nothing anew. */
let shownAt = "";
function moved() {
  const { steps } = place();
  const at = steps.slice(0, 5).join("/");
  if (steps[0] === "session" && steps[5] && at === shownAt && document.getElementById("turn-" + steps[5])) {
    goToTurn(steps[5]);
    return;
  }
  shownAt = at;
  showPage();
  window.scrollTo(0, 0);
}

const look = document.documentElement.dataset;
const systemDark = matchMedia("(prefers-color-scheme: dark)");

/** The other of light and dark, from now on. */
function theme() {
  look.theme = look.theme === "dark" ? "light" : "dark";
  // A file's page may keep nothing in some browsers; then the choice lasts as long as the page.
  try {
    localStorage.setItem("pibench-theme", look.theme);
  } catch {
    return;
  }
}

/** The reader's choice, else the system's. */
function restoreTheme() {
  let kept = null;
  try {
    kept = localStorage.getItem("pibench-theme");
  } catch {
    kept = null;
  }
  const chosen = kept === "dark" || kept === "light";
  look.theme = chosen ? kept : systemDark.matches ? "dark" : "light";
  if (!chosen) systemDark.addEventListener("change", () => { look.theme = systemDark.matches ? "dark" : "light"; });
}

let prefix = "";
function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const key = prefix + event.key;
  prefix = event.key === "g" ? "g" : "";
  const act = {
    "/": toSearch, "?": () => help.showModal(), d: () => theme(), e: unfold,
    go: () => go([]), gs: () => go(["sessions"]), gt: () => go(["tables"]), gc: () => go(["compare"]),
    j: () => step(1), k: () => step(-1), n: () => followLink("next"), p: () => followLink("prev"),
  }[key];
  if (!act || help.open) return;
  event.preventDefault();
  act();
}

function go(parts) {
  location.hash = route(parts);
}

function toSearch() {
  const search = document.getElementById("search");
  if (search) return search.focus();
  go(["sessions"]);
  setTimeout(() => document.getElementById("search")?.focus(), 0);
}

function followLink(rel) {
  document.querySelector("a[rel=" + rel + "]")?.click();
}

/** From row to row, or from turn to turn. */
function step(by) {
  const stops = [...main.querySelectorAll(".row, .turn")];
  const now = stops.indexOf(document.activeElement.closest(".row, .turn"));
  const next = stops[now < 0 ? (by > 0 ? 0 : stops.length - 1) : now + by];
  if (!next) return;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: next.classList.contains("turn") ? "start" : "nearest" });
}

function unfold() {
  const all = [...main.querySelectorAll("details")];
  const open = all.some((details) => !details.open);
  all.forEach((details) => (open && details.unfold ? details.unfold() : (details.open = open)));
}

async function start() {
  restoreTheme();
  replace(root,
    el("a", { class: "skip", href: "#main", click: (event) => { event.preventDefault(); main.focus(); } }, "To the content"),
    el("header", { class: "top" },
      link([], { class: "home" }, "π", el("span", {}, " pibench-host")),
      el("nav", { class: "places", "aria-label": "Places" }, PLACES.map(([name, parts]) => link(parts, { "data-place": parts[0] || "" }, name))),
      live, doing,
      el("button", { type: "button", title: "Light or dark (d)", "aria-label": "Light or dark", click: () => theme() }, "◐"),
      el("button", { type: "button", title: "Keys (?)", "aria-label": "Keys", click: () => help.showModal() }, "?")),
    main, help);
  replace(main, el("p", { class: "loading", role: "status" }, "Unpacking …"));
  if (typeof DecompressionStream === "undefined" && !served()) {
    replace(main, el("p", { class: "missing" }, "This page needs a browser from 2023 or later (DecompressionStream)."));
    return;
  }
  try {
    await loadIndex();
  } catch (error) {
    replace(main, el("p", { class: "missing" }, "Failed to read the report: " + error.message));
    return;
  }
  window.addEventListener("hashchange", moved);
  document.addEventListener("keydown", pressed);
  window.addEventListener("beforeprint", () => main.querySelector(".list")?.showAll?.());
  moved();
  follow((reached) => {
    live.textContent = reached ? "" : "The viewer does not answer.";
    if (reached && !document.activeElement.closest("input, select")) refreshed();
  }, (words) => { doing.textContent = words; });
}

/** Shows newer data where the reader is. */
function refreshed() {
  const y = window.scrollY;
  showPage();
  requestAnimationFrame(() => window.scrollTo(0, y));
}

start();
