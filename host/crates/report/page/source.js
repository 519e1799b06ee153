// Where data comes from: out of the page itself, or from the viewer's server. An index first; each session when it is
// asked for.

const CACHED_SESSIONS = 40;
const POLL_MS = 2000;

/** The index and what is derived from it once. */
let data = null;

/** Sessions of this index by place, the longest unused first. */
const sessionCache = new Map();

async function inflate(base64) {
  const bytes = Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

const embedded = (id) => document.getElementById(id);

/** Whether a server stands behind the page. */
const served = () => embedded("index") === null;

async function fetched(path) {
  const response = await fetch(path, { cache: "no-store" });
  if (!response.ok) throw new Error("the viewer answered " + response.status + " " + (await response.text()));
  return response.json();
}

async function loadIndex() {
  const index = served() ? await fetched("index.json") : await inflate(embedded("index").textContent);
  data = derived(index);
  sessionCache.clear();
}

function derived(index) {
  index.categoryOf = new Map(index.categories.map((category) => [category.letter, category]));
  index.sessions.forEach((session, place) => {
    session.place = place;
    session.key = [session.in, session.persona, session.run, session.id].join("\u0000");
    session.outline = outlineOf(index, session);
    session.text = searchText(index, session);
  });
  index.byKey = new Map(index.sessions.map((session) => [session.key, session]));
  return index;
}

/** What the suite says of a session; null where the run folder does not tell. */
function outlineOf(index, session) {
  const outline = index.outlines[index.runs[session.in].outline];
  const persona = outline && outline.personas.find((persona) => persona.id === session.persona);
  return (persona && persona.sessions.find((one) => one.id === session.id)) || null;
}

/** All that the search of the list looks at, in lower case. */
function searchText(index, session) {
  const outline = session.outline;
  const parts = [session.title, session.id, session.persona, session.outcome, index.runs[session.in].label];
  if (session.category) parts.push(session.category, (index.categoryOf.get(session.category) || {}).title);
  if (outline) {
    parts.push(outline.request);
    outline.intents.forEach((intent) => parts.push(intent.id, intent.content));
    outline.checklist.forEach((item) => parts.push(item.id, item.criterion));
  }
  return parts.join("\n").toLowerCase();
}

function findSession(run, persona, repeat, id) {
  return data.byKey.get([Number(run), persona, Number(repeat), id].join("\u0000")) || null;
}

/** Whether the page, or the server behind it, has a session's record: a page of thousands carries the first ones only. */
const carried = (session) => served() || embedded("s" + session.place) !== null;

/** A session's record; null where nothing of it is played, or the page does not carry it. */
async function loadSession(session) {
  if (!carried(session)) return null;
  const known = sessionCache.get(session.place);
  if (known) return known;
  const record = served()
    ? await fetched("session/" + session.place)
    : await inflate(embedded("s" + session.place).textContent);
  sessionCache.delete(session.place);
  sessionCache.set(session.place, record);
  if (sessionCache.size > CACHED_SESSIONS) sessionCache.delete(sessionCache.keys().next().value);
  return record;
}

/** Looks again while a run still plays; `changed` is called with whether the server can be reached, `doing` with how the models are doing. */
function follow(changed, doing) {
  if (!served()) return;
  let version = null;
  const ask = async () => {
    // A large run takes its time to read: the server must not do nothing else.
    const began = performance.now();
    try {
      const now = await fetched("version");
      if (version !== null && now.version !== version) {
        await loadIndex();
        changed(true);
      }
      version = now.version;
      doing(now.doing || "");
      if (!now.complete) setTimeout(ask, Math.max(POLL_MS, 5 * (performance.now() - began)));
    } catch {
      changed(false);
      setTimeout(ask, 3 * POLL_MS);
    }
  };
  ask();
}
