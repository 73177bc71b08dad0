"use strict";
// Light, dark, or as the system has it: the style sheet does the rest, since charts take their colours from it.
{
  const button = document.getElementById("theme");
  const words = { auto: ["◐ auto", "as the system"], light: ["☀ light", "light"], dark: ["☾ dark", "dark"] };
  let chosen = "auto";
  button.addEventListener("click", () => {
    chosen = { auto: "light", light: "dark", dark: "auto" }[chosen];
    if (chosen === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    button.textContent = words[chosen][0];
    button.setAttribute("aria-label", `Colours: ${words[chosen][1]}`);
  });
}

// In a frame of a notebook, a link to a section would load the notebook.
if (location.protocol === "about:")
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    document.getElementById(link.hash.slice(1)).scrollIntoView();
  });

// The data of the page, which everything below waits for.
const page = (async () => {
  const bytes = Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
})();

// Make an element; text is always text, whatever a label holds.
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// A label inside a sentence, which does not turn the words after it, as isolation.py has it.
const isolated = (text) =>
  /[\u0590-\u08ff\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff]/.test(text) ? `\u2068${text}\u2069` : text;

// A label, which keeps its own direction of writing, and breaks where a path or a name of several words may.
function label(text) {
  const parts = text.split(/(?<=[/_.])(?=[^/_.])/).flatMap((part, index) => (index ? [element("wbr"), part] : [part]));
  return element("bdi", { className: "label", title: text }, ...parts);
}
