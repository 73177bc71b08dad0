// The scatter of relations: which two models it shows, and the click that filters the table of triples.
page.then(async ({ charts: specs, relations: data }) => {
  await drawn;
  const figure = document.querySelector('[data-chart="relations"]');
  const picked = document.getElementById("relations-picked");
  const [up, across] = ["up", "across"].map((name) => document.getElementById(`relations-${name}`));

  async function listen() {
    const table = await triples;
    charts.get("relations").addSignalListener("picked", (_, chosen) => {
      const name = chosen.relation?.[0];
      table.filter(name);
      const text = name === undefined ? [] : ["The table lists the triples of ", label(name), ". ",
        element("a", { href: "#triples", textContent: "Show the table" })];
      picked.replaceChildren(...text);
    });
  }

  async function choose() {
    const spec = structuredClone(specs.relations);
    const [one, other] = [Number(up.value), Number(across.value)];
    const values = data.relation.map((relation, index) => ({
      relation,
      triples: data.triples[index],
      cardinality: data.cardinality[index],
      x: data.values[other][index],
      x_low: data.low[other][index],
      x_high: data.high[other][index],
      y: data.values[one][index],
      y_low: data.low[one][index],
      y_high: data.high[one][index],
    })).filter(({ x, y }) => x !== null && y !== null);
    const whiskers = { x: values.some((row) => row.x_low !== null), y: values.some((row) => row.y_low !== null) };
    spec.layer = spec.layer.filter(({ encoding }) => (!encoding.x2 || whiskers.x) && (!encoding.y2 || whiskers.y));
    for (const layer of spec.layer.filter(({ encoding }) => encoding.size || encoding.x2 || encoding.y2)) {
      const { encoding } = layer;
      layer.data = { values };
      for (const [axis, index] of [["x", other], ["y", one]]) {
        const title = `MRR of ${isolated(data.models[index])} ↑${data.means[index]}`;
        encoding[axis].title = title;
        if (encoding.tooltip) encoding.tooltip.find(({ field }) => field === axis).title = title;
      }
    }
    const better = data.values[one].filter((value, index) => value > data.values[other][index]).length;
    document.getElementById("relations-title").textContent =
      `${isolated(data.models[one])} has a better ${data.means.some((mean) => mean) ? "mean " : ""}MRR than ${isolated(data.models[other])} on ${better} of ${data.relation.length} relations (not tested)`;
    await draw(figure, spec);
    listen();
  }

  if (up) {
    for (const list of [up, across])
      data.models.forEach((name, index) => list.append(element("option", { value: index, textContent: name })));
    across.value = "1";
    up.addEventListener("change", choose);
    across.addEventListener("change", choose);
  }
  listen();
});
