"use strict";
// A sheet in the browser: keeps what was chosen, says what is left, and saves it as a file. It asks nobody for anything.
{
  const sheet = document.body.dataset.sheet;
  const place = "pibench-host sheet " + sheet;
  const questions = [...document.querySelectorAll("fieldset")];
  const chosen = (question) => question.querySelector("input:checked")?.value ?? "";
  const left = () => questions.filter((question) => !chosen(question));

  const paint = () => {
    document.getElementById("left").textContent = left().length + " of " + questions.length + " questions are left.";
    document.getElementById("next").disabled = left().length === 0;
  };

  // A browser may keep nothing for a page from disk: then the choices last as long as the page.
  const keep = () => {
    try {
      localStorage.setItem(place, JSON.stringify(questions.map(chosen)));
    } catch {}
  };
  const recall = () => {
    try {
      return JSON.parse(localStorage.getItem(place)) ?? [];
    } catch {
      return [];
    }
  };

  const save = () => {
    const lines = questions.map((question) => [sheet, question.dataset.item, chosen(question)].join(","));
    const text = ["sheet,item,verdict", ...lines].join("\n") + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = "verdicts-" + sheet + ".csv";
    link.click();
    URL.revokeObjectURL(link.href);
  };

  recall().forEach((value, at) => {
    const input = [...(questions[at]?.querySelectorAll("input") ?? [])].find((one) => one.value === value);
    if (input) input.checked = true;
  });
  document.addEventListener("change", () => {
    keep();
    paint();
  });
  document.getElementById("next").addEventListener("click", () => left()[0]?.scrollIntoView({ block: "center" }));
  document.getElementById("save").addEventListener("click", save);
  paint();
}
