"""Names in lists, and the files of SimKGC, KICGPT and DIFT, against plain Python and published numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgeval import Dataset, evaluate, load_checkpoint, load_ranks, summarize
from kgeval.base.errors import CheckpointError, TableError
from kgeval.data.human_names import with_names
from tests.cli.conftest import invoke

LABELS = [f"/m/{number}" for number in range(8)]
NAMES = {"/m/0": "Paris", "/m/1": "Paris", "/m/2": "paris", "/m/3": "The_World", "/m/4": "Rome", "/m/5": "/m/6"}
TRIPLES = [(LABELS[h], "_lies_in", LABELS[t]) for h, t in ((0, 1), (2, 3), (4, 5), (6, 7), (0, 3), (4, 7))]
PLAIN = Dataset.from_labels(train=TRIPLES, valid=TRIPLES[:1], test=[("/m/0", "_lies_in", "/m/4")])
DATA = with_names(PLAIN, NAMES)
TEXTS = [*LABELS, *NAMES.values(), "PARIS", "the world", "rome", "Nowhere", "_"]


def entities_of(text, names):
    """The labels that a text stands for: itself, or those of its name."""
    if text in LABELS:
        return [text]
    if names == "labels":
        return []
    spelled = {label: {label, NAMES.get(label, label)} for label in DATA.entities}
    if names == "exact":
        return [label for label, written in spelled.items() if text in written]
    folded = text.replace("_", " ").strip().casefold()
    return [
        label
        for label, all_of in spelled.items()
        if folded in {it.replace("_", " ").strip().casefold() for it in all_of}
    ]


@given(
    st.lists(st.sampled_from(TEXTS), max_size=9),
    st.sampled_from(["labels", "exact", "casefold"]),
    st.sampled_from(["first", "all"]),
    st.sampled_from(["keep", "drop"]),
)
def test_a_list_of_text_is_the_list_of_what_it_names(tmp_path_factory, texts, names, homonyms, unmatched):
    path = tmp_path_factory.mktemp("lists") / "lists.jsonl"
    path.write_text(json.dumps({"head": "/m/0", "relation": "_lies_in", "predictions": texts}))
    blocks, seen = [], set()
    for text in dict.fromkeys(texts):
        found = entities_of(text, names)[: 1 if homonyms == "first" else None]
        block = [label for label in found if label not in seen] if found else ["?"] * (unmatched == "keep")
        seen.update(found)
        blocks += [block] if block else []
    options = {"names": names, "homonyms": homonyms, "unmatched": unmatched}
    table = evaluate(load_checkpoint(path, dataset=DATA, **options), DATA, sides="tail", filter=["train"])
    known = {"/m/1", "/m/3"}
    blocks = [[label for label in block if label not in known] for block in blocks]
    place = next((number for number, block in enumerate(blocks) if "/m/4" in block), len(blocks))
    greater = sum(map(len, blocks[:place]))
    listed = place < len(blocks)
    tied = len(blocks[place]) - 1 if listed else 8 - 2 - 1 - len({label for block in blocks for label in block} - {"?"})
    assert (table.column("greater")[0], table.column("tied")[0], table.column("listed")[0]) == (greater, tied, listed)


def test_names_are_counted_and_homonyms_are_told(tmp_path):
    path = tmp_path / "lists.jsonl"
    path.write_text(json.dumps({"head": "/m/0", "relation": "lies in", "predictions": ["Rome", "Paris", "/m/1"]}))
    with pytest.raises(CheckpointError, match=r"'Paris' may be /m/0, /m/1\..*homonyms=first.*homonyms=all"):
        load_checkpoint(path, dataset=DATA, names="exact")
    notes = load_checkpoint(path, dataset=DATA, names="exact", homonyms="all").model.notes
    assert notes[0] == (
        "found by name (names=exact): 2 predictions, 1 by a name that several entities have (homonyms=all)."
    )
    with pytest.raises(CheckpointError, match=r"no names\. Give a file of them: --names FILE"):
        load_checkpoint(path, dataset=PLAIN, names="exact")


def test_a_query_by_names_is_that_of_its_triple(tmp_path):
    path = tmp_path / "lists.jsonl"
    asked = {"head": "Paris", "relation": "lies in", "tail": "Rome", "predictions": ["Rome"]}
    path.write_text(json.dumps(asked))
    model = load_checkpoint(path, dataset=DATA, names="exact")
    assert evaluate(model, DATA, sides="tail").column("greater")[0] == 0
    path.write_text(json.dumps({key: text for key, text in asked.items() if key != "tail"}))
    with pytest.raises(CheckpointError, match=r"'Paris' may be /m/0, /m/1\. Write the label"):
        load_checkpoint(path, dataset=DATA, names="exact")


@pytest.mark.parametrize("way", ["both", "head", "tail"])
def test_simkgc_published_these_numbers(shared, way):
    folder = shared / "lists" / "simkgc-wn18rr"
    options = ["--names", folder / "names.tsv", "--option", "names=exact", "--option", "unmatched=keep", "--json"]
    result = invoke("evaluate", folder, "--dataset", shared / "data" / "wn18rr", *options, "-m", "hits@1,hits@3")
    found = json.loads(result.stdout)["metrics"][way]
    published = json.loads((folder / "expected.json").read_text())["published"]
    published = published[{"both": "average", "head": "backward", "tail": "forward"}[way]]
    assert {name: found[f"hits@{name[-1]}"] for name in ("hit@1", "hit@3")} == pytest.approx(
        {name: published[name] for name in ("hit@1", "hit@3")}, abs=5.1e-5
    )


def test_labels_that_differ_in_case_are_homonyms(tmp_path):
    data = Dataset.from_labels(train=[("rome", "r", "x"), ("x", "r", "Rome")], test=[("x", "r", "rome")])
    path = tmp_path / "lists.jsonl"
    for text, told in (("ROME", r"'ROME' may be Rome, rome|'ROME' may be rome, Rome"), ("rome", "")):
        path.write_text(json.dumps({"head": "x", "relation": "r", "predictions": [text]}))
        if told:
            with pytest.raises(CheckpointError, match=told):
                load_checkpoint(path, dataset=data, names="casefold")
        else:
            model = load_checkpoint(path, dataset=data, names="casefold")
            assert evaluate(model, data, sides="tail").column("listed").all()


def test_a_folder_of_simkgc_is_stored_as_a_run(tmp_path):
    for name, (head, relation, tail) in {"forward": TRIPLES[0], "backward": TRIPLES[0][::-1]}.items():
        asked = relation if name == "forward" else f"inverse {relation}"
        record = {"head": head, "relation": asked, "tail": tail, "topk_score_info": "{}", "rank": 2}
        (tmp_path / f"{name}_predictions.json").write_text(json.dumps([record]))
    (tmp_path / "data").mkdir()
    for split in ("train", "valid", "test"):
        (tmp_path / "data" / f"{split}.txt").write_text("\t".join(TRIPLES[0]) + "\n")
    for source in (tmp_path, f"ranks:{tmp_path}"):
        out = tmp_path / ("ranks" if isinstance(source, str) else "lists")
        asked = ["evaluate", source, "--dataset", tmp_path / "data", "-m", "mrr", "--out", out]
        assert invoke(*asked).exit_code == 0
        named = json.loads((out / "manifest.json").read_text())["sha256"]
        assert sum(path.endswith("ward_predictions.json") for path in named) == 2


def test_ranks_in_records_of_simkgc(tmp_path):
    head, tail = "/m/0", "/m/4"
    forward = {"head": "Paris", "relation": "lies in", "tail": "Rome", "topk_score_info": "{}", "rank": 3}
    backward = {"head": "Rome", "relation": "inverse lies in", "tail": "Paris", "topk_score_info": "{}", "rank": 2}
    for name, record in (("forward", forward), ("backward", backward)):
        (tmp_path / f"{name}_predictions.json").write_text(json.dumps([record], indent=4))
    table = load_ranks(tmp_path, DATA)
    found = dict(zip(table.column("side").tolist(), table.ranks.tolist(), strict=True))
    assert found == {"tail": 3, "head": 2}
    assert {table.column("head_label")[0], table.column("tail_label")[0]} == {head, tail}
    assert summarize(table, "mrr")["mrr"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    alone = load_ranks(tmp_path / "forward_predictions.json", DATA)
    assert alone.column("side").tolist() == ["tail"]


@pytest.mark.parametrize("content", ["[1, 2]", '[{"head": "a"}, "b"]'])
def test_ranks_in_json_are_objects(tmp_path, content):
    (tmp_path / "ranks.json").write_text(content)
    with pytest.raises(CheckpointError, match="expected objects of head, relation, tail and ranks"):
        load_ranks(tmp_path / "ranks.json", DATA)


def test_lines_of_kicgpt(tmp_path):
    sample = {
        "ID": 0,
        "HeadEntity": "/m/0",
        "Question": "_lies_in",
        "Answer": "/m/4",
        "Prediction": "nowhere | rome | the world",
    }
    for name, side, options in (("output_tail.txt", "tail", {}), ("answers.txt", "head", {"side": "head"})):
        (tmp_path / name).write_text(json.dumps(sample) + "\n")
        model = load_checkpoint(tmp_path / name, dataset=DATA, names="casefold", unmatched="keep", **options)
        table = evaluate(model, DATA, sides=side)
        assert table.column("greater")[0] == {"tail": 1, "head": 3}[side]
    with pytest.raises(CheckpointError, match=r"does not contain side.*side=head or side=tail"):
        load_checkpoint(tmp_path / "answers.txt", dataset=DATA, names="casefold", unmatched="keep")
    (tmp_path / "head_tail.txt").write_text(json.dumps(sample, separators=(",", ":")) + "\n")
    with pytest.raises(CheckpointError, match="does not contain side"):  # of two sides in a name, none is taken
        load_checkpoint(tmp_path / "head_tail.txt", dataset=DATA, names="casefold", unmatched="keep")
    with pytest.raises(CheckpointError, match="unknown entity 'nowhere'"):
        load_checkpoint(tmp_path / "output_tail.txt", dataset=DATA)


def test_records_of_dift_give_its_own_ranks(tmp_path):
    rng = np.random.default_rng(0)
    labels, count = [f"e{number}" for number in range(30)], 40
    rows = [(labels[rng.integers(30)], "r", labels[rng.integers(30)]) for _ in range(2 * count)]
    rows = list(dict.fromkeys(rows))
    data = Dataset.from_labels(train=rows[count:], test=rows[:count])
    data = with_names(data, {label: f"name of {label}" for label in labels})
    scores = {side: rng.normal(size=(30, 30)) for side in ("head", "tail")}
    known = {(h, t) for h, _, t in rows}
    records = []
    for head, relation, tail in rows[:count]:
        for inverse, (anchor, answer) in ((False, (head, tail)), (True, (tail, head))):
            row = scores["head" if inverse else "tail"][labels.index(anchor)]
            rivals = [
                other
                for other in labels
                if other == answer or ((other, anchor) if inverse else (anchor, other)) not in known
            ]
            order = sorted(rivals, key=lambda other: -row[labels.index(other)])
            best = order[:8]
            picked = best[rng.integers(len(best))] if rng.random() < 0.9 else labels[rng.integers(30)]
            record = {"triplet": [anchor, relation, answer], "inverse": inverse, "rank": order.index(answer) + 1}
            record |= {"topk_ents": best, "topk_names": [f"name of {one}" for one in best], "pred": f"name of {picked}"}
            record["topk_scores"] = [float(row[labels.index(one)]) for one in best]
            names, rank = record["topk_names"], record["rank"]
            if picked == answer:
                rank = 1
            elif record["pred"] not in names or names.index(record["pred"]) >= rank:
                rank += 1
            records.append({**record, "pred_rank": rank})
    path = tmp_path / "prediction.json"
    path.write_text(json.dumps({"args": {}, "generation_config": {}, "prediction": records}))

    with pytest.raises(TableError, match=r"Say which: --columns rank=rank or --columns rank=pred_rank"):
        load_ranks(path, data)
    own = load_ranks(path, data, columns={"rank": "pred_rank"}).to_pandas()
    assert sorted(own["rank"]) == sorted(record["pred_rank"] for record in records)
    best = load_checkpoint(path, dataset=data, answers="base", missing="unanswered")
    assert evaluate(best, data).column("listed").mean() == np.mean([it["rank"] <= 8 for it in records])
    picks = load_checkpoint(path, dataset=data, names="exact")
    number = np.array([int(label[1:]) for label in data.entities])
    reranked = load_checkpoint(
        path, dataset=data, names="exact", base=lambda h, r, t: scores["tail"][number[h], number[t]]
    )
    rows = evaluate(reranked, data, sides="tail").to_pandas().to_dict("records")
    own = {(row["head_label"], "r", row["tail_label"]): row["rank"] for row in rows}
    # A pick outside of the candidates may be a known answer, which the filter leaves out and DIFT does not.
    of_tails = [it for it in records if not it["inverse"] and it["pred"] in it["topk_names"]]
    assert [own[tuple(it["triplet"])] for it in of_tails] == [it["pred_rank"] for it in of_tails]
    assert evaluate(picks, data).column("listed").tolist().count(True) == sum(
        it["pred"] == f"name of {it['triplet'][2]}" for it in records
    )
