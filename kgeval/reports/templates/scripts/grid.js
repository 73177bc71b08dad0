// Show the columns, orders and charts of one dataset, of one metric, or of all.
{
  const [dataset, metric] = ["grid-dataset", "grid-metric"].map((id) => document.getElementById(id));
  const parts = document.querySelectorAll("#grid [data-dataset]");

  function show() {
    for (const part of parts) {
      const { dataset: ofDataset, metric: ofMetric } = part.dataset;
      part.hidden = (dataset.value && dataset.value !== ofDataset) || (metric.value && metric.value !== ofMetric);
    }
  }
  for (const select of [dataset, metric]) select.addEventListener("change", show);
  metric.selectedIndex = 1;
  show();
}
