// Elements from data. Text enters the page through text nodes and nothing else, so that what agents, apps and files wrote
// stays text.

/** An element. `attributes` whose value is null or false are left out; functions become listeners. */
function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of a drawing. */
function draw(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else if (name === "href" || name === "src" || name === "value") node.setAttribute(name, value);
    else node.setAttribute(name, value === true ? "" : visible(String(value)));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  for (const child of shown) node.append(child instanceof Node ? child : written(String(child), node, shown.length === 1));
}

/** Scripts from right to left that people write today. */
const FROM_RIGHT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** Text for a node. What is written from right to left is set so: the whole node where it is all of it, else the text by itself. */
function written(text, node, whole) {
  const words = document.createTextNode(visible(text));
  if (!FROM_RIGHT.test(text) || !(node instanceof HTMLElement)) return words;
  if (whole && !node.hasChildNodes()) {
    node.dir = "auto";
    return words;
  }
  const part = document.createElement("bdi");
  part.append(words);
  return part;
}

/** Characters that nobody sees and that turn the direction of what follows, as their codes: a name must not turn the
 * figures beside it round. */
function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (c) => "\\u{" + c.codePointAt(0).toString(16) + "}");
}

function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

/** A link inside the page. `parts` are the steps of its route. */
function link(parts, attributes, ...children) {
  return el("a", { href: route(parts), ...attributes }, ...children);
}

/** The address of a place in the page; steps may hold anything. */
function route(parts, query) {
  const path = "#/" + parts.map(encodeURIComponent).join("/");
  const pairs = Object.entries(query || {}).filter(([, value]) => value);
  return pairs.length ? path + "?" + new URLSearchParams(pairs) : path;
}

/** A percentage as people read it; a dash where there is none. */
function score(value, digits = 1) {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

function signed(value) {
  if (value === null || value === undefined) return "–";
  const text = value.toFixed(1);
  return Number(text) === 0 ? "0.0" : (value > 0 ? "+" : "−") + text.replace("-", "");
}

/** Words of the record, as people write them. */
function words(name) {
  return String(name).replaceAll("_", " ");
}

function duration(ms) {
  if (ms === null || ms === undefined) return null;
  if (ms < 1000) return ms + " ms";
  if (ms < 60000) return (ms / 1000).toFixed(1) + " s";
  return Math.floor(ms / 60000) + " min " + Math.round((ms % 60000) / 1000) + " s";
}

/** Of millionths. */
function dollars(micro) {
  return "$" + (micro / 1e6).toFixed(micro < 1e6 ? 4 : 2);
}

function count(number, one, many) {
  return number + " " + (number === 1 ? one : many || one + "s");
}

/** A small box with a word in it. */
function tag(kind, ...children) {
  return el("span", { class: "tag " + kind }, ...children);
}

/** A bar that fills by percent, with the number beside it, which readers of screens read in its place. */
function meter(value, kind) {
  const width = Math.max(0, Math.min(100, value ?? 0));
  const svg = draw("svg", { class: "meter " + kind, viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("title", {}, kind[0].toUpperCase() + kind.slice(1)),
    draw("desc", {}, score(value) + " of 100"),
    draw("rect", { class: "track", width: 100, height: 6, rx: 1.5 }),
    draw("rect", { class: "fill", width, height: 6, rx: 1.5 }));
  return el("span", { class: "metered" }, svg, el("span", { class: "number" }, score(value)));
}

/** How intents stand, as one bar: completed, inferred, provided, open. */
function statusBar(intents) {
  const total = STATUSES.reduce((sum, status) => sum + (intents[status] || 0), 0);
  if (!total) return null;
  const label = STATUSES.filter((status) => intents[status]).map((status) => intents[status] + " " + status).join(", ");
  let x = 0;
  const parts = STATUSES.map((status) => {
    const width = (100 * (intents[status] || 0)) / total;
    const rect = draw("rect", { class: "s-" + status, x, width, height: 6 });
    x += width;
    return rect;
  });
  const svg = draw("svg", { class: "statusbar", viewBox: "0 0 100 6", preserveAspectRatio: "none", role: "img", "aria-label": "Hidden intents: " + label },
    draw("title", {}, "Hidden intents"), draw("desc", {}, label), parts);
  return svg;
}

/** What the colours of such bars mean. */
function statusLegend() {
  return el("p", { class: "legend" }, "Hidden intents:", STATUSES.map((status) =>
    el("span", {}, el("i", { class: "s-" + status }), el("b", {}, status), ": " + MEANINGS[status])));
}

/** What the two scores are, in words. */
function scoresLegend() {
  return el("p", { class: "note" }, "Users do not say all that they want: what is left unsaid are a session's hidden intents. ",
    SCORES.map((name) => [el("b", {}, name), ", in percent: " + MEANINGS[name] + ". "]), "Where two figures stand together, Proc comes first.");
}

const STATUSES = ["completed", "inferred", "provided", "open"];
const SCORES = ["Proc", "Comp"];

/** The page's words for scores and for how hidden intents end. */
const MEANINGS = {
  Proc: "the share of hidden intents that the agent satisfied unasked, or asked about, before the user had to say them",
  Comp: "the weighted share of the checklist's items, which must be true at the end, that the agent's work met",
  completed: "satisfied by the agent unasked",
  inferred: "asked about by the agent",
  provided: "said by the user, for the agent did neither",
  open: "none of these by the session's end",
};

/** Something folded; its content is made when it is first opened. */
function fold(summary, make, attributes) {
  const details = el("details", attributes, el("summary", {}, summary));
  let made = false;
  const open = () => {
    if (details.open && !made) {
      made = true;
      append(details, [make()]);
    }
  };
  details.addEventListener("toggle", open);
  details.unfold = () => {
    details.open = true;
    open();
  };
  if (attributes && attributes.open) open();
  return details;
}

/** Text as it was written, in lines. */
function pre(text, attributes) {
  return el("pre", attributes, text);
}

/** JSON, indented; anything else as it is. */
function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  const first = value.trimStart()[0];
  if (first !== "{" && first !== "[") return value;
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}
