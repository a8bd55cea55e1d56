// Filters, sorting, folded parts, and cards on a narrow screen. Without this script the page has everything, in the paper's
// order, in tables.
"use strict";

const form = document.getElementById("filters");
const selects = [...form.querySelectorAll("select[data-filter]")];
const main = document.getElementById("content");

function chosen() {
  return selects.filter((select) => select.value).map((select) => [select.dataset.filter, select.value]);
}

function fits(element, wanted) {
  return wanted.every(([name, value]) => !element.dataset[name] || element.dataset[name] === value);
}

function isShown(element) {
  return !element.closest("[hidden]");
}

// A table, a drawing or a section with nothing left to show is not shown either.
function hideIfEmpty(selector, contents) {
  for (const element of main.querySelectorAll(selector)) {
    const inner = [...element.querySelectorAll(contents)];
    if (inner.length && inner.every((one) => one.hidden)) element.hidden = true;
  }
}

function unfoldFirst(section) {
  const parts = [...section.querySelectorAll(":scope > [data-source]")].filter((part) => !part.hidden);
  const isOpen = (part) => part.tagName !== "DETAILS" || part.open;
  if (parts.length && !parts.some(isOpen)) {
    parts[0].open = true;
    parts[0].dataset.unfolded = "";
  }
}

function foldAgain() {
  for (const part of main.querySelectorAll("[data-unfolded]")) {
    part.open = false;
    delete part.dataset.unfolded;
  }
}

function filterPage() {
  const wanted = chosen();
  foldAgain();
  for (const element of main.querySelectorAll("[hidden]")) element.hidden = false;
  for (const element of main.querySelectorAll("[data-source], [data-encoder], [data-task]")) {
    element.hidden = !fits(element, wanted);
  }
  hideIfEmpty(".group", ".gain:not(.paper)");
  hideIfEmpty(".block", "tbody > tr");
  hideIfEmpty(".forest", ".group");
  hideIfEmpty("[data-source]", ".block, figure, li");
  hideIfEmpty("section", "[data-source]");
  if (wanted.length) main.querySelectorAll("section").forEach(unfoldFirst);
  for (const link of document.querySelectorAll("nav a")) {
    link.parentElement.hidden = document.querySelector(link.getAttribute("href")).hidden;
  }
  const rows = [...main.querySelectorAll(".block tbody > tr")];
  form.querySelector("output").value = wanted.length ? `${rows.filter(isShown).length} of ${rows.length} rows` : "";
}

// The value that a cell has, or the number that it begins with, or its text.
function valueOf(row, column) {
  const cell = row.cells[column];
  const text = cell.textContent.trim();
  if (cell.dataset.value) return Number(cell.dataset.value);
  const number = Number.parseFloat(text.replaceAll(",", ""));
  return text === "" || text === "–" ? null : Number.isNaN(number) ? text : number;
}

// Cells without a value come last, whatever the direction.
function compare(first, second, direction) {
  if (first === null || second === null) return (first === null) - (second === null);
  if (typeof first === "number" && typeof second === "number") return direction * (first - second);
  return direction * String(first).localeCompare(String(second), "en", { numeric: true });
}

const NEXT = { none: "descending", descending: "ascending", ascending: "none" };

function sortBy(heading) {
  const table = heading.closest("table");
  const order = NEXT[heading.getAttribute("aria-sort") ?? "none"];
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  if (order !== "none") heading.setAttribute("aria-sort", order);
  table.classList.toggle("sorted", order !== "none");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  rows.forEach((row, number) => { row.dataset.place ??= number; });
  const direction = order === "ascending" ? 1 : -1;
  rows.sort((first, second) => order === "none"
    ? first.dataset.place - second.dataset.place
    : compare(valueOf(first, heading.cellIndex), valueOf(second, heading.cellIndex), direction));
  body.append(...rows);
}

function makeSortable(heading) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...heading.childNodes);
  button.addEventListener("click", () => sortBy(heading));
  heading.append(button);
}

// On a narrow screen a row becomes a card, in which every cell says what its column is.
function makeCards(table) {
  const headings = [...table.tHead.rows[0].cells].map((heading) => heading.textContent);
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, column) => { cell.dataset.label = headings[column]; });
  }
  table.classList.add("cards");
}

// A reader who comes back from the runs of a number finds open what was open; the browser itself keeps what was chosen.
function keepFolds() {
  history.replaceState([...document.querySelectorAll("details")].map((fold) => fold.open), "");
}

function restoreFolds() {
  document.querySelectorAll("details").forEach((fold, number) => { fold.open = history.state[number] ?? fold.open; });
}

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}

document.querySelectorAll("table").forEach(makeCards);
form.hidden = false;
form.addEventListener("change", filterPage);
form.addEventListener("reset", () => setTimeout(filterPage));
main.querySelectorAll(".block thead th").forEach(makeSortable);
addEventListener("hashchange", openTarget);
addEventListener("pageshow", () => { if (chosen().length) filterPage(); });
main.addEventListener("click", (event) => { if (event.target.closest("a")) keepFolds(); });
if (matchMedia("(max-width: 60rem)").matches) document.querySelector("nav details").open = false;
if (history.state) restoreFolds();
else openTarget();
