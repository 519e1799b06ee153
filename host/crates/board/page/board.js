(() => {
"use strict";
// Without this script every row is shown.
const wanted = (id) => document.getElementById(id);
const choose = () => {
  const agent = wanted("agent").value.toLowerCase();
  for (const row of document.querySelectorAll("tbody tr")) {
    const { dataset } = row;
    row.hidden = !dataset.agent.toLowerCase().includes(agent)
      || !["", dataset.verified].includes(wanted("verified").value)
      || !["", dataset.prompt].includes(wanted("prompt").value)
      || (wanted("signed").checked && dataset.signed !== "true");
  }
  for (const section of document.querySelectorAll("section:has(tbody)")) {
    section.hidden = !section.querySelector("tbody tr:not([hidden])")
      || ["suite", "protocol", "scaffold", "prompts"].some((id) => !["", section.dataset[id]].includes(wanted(id).value));
  }
};
document.querySelector(".filters").hidden = false;
for (const field of document.querySelectorAll(".filters input, .filters select")) {
  field.addEventListener("input", choose);
}
})();
