// Building the page. Text becomes text nodes: nothing here interprets HTML.

// h("button.primary", { type: "button", onclick: f }, "Save", child) creates an element. The first argument
// is a tag with classes. Properties that begin with "on" are listeners; true and false set and omit an
// attribute; null and undefined children are left out.
export function h(spec, props, ...children) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

// What an element shows, apart from times such as "3 seconds ago".
export const looks = (element) => element.outerHTML.replace(/>[^<]*<\/time>/g, ">");

const controls = (root) => [...root.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")];
const nameOf = (control) => control.getAttribute("aria-label") ?? control.textContent;

// Runs `change`, which builds the content of `root` again. If a control there had the focus, the one with the
// same name gets it, otherwise `otherwise(the control that had it)`.
export function keepFocus(root, change, otherwise) {
  const had = document.activeElement;
  const within = root !== had && root.contains(had);
  const same = () => controls(root).filter((control) => nameOf(control) === nameOf(had));
  const n = within ? same().indexOf(had) : 0;
  change();
  if (within && !root.contains(document.activeElement)) (same()[n] ?? otherwise(had))?.focus({ preventScroll: true });
}

// Gives a list new items. Items that look the same stay, so that what a person does there is not disturbed: the
// focus, a click, a selection. If the item with the focus goes, the one that takes its place gets the focus.
export function renew(list, items) {
  const old = new Map([...list.children].map((item) => [looks(item), item]));
  const next = items.map((item) => {
    const name = looks(item);
    const kept = item.parentNode === list ? item : old.get(name) ?? item;
    if (old.get(name) === kept) old.delete(name);
    return kept;
  });
  const at = [...list.children].findIndex((item) => item.contains(document.activeElement));
  keepFocus(list, () => {
    for (const gone of [...list.children].filter((item) => !next.includes(item))) gone.remove();
    next.forEach((item, i) => list.children[i] !== item && list.insertBefore(item, list.children[i]));
  }, (had) => {
    const near = controls(list.children[Math.min(at, next.length - 1)] ?? list);
    return near.find(({ textContent }) => textContent === had.textContent) ?? near[0] ?? document.querySelector("main h1");
  });
}

export const byId = (id) => document.getElementById(id);

let count = 0;
export const unique = (name) => `${name}-${++count}`;

// A control with its label; `hint` is read with it.
export function field(label, control, hint) {
  control.id ||= unique("field");
  const note = hint && h("p.hint", { id: unique("hint") }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div.field", null, h("label", { for: control.id }, label), control, note);
}

// A dialog with a form. Resolves to the value of the button that closed it; "" if it was dismissed.
export function ask(title, body, buttons) {
  const id = unique("dialog");
  const dialog = h("dialog", { "aria-labelledby": id }, h("form", { method: "dialog" },
    h("h2", { id }, title), body,
    h("div.actions", null, buttons.map(([text, value, kind]) =>
      h(kind ? `button.${kind}` : "button", { value, formnovalidate: value === "" || undefined }, text)))));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
  });
}

export function confirm(title, text, button) {
  return ask(title, h("p", null, text), [["Cancel", ""], [button, "yes", "danger"]]).then((value) => value === "yes");
}

// A short message, announced to screen readers, with an optional button.
export function toast(text, button, run) {
  const element = h("div.toast", null, h("span", null, text));
  const remove = () => element.remove();
  if (button) element.append(h("button", { type: "button", onclick: () => { remove(); run(); } }, button));
  element.append(h("button.quiet", { type: "button", "aria-label": "Dismiss", onclick: remove }, "×"));
  byId("toasts").append(element);
  setTimeout(remove, button ? 20000 : 8000);
}
