// Draw every chart into the figure that names it.
const charts = new Map();

async function draw(figure, spec) {
  charts.get(figure.dataset.chart)?.finalize();
  const options = { actions: false, renderer: "svg", tooltip: { theme: "custom" } };
  const { view } = await vegaEmbed(figure, spec, options);
  charts.set(figure.dataset.chart, view);
  figure.dataset.drawn = "yes";
  return view;
}

const drawn = page.then(({ charts: specs }) =>
  Promise.all(
    [...document.querySelectorAll("[data-chart]")].map((figure) => draw(figure, specs[figure.dataset.chart])),
  ),
);
