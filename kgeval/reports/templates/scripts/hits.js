// Read Hits@k of every model off at any k, without a mouse.
page.then(({ hits }) => {
  const input = document.getElementById("hits-k");
  const output = document.getElementById("hits-at");
  function show() {
    const wanted = Number(input.value) || 1;
    const place = Math.max(hits.k.findLastIndex((k) => k <= wanted), 0);
    output.replaceChildren(
      ...Object.entries(hits.shares).map(([model, shares]) =>
        element("span", {}, label(model), " ", element("b", { textContent: shares[place].toFixed(4) })),
      ),
      ...(hits.k[place] === wanted ? [] : [element("small", { textContent: `at k = ${hits.k[place]}` })]),
    );
  }
  input.addEventListener("input", show);
  show();
});
