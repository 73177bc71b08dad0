// The table of triples: search, filter, sort and leaf through rows that are stored column by column.
const triples = page.then(({ triples: data }) => {
  const PAGE = 25;
  const SIDES = ["head", "tail", "relation"];
  const field = (name) => document.getElementById(`triple-${name}`);
  const [search, order, relation, side] = ["search", "order", "relation", "side"].map(field);
  const table = field("table");
  const count = data.head.length;
  const ratio = (a, b) => (row) => Math.abs(Math.log(data.ranks[a][row] / data.ranks[b][row]));
  const text = { head: data.entities, relation: data.relations, tail: data.entities };
  let sorting, start, rows;

  // The orders that the list offers: of each model the worst and the best, of each two the most different.
  const orders = [];
  data.models.forEach((model, index) => {
    orders.push({ name: `worst ranks of ${isolated(model)}`, column: `m${index}`, sign: -1, key: (row) => data.ranks[index][row] });
    orders.push({ name: `best ranks of ${isolated(model)}`, column: `m${index}`, sign: 1, key: (row) => data.ranks[index][row] });
  });
  data.models.forEach((model, one) => {
    for (let other = one + 1; other < data.models.length; other++)
      orders.push({ name: `largest difference: ${isolated(model)} and ${isolated(data.models[other])}`, sign: -1, key: ratio(one, other) });
  });
  orders.forEach(({ name }, index) => order.append(element("option", { value: index, textContent: name })));
  data.relations.forEach((name, index) => relation.append(element("option", { value: index, textContent: name })));

  const columns = [
    ...["head", "relation", "tail"].map((name) => ({
      name,
      key: (row) => text[name][data[name][row]],
      cell(row) {
        const answer = name === SIDES[data.side[row]];
        const opener = name === "head" && lists(row).length ? [opens(row), " "] : [];
        const className = [answer ? "answer" : "", opener.length ? "with-opener" : ""].join(" ").trim();
        return element("td", { className }, ...opener, label(text[name][data[name][row]]));
      },
    })),
    { name: "side", key: (row) => data.side[row], cell: (row) => element("td", {}, SIDES[data.side[row]]) },
    ...(data.time ? [{ name: "time", key: (row) => data.time[row], cell: (row) => element("td", {}, data.time[row]) }] : []),
    ...data.models.map((name, index) => ({
      name: data.models.length > 1 ? name : "rank",
      column: `m${index}`,
      number: true,
      key: (row) => data.ranks[index][row],
      cell: (row) => element("td", { className: "number" }, rank(data.ranks[index][row], data.ties[index][row])),
    })),
  ];

  // What the models predicted above the answer of a row, where their runs kept it.
  function lists(row) {
    const of = (kept, index) => ({ model: data.models[index], kept, query: kept ? kept.row[row] : -1 });
    return data.predictions.map(of).filter(({ query }) => query >= 0);
  }

  function opens(row) {
    const button = element("button", { type: "button", className: "opens", textContent: "▸" });
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", "Show the predictions");
    button.addEventListener("click", () => {
      const line = button.closest("tr");
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!open));
      button.textContent = open ? "▸" : "▾";
      if (open) line.nextSibling.remove();
      else line.after(element("tr", { className: "predicted" }, element("td", { colSpan: columns.length }, ...lists(row).map((one) => predicted(one, row)))));
    });
    return button;
  }

  function predicted({ model, kept, query }, row) {
    const answer = data[SIDES[data.side[row]]][row];
    const list = element("ol");
    let met = false;
    for (let at = kept.offset[query]; at < kept.offset[query + 1] && !met; at++) {
      met = kept.entity[at] === answer;
      const known = ["new", "in train", "in valid", "in test"][kept.known[at]];
      const facts = met ? "the answer" : kept.typed[at] ? known : `${known}, never on this side of the relation in train`;
      list.append(element("li", { className: met ? "answer" : "" }, label(data.entities[kept.entity[at]]), " ", element("small", { textContent: facts })));
    }
    if (!met) list.append(element("li", { className: "more" }, element("small", { textContent: "… the answer is further down" })));
    return element("div", {}, element("h4", {}, label(model)), list);
  }

  function rank(middle, ties) {
    if (!ties) return middle.toLocaleString("en");
    const first = Number.isInteger(middle - ties / 2) ? middle - ties / 2 : middle;
    return `${first.toLocaleString("en")} – ${(first + ties).toLocaleString("en")}`;
  }

  const heads = columns.map((column) => {
    const button = element("button", { type: "button" }, element("bdi", { textContent: column.name }));
    const head = element("th", { scope: "col", className: column.number ? "number" : "" }, button);
    button.addEventListener("click", () => {
      const same = sorting.head === head;
      const sign = same ? -sorting.sign : column.number ? -1 : 1;
      sorting = { key: column.key, sign, head };
      show();
    });
    return head;
  });
  table.tHead.append(element("tr", {}, ...heads));

  // Which rows have all words of the search in their labels, and the chosen relation and side.
  function matches() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const holds = (labels) => words.map((word) => labels.map((one) => one.toLowerCase().includes(word)));
    const [entities, relations] = [holds(data.entities), holds(data.relations)];
    const found = [];
    for (let row = 0; row < count; row++) {
      if (relation.value !== "" && data.relation[row] !== Number(relation.value)) continue;
      if (side.value !== "" && data.side[row] !== Number(side.value)) continue;
      const has = (_, word) =>
        entities[word][data.head[row]] || entities[word][data.tail[row]] || relations[word][data.relation[row]];
      if (words.every(has)) found.push(row);
    }
    return found;
  }

  function compare(one, other) {
    const [a, b] = [sorting.key(one), sorting.key(other)];
    const difference = typeof a === "string" ? a.localeCompare(b) : a - b;
    return sorting.sign * difference || one - other;
  }

  function show() {
    rows = matches().sort(compare);
    for (const head of heads) head.removeAttribute("aria-sort");
    sorting.head?.setAttribute("aria-sort", sorting.sign > 0 ? "ascending" : "descending");
    leaf(0);
  }

  function leaf(from) {
    start = from;
    const shown = rows.slice(start, start + PAGE);
    table.tBodies[0].replaceChildren(
      ...shown.map((row) => element("tr", {}, ...columns.map((column) => column.cell(row)))),
    );
    const numbers = [start + 1, start + shown.length, rows.length].map((one) => one.toLocaleString("en"));
    field("count").textContent = rows.length ? `${numbers[0]}–${numbers[1]} of ${numbers[2]}` : "No triple matches.";
    field("previous").disabled = start === 0;
    field("next").disabled = start + PAGE >= rows.length;
  }

  function choose() {
    const chosen = orders[Number(order.value)];
    const index = columns.findIndex(({ column }) => column && column === chosen.column);
    sorting = { key: chosen.key, sign: chosen.sign, head: heads[index] };
    show();
  }

  order.addEventListener("change", choose);
  for (const control of [search, relation, side]) control.addEventListener("input", show);
  field("controls").addEventListener("submit", (event) => event.preventDefault());
  field("controls").addEventListener("reset", () => setTimeout(choose));
  field("previous").addEventListener("click", () => leaf(start - PAGE));
  field("next").addEventListener("click", () => leaf(start + PAGE));
  choose();

  return {
    // Show the triples of one relation, or of all.
    filter(name) {
      relation.value = name === undefined ? "" : String(data.relations.indexOf(name));
      show();
    },
  };
});
