"""What notebooks show: one line, tables, pictures and a frame, without a network."""

from __future__ import annotations

import base64
import pickle
import xml.etree.ElementTree as ET

import pytest

import kgeval
from kgeval import compare
from kgeval.analysis.audits.audit import audit
from kgeval.analysis.comparison.same_ranks import same_ranks
from tests.reports.conftest import family, predicting, ranks_of

pytest.importorskip("altair")


def results():
    """Every kind of result, by name."""
    data = family(labels=["<b>bold"])
    tables = {name: ranks_of(data, skill, model=name) for name, skill in (("<i>a", 0.3), ("b", 0.2))}
    table, names = tables["b"], {"entities": data.entities, "relations": data.relations}

    def score(h, r, t):
        return (h * 31 + t * 7) % 5

    return {
        "table": table,
        "summary": kgeval.summarize(table, ["mrr", "hits@10"]),
        "groups": kgeval.summarize(table, ["mrr"], by="side"),
        "comparison": kgeval.compare(tables, ["mrr"]),
        "grid": compare({"made up": {name: [one] for name, one in tables.items()}}, ["mrr"]),
        "same": same_ranks(tables),
        "audit": audit(data),
        "predictions": predicting(data, "c", 0).predictions,
        "numbers": kgeval.check_numbers(table, {"mrr": "0.5"}),
        "framework": kgeval.framework_metrics(table, protocol="libkge"),
        "labels": kgeval.classify(score, kgeval.load_dataset("nations")),
        "explanation": kgeval.explain(score, data, ["libkge", "openke"], **names),
        "report": kgeval.report(tables, dataset=data),
    }


@pytest.fixture(scope="module")
def shown():
    return results()


def test_repr_is_one_short_line(shown):
    lines = {name: repr(result) for name, result in shown.items()}
    assert not {name: line for name, line in lines.items() if "\n" in line or len(line) > 160}
    assert lines["table"] == "RankTable(600 ranks of b on made up, 300 test triples)"
    assert lines["summary"].startswith("RankSummary(b on made up: mrr 0.")
    assert lines["comparison"].startswith("Comparison(mrr on made up: <i>a 0.")
    assert lines["predictions"] == "PredictionTable(2,680 predictions of score on made up for 536 queries)"


def test_every_result_is_html_whose_labels_are_text(shown):
    for result in shown.values():
        html = result._repr_html_()
        assert "<b>bold" not in html
        assert "<i>a" not in html
        if not isinstance(result, type(shown["report"])):
            ET.fromstring(html)  # which refuses what is not well-formed


def test_a_rank_table_shows_labels_ranks_and_how_many_there_are(shown):
    html, text = shown["table"]._repr_html_(), str(shown["table"])
    rows = [[cell.text for cell in row] for row in ET.fromstring(html).iter("tr")]
    assert rows[0] == ["head", "relation", "tail", "side", "rank", "candidates"]
    assert len(rows) == 11
    assert "10 of 600 ranks shown; .to_pandas() returns all." in html
    assert all(cell in text for row in rows for cell in row)


def test_predictions_are_a_table_for_each_query(shown):
    page = ET.fromstring(shown["predictions"]._repr_html_())
    assert len(page.findall("table")) == 3
    assert all("?" in table.find("caption").text for table in page.findall("table"))
    assert "3 of 536 queries shown" in str(shown["predictions"])


def test_a_report_names_its_file_once_it_is_saved(shown, tmp_path):
    page = shown["report"]
    page.save(tmp_path / "page.html")
    assert f'href="{tmp_path / "page.html"}"' in page._repr_html_()
    assert "saved as" in repr(page)


def test_a_notebook_of_results_asks_nobody(shown, browser, tmp_path):
    chart = kgeval.plot_leaderboard({"a": shown["table"]})
    bundle = chart.properties(title="changed")._repr_mimebundle_()
    assert [*bundle] == ["image/svg+xml"]
    assert ">changed</text>" in bundle["image/svg+xml"]
    picture = base64.b64encode(bundle["image/svg+xml"].encode()).decode()
    parts = [f'<img src="data:image/svg+xml;base64,{picture}">', *(one._repr_html_() for one in shown.values())]
    (tmp_path / "notebook.html").write_text("<!doctype html><meta charset=utf-8>" + "".join(parts), "utf-8")
    page, requests, complaints = browser.new_page(), [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frames[-1]
    frame.evaluate("Promise.all([drawn, triples]).then(() => true)")
    assert frame.evaluate("document.querySelectorAll('.chart svg').length") > 5
    frame.locator("nav a").last.click()
    frame.wait_for_function("scrollY > 500")
    assert page.frames[-1].url == "about:srcdoc"  # and not the notebook, in itself
    assert not complaints
    assert [url for url in requests if not url.startswith("data:")] == [(tmp_path / "notebook.html").as_uri()]
    page.close()


def test_a_chart_can_be_pickled_and_still_needs_no_network():
    tables = {name: kgeval.evaluate(kgeval.Baseline(name), "nations") for name in ("popularity", "types")}
    chart = kgeval.plot_leaderboard(tables)
    again = pickle.loads(pickle.dumps(chart))
    assert again.to_dict() == chart.to_dict()
    assert [*again._repr_mimebundle_()] == ["image/svg+xml"]
