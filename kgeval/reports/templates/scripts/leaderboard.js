// Sort the leaderboard by a click on a column; what is undefined stays last.
{
  const table = document.querySelector(".leaderboard");
  const body = table.tBodies[0];
  const headers = [...[...table.tHead.rows].at(-1).cells];
  const value = (row, column) => row.cells[column].dataset.sort;
  const number = (row, column) => (value(row, column) === "" ? NaN : Number(value(row, column)));

  function sort(column) {
    const descending = headers[column].getAttribute("aria-sort") !== "descending" && column > 0;
    const ascending = !descending;
    for (const header of headers) header.removeAttribute("aria-sort");
    headers[column].setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const compare = (one, other) => {
      if (column === 0) return value(one, 0).localeCompare(value(other, 0));
      const [a, b] = [number(one, column), number(other, column)];
      if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
      return ascending ? a - b : b - a;
    };
    body.append(...[...body.rows].sort(compare));
  }
  headers.forEach((header, column) => header.querySelector("button").addEventListener("click", () => sort(column)));
}
