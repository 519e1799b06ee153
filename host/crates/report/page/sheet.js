// Tables of the report: the same sheets as in every other format.

function sheetView(sheet, options = {}) {
  const box = el("section", { class: "sheet", id: sheet.id });
  append(box, [el("h2", {}, sheet.title)]);
  if (sheet.missing) {
    append(box, [el("p", { class: "missing" }, sheet.missing)]);
    return box;
  }
  const hasPublished = sheet.rows.some((row) => row.origin === "published") || sheet.columns.some((column) => column.origin === "published");
  let shown = options.published !== false;
  let order = null;
  const table = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": sheet.title });
  const sort = (at) => {
    order = order && order.at === at && !order.up ? { at, up: true } : order && order.at === at ? null : { at, up: false };
    paint();
    table.querySelectorAll("th button")[at]?.focus();
  };
  const paint = () => replace(table, sheetTable(sheet, shown, order, sort));
  paint();
  if (hasPublished) {
    const toggle = el("input", { type: "checkbox", change: (event) => { shown = event.target.checked; paint(); } });
    toggle.checked = shown;
    append(box, [el("label", { class: "check" }, toggle, " figures of the paper (" + data.headings.published + ")")]);
  }
  append(box, [table]);
  const marked = sheet.rows.some((row) => row.cells.some((cell) => (cell.figures || []).some((figure) => figure && figure.rank)));
  if (marked) append(box, [el("p", { class: "note" }, el("b", {}, "Best"), ", ", el("u", {}, "second best"), ".")]);
  append(box, sheet.notes.map((note) => el("p", { class: "note" }, note)));
  return box;
}

/** What a cell is sorted by; null where it has nothing. */
function sortKey(cell) {
  if (!cell) return null;
  if (cell.words !== undefined) return cell.words;
  if (cell.count !== undefined) return cell.count;
  const figure = cell.figures.find((one) => one);
  return figure ? figure.value : null;
}

/** Rows by a column, each block by itself: largest first, or words from A; what has nothing comes last. */
function sorted(rows, order) {
  if (!order) return rows;
  const blocks = [...new Set(rows.map((row) => row.origin))];
  const way = order.up ? -1 : 1;
  const compare = (one, other) => {
    const [a, b] = [sortKey(one.cells[order.at]), sortKey(other.cells[order.at])];
    if (a === null || b === null) return (a === null) - (b === null);
    return way * (typeof a === "string" ? String(a).localeCompare(String(b)) : b - a);
  };
  return blocks.flatMap((block) => rows.filter((row) => row.origin === block).sort(compare));
}

function sheetTable(sheet, published, order, sort) {
  const columns = sheet.columns.map((column, at) => at).filter((at) => published || sheet.columns[at].origin !== "published");
  const rows = sorted(sheet.rows.filter((row) => published || row.origin !== "published"), order);
  const head = columns.map((at) => {
    const column = sheet.columns[at];
    const parts = column.parts.map((part) => part.name).filter(Boolean);
    const way = order && order.at === at ? (order.up ? "ascending" : "descending") : null;
    const meant = SCORES.filter((name) => column.title === name || parts.includes(name)).map((name) => name + ": " + MEANINGS[name]);
    return el("th", { scope: "col", class: headClass(column), "aria-sort": way, title: meant.join("; ") || null },
      el("button", { type: "button", click: () => sort(at) }, breakable(column.title)), parts.length > 1 && el("small", {}, parts.join(" / ")));
  });
  let opened = "measured";
  const body = [];
  for (const row of rows) {
    if (row.origin !== opened) {
      opened = row.origin;
      body.push(el("tr", { class: "divider" }, el("td", { colspan: columns.length }, data.headings[opened])));
    }
    body.push(el("tr", { class: row.origin.replace("_", "-") },
      columns.map((at) => sheetCell(row.cells[at], sheet.columns[at], at))));
  }
  return el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body));
}

function headClass(column) {
  return (column.parts.length ? "num" : "") + (column.origin === "published" ? " published" : "");
}

function sheetCell(cell, column, at) {
  if (!cell) return el("td");
  const kind = headClass(column);
  if (cell.words !== undefined) {
    const text = cell.href ? el("a", { href: cell.href }, breakable(cell.words)) : breakable(cell.words);
    return el(at === 0 ? "th" : "td", at === 0 ? { scope: "row" } : { class: kind }, text, cell.hint && el("small", {}, cell.hint));
  }
  if (cell.count !== undefined) return el("td", { class: "num" }, cell.count.toLocaleString("en"));
  const shown = cell.figures.map((figure, part) => [part > 0 && " / ", figure ? figureText(figure) : "–"]);
  const empty = cell.figures.every((figure) => !figure);
  return el("td", { class: kind }, empty ? "–" : shown);
}

/** Where a name such as PROVIDER/MODEL may go on in the next line: not within a word. */
function breakable(text) {
  return text.split("/").map((part, at) => at === 0 ? part : ["/", el("wbr"), part]);
}

function figureText(figure) {
  const text = figure.value.toFixed(figure.digits);
  const value = figure.rank === "best" ? el("b", {}, text) : figure.rank === "second" ? el("u", {}, text) : text;
  return figure.std === null ? [value] : [value, el("small", { class: "std" }, " ± " + figure.std.toFixed(figure.digits))];
}

function sheetOf(id) {
  return data.sheets.find((sheet) => sheet.id === id);
}

/** All tables, one below the other, with a list of them. */
function tablesPage(id) {
  const page = el("div", { class: "tables" });
  append(page, [
    el("h1", {}, "Tables"),
    el("nav", { class: "toc", "aria-label": "Tables" }, data.sheets.map((sheet) => link(["tables", sheet.id], {}, sheet.title.split(":")[0]))),
    data.sheets.map((sheet) => sheetView(sheet)),
  ]);
  if (id) requestAnimationFrame(() => document.getElementById(id)?.scrollIntoView());
  return page;
}
