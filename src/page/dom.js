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
