// Live parts, the reader's times and keys. Without this script, each page is complete and refreshed by hand.

const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

function inZone(date, text) {
  if (day.format(date) !== day.format()) return `${day.format(date)}, ${clock.format(date)}`;
  if (!text.includes(".")) return clock.format(date);
  return `${clock.format(date)}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

function showTimes(root) {
  for (const element of root.querySelectorAll("time")) {
    if (!element.dateTime) element.dateTime = element.textContent;
    const date = new Date(element.dateTime);
    if (isNaN(date)) continue;
    const text = inZone(date, element.dateTime);
    if (element.textContent !== text) element.textContent = text;
    element.title = `${full.format(date)}\n${element.dateTime}`;
  }
}

// Replaces each element that has changed, by its id; what had the focus keeps it.
function show(html) {
  const sent = document.createElement("template");
  sent.innerHTML = html;
  for (const element of [...sent.content.children]) {
    const old = document.getElementById(element.id);
    if (!old || shown.get(element.id) === element.outerHTML) continue;
    shown.set(element.id, element.outerHTML);
    const focused = old.contains(document.activeElement) ? place(old, document.activeElement) : null;
    const { scrollTop, scrollLeft } = old;
    showTimes(sent.content);
    for (const box of element.querySelectorAll(BOXES)) box.checked = picked.has(box.value);
    old.replaceWith(element);
    Object.assign(element, { scrollTop, scrollLeft });
    if (focused) focused(element)?.focus({ preventScroll: true });
  }
}
const shown = new Map();

// What is picked stays so when its part is read again.
const BOXES = 'input[type="checkbox"][name="ids"]';
const picked = new Set();
document.addEventListener("change", ({ target }) => {
  if (target.matches(BOXES)) picked[target.checked ? "add" : "delete"](target.value);
});

// Returns a function that finds the same link or field in the new element.
function place(root, focused) {
  const wanted = focused.getAttribute("href") ?? focused.id;
  return (element) =>
    [...element.querySelectorAll("a, button, input, [tabindex]")].find(
      (each) => wanted && (each.getAttribute("href") ?? each.id) === wanted,
    );
}

// Waits while something is pressed: a link that is replaced then would not be followed.
let newest = "";
function update() {
  if (document.querySelector("main:active")) setTimeout(update, 50);
  else show(newest);
}

let source = null;
function listen() {
  const address = document.body.dataset.live;
  if (!address || document.hidden || source) return;
  source = new EventSource(address);
  source.onmessage = (event) => {
    say("Live");
    newest = event.data;
    update();
  };
  source.onerror = () => say("Connection lost: trying again");
}

function say(text) {
  document.getElementById("live").textContent = text;
  shown.delete("live"); // an error of the reader may stand there again
}

// A browser opens six connections to one place: a hidden page needs none.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return listen();
  source?.close();
  source = null;
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  if (event.key !== "/") return document.querySelector(`nav [data-key="${CSS.escape(event.key)}"]`)?.click();
  const field = document.querySelector("main input");
  if (!field) return;
  event.preventDefault();
  field.focus();
});

showTimes(document);
listen();
