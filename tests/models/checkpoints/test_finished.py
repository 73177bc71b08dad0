"""What a model left behind: folders of vectors and of scores, lists of predictions as JSON lines."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from kgeval import Dataset, evaluate, load_checkpoint, predict, summarize
from kgeval.base.errors import CheckpointError, InputError
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.ranking.corruption import EntityList
from tests.brute_force import COUNTS, as_counts, brute_force
from tests.conftest import random_dataset
from tests.models.checkpoints.conftest import write_arrays
from tests.models.checkpoints.frameworks import ENCODED, expected_ranks

DATA = random_dataset(9)
SCORES = np.random.default_rng(1).integers(0, 9, (30, 4, 30)).astype(np.float32)
"""of each head, relation and tail"""


@pytest.mark.parametrize(("framework", "variant"), ENCODED)
def test_every_rank_of_an_encoder_is_reproduced(shared, umls, framework, variant):
    folder = shared / "checkpoints" / framework / variant
    table = evaluate(load_checkpoint(folder, dataset=umls, similarity="cosine"), umls).to_pandas()
    found = {
        (row.head_label, row.relation_label, row.tail_label, row.side): (1 + row.raw_greater, 1 + row.greater)
        for row in table.itertuples()
    }
    assert found == expected_ranks(folder)
    assert not table.tied.any()


@pytest.fixture
def folder(tmp_path):
    """Vectors whose dot products are the scores: the entities are axes."""
    folder = tmp_path / "encoder"
    folder.mkdir()
    np.save(folder / "entity.npy", np.eye(30, dtype=np.float32))
    np.save(folder / "query.npy", SCORES[DATA.test.heads, DATA.test.relations])
    return folder


EXPECTED = brute_force(lambda h, r, t: SCORES[h, r, t], DATA, sides=("tail",))


def test_without_labels_the_rows_are_those_of_the_dataset(folder):
    model = load_checkpoint(folder, dataset=DATA, similarity="dot")
    table = evaluate(model, DATA)
    assert as_counts(table) == EXPECTED
    assert "the model has no entity labels; its entity ids were taken as those of dataset random." in table.notes
    assert model.describe()["rows"] == {"tail": [len(DATA.test), 30]}


@pytest.mark.parametrize("place", ["encoder", "another folder"])
def test_labels_and_queries_may_be_in_any_order(folder, place):
    rng = np.random.default_rng(2)
    entities, queries = rng.permutation(30), rng.permutation(len(DATA.test))
    np.save(folder / "entity.npy", np.eye(30)[entities])
    np.save(folder / "query.npy", np.load(folder / "query.npy")[queries])
    labels = folder if place == "encoder" else folder.parent
    (labels / "entities.txt").write_text("".join(f"{DATA.entities[int(index)]}\n" for index in entities))
    cells = [(DATA.entities[h], DATA.relations[r], DATA.entities[t]) for h, r, t in DATA.test.ids[queries].tolist()]
    (folder / "queries.tsv").write_text("".join("\t".join(row) + "\n" for row in cells))
    said = {"similarity": "dot"} | ({} if labels == folder else {"labels": str(labels)})
    assert as_counts(evaluate(load_checkpoint(folder, dataset=DATA, **said), DATA)) == EXPECTED


def test_heads_have_a_file_of_their_own(folder):
    np.save(folder / "head_query.npy", SCORES[:, DATA.test.relations, DATA.test.tails].T)
    table = evaluate(load_checkpoint(folder, dataset=DATA, similarity="dot"), DATA)
    assert as_counts(table) == brute_force(lambda h, r, t: SCORES[h, r, t], DATA)


def test_another_split_is_named(folder):
    np.save(folder / "query.npy", SCORES[DATA.valid.heads, DATA.valid.relations])
    model = load_checkpoint(folder, dataset=DATA, similarity="dot", split="valid")
    expected = brute_force(lambda h, r, t: SCORES[h, r, t], DATA, split="valid", sides=("tail",))
    assert as_counts(evaluate(model, DATA, split="valid")) == expected


@pytest.mark.parametrize(("side", "array"), [("tail", SCORES), ("head", SCORES.transpose(2, 1, 0))])
def test_finished_scores_are_ranked_from_disk(tmp_path, side, array):
    anchors, relations, _ = DATA.test.queries_of_side(side)
    np.save(tmp_path / f"{side}_scores.npy", array[anchors, relations])
    table = evaluate(load_checkpoint(tmp_path, dataset=DATA), DATA)
    assert as_counts(table) == brute_force(lambda h, r, t: SCORES[h, r, t], DATA, sides=(side,))


def test_tables_may_be_safetensors(tmp_path, folder):
    for name in ("entity", "query"):
        write_arrays(folder / f"{name}.safetensors", {"vectors": np.load(folder / f"{name}.npy")})
        with pytest.raises(CheckpointError, match=rf"found both {name}.npy and {name}.safetensors. Keep one of them"):
            load_checkpoint(folder, dataset=DATA, similarity="dot")
        (folder / f"{name}.npy").unlink()
    assert as_counts(evaluate(load_checkpoint(folder, dataset=DATA, similarity="dot"), DATA)) == EXPECTED
    anchors, relations, _ = DATA.test.queries_of_side("tail")
    write_arrays(tmp_path / "tail_scores.safetensors", {"scores": SCORES[anchors, relations]})
    assert as_counts(evaluate(load_checkpoint(tmp_path, dataset=DATA), DATA)) == EXPECTED
    write_arrays(folder / "query.safetensors", {name: np.ones((3, 4)) for name in "ab"})
    with pytest.raises(CheckpointError, match=r"query.safetensors: expected one tensor, found a, b\."):
        load_checkpoint(folder, dataset=DATA, similarity="dot")
    (folder / "entity.safetensors").write_bytes(b"\x80\x02cos\nsystem\n")
    with pytest.raises(CheckpointError, match=r"entity.safetensors: not a readable .safetensors file"):
        load_checkpoint(folder, dataset=DATA, similarity="dot")


def test_relations_that_the_split_lacks_are_no_matter(tmp_path):
    data = Dataset.from_labels(train=[("a", "r", "b"), ("a", "s", "b")], test=[("a", "r", "a")])
    np.save(tmp_path / "tail_scores.npy", [[0.5, 0.7]])
    assert evaluate(load_checkpoint(tmp_path, dataset=data, ids="dataset"), data).column("greater").tolist() == [
        0
    ]  # b is known
    np.save(tmp_path / "entity.npy", np.eye(2))
    np.save(tmp_path / "query.npy", [[0.5, 0.7]])
    model = load_checkpoint(tmp_path, dataset=data, format="dual-encoder", similarity="dot", ids="dataset")
    assert evaluate(model, data).column("raw_greater").tolist() == [1]


def test_a_table_alone_is_read_with_its_folder(tmp_path, folder):
    anchors, relations, _ = DATA.test.queries_of_side("tail")
    for name in ("tail_scores", "mine"):
        np.save(tmp_path / f"{name}.npy", SCORES[anchors, relations])
    assert as_counts(evaluate(load_checkpoint(tmp_path / "tail_scores.npy", dataset=DATA), DATA)) == EXPECTED
    for reader, name in (("scores", "tail_scores"), ("dual-encoder", "query")):
        with pytest.raises(CheckpointError, match=rf"mine.npy: its name does not say .*{name}.npy.* give the folder"):
            load_checkpoint(tmp_path / "mine.npy", dataset=DATA, format=reader)


def with_nan(folder):
    vectors = np.eye(30)
    vectors[3, 4] = np.nan
    np.save(folder / "entity.npy", vectors)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (None, {}, r"does not contain similarity.*similarity=dot or similarity=cosine"),
        (None, {"similarity": "dot", "dataset": None}, r"arrays do not name the queries. Give the dataset"),
        (
            lambda folder: np.save(folder / "query.npy", np.ones((7, 30))),
            {"similarity": "dot", "split": "valid"},
            rf"query.npy: 7 rows, but split valid of random has {len(DATA.valid)} triples",
        ),
        (
            lambda folder: (folder / "queries.tsv").write_text("atlantis\tr00\te0001\n"),
            {"similarity": "dot"},
            "queries.tsv, line 1: the head 'atlantis' is no entity of the dataset",
        ),
        (
            lambda folder: (folder / "queries.tsv").write_text("atlantis\tr00\te0001\n"),
            {"similarity": "dot", "split": "test"},
            "queries.tsv already names the triples of the rows",
        ),
        (with_nan, {"similarity": "dot"}, "the array 'entity' holds nan at row 3, column 4"),
        (
            lambda folder: (folder / "entity.npy").write_bytes(b"no array"),
            {"similarity": "dot"},
            "entity.npy: not a readable array",
        ),
    ],
)
def test_an_encoder_that_cannot_be_used_is_refused(folder, change, options, message):
    if change:
        change(folder)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(folder, **{"dataset": DATA, **options})


def lists(kind, size=6):
    """The best few of each query, with labels, pairs or an object of scores."""
    lines, scores = {}, {}
    for h, r, _ in DATA.test.ids.tolist():
        best = np.argsort(-SCORES[h, r], kind="stable")[:size]
        pairs = [(DATA.entities[int(e)], float(SCORES[h, r, e])) for e in best]
        predictions = {"labels": [label for label, _ in pairs], "pairs": pairs, "object": dict(pairs)}[kind]
        line = {"head": DATA.entities[h], "relation": DATA.relations[r], "predictions": predictions}
        lines[h, r] = json.dumps(line)
        order = range(-1, -1 - size, -1) if kind == "labels" else SCORES[h, r, best]
        scores |= {(h, r, int(e)): float(score) for e, score in zip(best, order, strict=True)}
    return "\n".join(lines.values()), scores


@pytest.mark.parametrize("kind", ["labels", "pairs", "object"])
def test_what_a_list_omits_ties_at_its_end(tmp_path, kind):
    path = tmp_path / "lists.jsonl"
    text, scores = lists(kind)
    path.write_text(text)
    table = evaluate(load_checkpoint(path, dataset=DATA), DATA)
    expected = brute_force(lambda h, r, t: scores.get((h, r, t), -np.inf), DATA, sides=("tail",))
    assert as_counts(table) == expected
    missing = sum((h, r, t) not in scores for h, r, t in DATA.test.ids.tolist())
    assert 0 < missing < len(DATA.test)
    assert any(
        note.startswith(f"{missing} of {len(DATA.test)} answers are not in the list of predictions: they tie with all")
        for note in table.notes
    )


def test_a_list_of_heads_and_one_of_a_single_triple(tmp_path):
    path = tmp_path / "lists.jsonl"
    h, r, t = (labels[i] for labels, i in zip((DATA.entities, DATA.relations, DATA.entities), (3, 1, 7), strict=True))
    line = {"tail": t, "relation": r, "predictions": ["e0000", h]}
    own = {"head": h, "relation": r, "tail": t, "side": "head", "predictions": [h]}
    for content, best in ((line, 0), (own, 3)):
        path.write_text(json.dumps(content))
        model = load_checkpoint(path, dataset=DATA)
        scores = model.scores(Queries.of(Triples.of([(3, 1, 7)]), "head"), np.arange(30))
        assert np.argmax(scores) == best


def test_text_that_is_no_entity_is_refused_unless_it_is_said_what_it_is(tmp_path):
    path = tmp_path / "lists.jsonl"
    path.write_text('{"head": "e0000", "relation": "r00", "predictions": ["no such thing", "e0004", "e0004"]}')
    with pytest.raises(
        CheckpointError, match=r"line 1: unknown entity 'no such thing'.*unmatched=keep.*unmatched=drop"
    ):
        load_checkpoint(path, dataset=DATA)
    with pytest.raises(CheckpointError, match="unmatched='no': expected unmatched=error or unmatched=keep or unmatch"):
        load_checkpoint(path, dataset=DATA, unmatched="no")
    for unknown in ("drop", "keep"):
        model = load_checkpoint(path, dataset=DATA, unmatched=unknown)
        assert model.describe()["listed"] == {"tail": 1}


def with_invented(scored):
    """A list of each query with texts that name no entity at its start and in it, and one of its entities again."""
    lines, lists = [], {}
    for h, r in sorted({(h, r) for h, r, _ in DATA.test.ids.tolist()}):
        best = [DATA.entities[int(e)] for e in np.argsort(-SCORES[h, r], kind="stable")[:12]]
        listed = ["nobody", "nothing", *best[:3], "none", *best[3:], best[0]]
        lists[h, r] = list(dict.fromkeys(listed))
        # With scores, the text and the entity after it tie.
        values = [-place // 2 for place in range(len(listed) - 1)]
        pairs = list(zip(listed, [*values, values[2]], strict=True))
        lines.append(
            {"head": DATA.entities[h], "relation": DATA.relations[r], "predictions": pairs if scored else listed}
        )
    return "\n".join(map(json.dumps, lines)), lists


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("unknown", ["keep", "drop"])
def test_answers_that_name_no_entity_keep_their_places_or_their_number_is_said(tmp_path, unknown, scored):
    """Counted by hand, down the list: known answers of the query are passed over, invented ones are not."""
    path = tmp_path / "lists.jsonl"
    text, lists = with_invented(scored)
    path.write_text(text)
    table = evaluate(load_checkpoint(path, dataset=DATA, unmatched=unknown), DATA)
    facts = {tuple(row) for split in DATA.splits.values() for row in split.ids.tolist()}
    for row in table.to_pandas().itertuples():
        listed, answer = lists[row.head, row.relation], DATA.entities[row.tail]
        scores = {label: -place // 2 if scored else -place for place, label in enumerate(listed)}
        own = scores.get(answer, -np.inf)
        rivals = [DATA.entities[e] for e in range(30) if (row.head, row.relation, e) not in facts]
        rivals += [label for label in listed if label not in DATA.entities] if unknown == "keep" else []
        found = [scores.get(label, -np.inf) for label in rivals]
        assert (row.greater, row.tied) == (sum(s > own for s in found), sum(s == own for s in found))
        assert row.candidates == len(rivals) + 1
    best = predict(load_checkpoint(path, dataset=DATA, unmatched=unknown), DATA, k=20).to_pandas()
    keys = ["anchor", "relation", "entity"]
    both = best.merge(table.to_pandas(), left_on=keys, right_on=["head", "relation", "tail"], suffixes=("", "_ranked"))
    assert len(both) == (table.column("score") > -np.inf).sum() >= 10
    assert all((both[name] == both[f"{name}_ranked"]).all() for name in COUNTS)
    # Of the other queries nothing changes where one has no list.
    path.write_text(text.partition("\n")[2])
    fewer = evaluate(load_checkpoint(path, dataset=DATA, unmatched=unknown, missing="unanswered"), DATA).to_pandas()
    head, relation = min(lists)
    others = (fewer["head"] != head) | (fewer["relation"] != relation)
    assert fewer[others][COUNTS].equals(table.to_pandas()[others][COUNTS])
    invented = "kept its place as a wrong answer" if unknown == "keep" else "was left out, and later ones moved up"
    assert (
        f"{3 * len(lists)} predictions named no entity; each {invented} (unmatched={unknown}, names=labels)."
        in table.notes
    )
    again = (
        f"{len(lists)} predictions repeated an earlier one of the same list: the first counts, and later ones move up."
    )
    assert again in table.notes


@pytest.mark.parametrize(("unmatched", "side"), [("keep", "tail"), ("drop", "tail"), ("keep", "head")])
def test_a_listed_answer_that_is_no_candidate_keeps_its_place_unless_it_is_known(tmp_path, unmatched, side):
    """Counted by hand: it is a rival as a candidate is, whether text or an entity that does not compete."""
    path, competing, rng = tmp_path / "lists.jsonl", set(range(0, 30, 3)), np.random.default_rng(7)
    given, asked = ("head", "tail") if side == "tail" else ("tail", "head")
    rows = [dict(zip(("head", "relation", "tail"), row, strict=True)) for row in DATA.test.ids.tolist()]
    lists, lines = {}, []
    for row in rows:
        listed = [*rng.permutation(30)[:9].tolist(), *([row[asked]] if rng.random() < 0.8 else []), "nobody"]
        lists.setdefault(
            (row[given], row["relation"]), list(dict.fromkeys(map(listed.__getitem__, rng.permutation(len(listed)))))
        )
    for (anchor, relation), listed in lists.items():
        labels = [label if isinstance(label, str) else DATA.entities[label] for label in listed]
        lines.append({given: DATA.entities[anchor], "relation": DATA.relations[relation], "predictions": labels})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "competing.txt").write_text("".join(f"{DATA.entities[entity]}\n" for entity in competing))
    among = EntityList(path=str(tmp_path / "competing.txt"))
    table = evaluate(load_checkpoint(path, dataset=DATA, unmatched=unmatched), DATA, sides=side, corruption=among)
    facts, outsiders = {tuple(row) for split in DATA.splits.values() for row in split.ids.tolist()}, 0
    for row in table.to_pandas().itertuples():
        anchor, answer = getattr(row, given), getattr(row, asked)
        listed = lists[anchor, row.relation]
        outside = [e for e in listed if e not in competing and e != answer] if unmatched == "keep" else []
        triple = {given: anchor, "relation": row.relation}
        known = {e for e in range(30) if tuple({**triple, asked: e}[k] for k in ("head", "relation", "tail")) in facts}
        scores = {entity: -place for place, entity in enumerate(listed)}
        own = scores.get(answer, -np.inf)
        expected = []
        for left_out in (known, {answer}):
            found = [scores.get(e, -np.inf) for e in [*competing, *outside] if e not in left_out]
            expected += [sum(s > own for s in found), sum(s == own for s in found), len(found) + 1]
        assert [getattr(row, name) for name in COUNTS] == expected
        outsiders += sum(e != "nobody" and e not in known for e in outside)
    notes = [note for note in table.notes if "no candidates of the query keep their places as wrong answers" in note]
    assert [note.split()[0] for note in notes] == ([str(outsiders)] if unmatched == "keep" else [])


@pytest.mark.parametrize("first", ["e0001", "garbage"])
def test_a_first_answer_that_is_none_makes_the_second_one_second(tmp_path, first):
    path, data = tmp_path / "lists.jsonl", Dataset.from_labels(train=[("e0001", "r", "b")], test=[("a", "r", "b")])
    path.write_text(json.dumps({"head": "a", "relation": "r", "predictions": [first, "b"]}))
    (tmp_path / "competing.txt").write_text("a\nb\n")
    among = EntityList(path=str(tmp_path / "competing.txt"))
    for unmatched, rank in (("keep", 2), ("drop", 1)):
        table = evaluate(load_checkpoint(path, dataset=data, unmatched=unmatched), data, sides="tail", corruption=among)
        assert table.ranks.tolist() == [rank]


def test_an_array_of_json_and_simkgc_files_are_read(tmp_path):
    """SimKGC: lists of one triple each, best first with rounded scores; those of heads ask from the tail."""
    data = Dataset.from_labels(train=[("c", "r", "d")], test=[("a", "r", "c"), ("b", "r", "d")])
    lists = [["c", "d"], ["a", "d"]]
    common = [{"head": "a", "relation": "r", "tail": "c"}, {"head": "b", "relation": "r", "tail": "d"}]
    as_lines = [row | {"predictions": best} for row, best in zip(common, lists, strict=True)]
    tied = [json.dumps(dict.fromkeys(best, 0.5)) for best in lists]
    simkgc = [row | {"pred_tail": "x", "topk_score_info": text} for row, text in zip(common, tied, strict=True)]
    backward = [
        {"head": row["tail"], "relation": "inverse r", "tail": row["head"], "topk_score_info": text}
        for row, text in zip(common, tied, strict=True)
    ]
    texts = {
        "lines.jsonl": "\n".join(map(json.dumps, as_lines)),
        "array.json": json.dumps(as_lines, indent=4),
        "array.jsonl": "\n " + json.dumps(as_lines),
        "lines.json": "\n".join(map(json.dumps, as_lines)),
        "forward.json": json.dumps(simkgc, indent=4),
        "forward.jsonl": "\n".join(map(json.dumps, simkgc)),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert evaluate(load_checkpoint(tmp_path / name, dataset=data), data, sides="tail").ranks.tolist() == [1, 2]
    (tmp_path / "backward.json").write_text(json.dumps(backward))
    heads = evaluate(load_checkpoint(tmp_path / "backward.json", dataset=data), data, sides="head")
    assert (heads.column("score") > -np.inf).tolist() == [False, False]
    assert [note.split()[0] for note in heads.notes if "not in the list" in note] == ["2"]
    for content, message in (([[1]], r"object 1: expected keys .* found \[1\]"), ("[{", r"line 1: not JSON")):
        (tmp_path / "bad.json").write_text(content if isinstance(content, str) else json.dumps(content))
        with pytest.raises(CheckpointError, match=message):
            load_checkpoint(tmp_path / "bad.json", dataset=data, format="predictions")


@pytest.mark.parametrize(("way", "hits"), [("forward", (0.6308, 0.7664)), ("backward", (0.5421, 0.6666))])
def test_simkgc_gets_its_published_hits(shared, way, hits):
    """Its graph is one of names, of which the lists have more than the test triples: these keep their places."""
    folder = shared / "lists/simkgc-wn18rr"
    rows = [
        (row["head"], row["relation"], row["tail"])
        for row in json.loads((folder / "forward_predictions.json").read_text())
    ]
    data = Dataset.from_labels(train=rows[:1], test=rows)
    model = load_checkpoint(folder / f"{way}_predictions.json", dataset=data, unmatched="keep")
    found = summarize(
        evaluate(model, data, sides="tail" if way == "forward" else "head", filter=["test"]), ["hits@1", "hits@3"]
    )
    assert [round(found[name], 4) for name in ("hits@1", "hits@3")] == [*hits]


def test_a_name_in_the_place_of_a_label_is_told_the_label(tmp_path):
    path = tmp_path / "lists.jsonl"
    path.write_text(json.dumps({"head": "Rome", "relation": "r", "predictions": []}))
    data = Dataset.from_labels(train=[("Q1", "r", "Q220")], test=[("Q220", "r", "Q1")])
    for names, told in (({}, "Lists need labels such as Q1"), ({"Q220": "Rome"}, "the name of Q220: .*names=exact")):
        with pytest.raises(CheckpointError, match=f"entity 'Rome'.*{told}"):
            load_checkpoint(path, dataset=replace(data, names=names))


LINE = '{"head": "e0000", "relation": "r00", "predictions": '


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (LINE + '[]}\n{"a":', "line 2: not JSON"),
        (LINE + "3}", "line 1: expected a list or an object"),
        (LINE + '[["e0001", "x"]]}', "line 1: expected labels, in quotes, or pairs"),
        (
            LINE + '[["e0001", 1' + "0" * 400 + "]]}",
            "line 1: expected labels,",
        ),
        (LINE + '[["e0001", NaN]]}', "line 1: expected labels, in quotes, or pairs"),
        (
            LINE + '[]}\n{"h": "e0000", "r": "r00", "answers": []}',
            r"expected keys head .or tail., relation.* found 'h', 'r', 'an",
        ),
        ('{"head": 3, "relation": "r00", "predictions": []}', "label of the query's entity in quotes, found 3"),
        ('{"head": "e0000", "relation": "r99", "predictions": []}', "unknown relation 'r99'"),
        ('{"head": "e0000", "side": "up", "relation": "r00", "predictions": []}', "side 'up'; expected head or tail"),
        ((LINE + "[]}\n") * 2, "line 2: a second list for the same query. Keep one, or give both head and tail"),
        (
            LINE + '[["e0001", 1], ["e0001", 2]]}',
            r"'e0001' is listed twice, with the scores 1.0, 2.0",
        ),
        (LINE + '["e0001"], "scores": [1, 2]}', "line 1: expected scores as a list, one for each label of predictions"),
        (LINE + '[["e0001", 1]], "scores": [1]}', "line 1: expected labels, in quotes, or pairs"),
        (
            LINE + "[1]}",
            r"line 1: expected labels, in quotes, .* found 1",
        ),
    ],
)
def test_a_malformed_line_is_named(tmp_path, line, message):
    path = tmp_path / "lists.jsonl"
    path.write_text(line)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(path, dataset=DATA)


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_scores_may_lie_beside_the_predictions_and_other_keys_are_named(tmp_path, ending):
    data = Dataset.from_labels(train=[("c", "r", "d")], test=[("a", "r", "c"), ("b", "r", "d")])
    rows = [
        {"head": "a", "relation": "r", "predictions": ["d", "c"], "scores": [0.1, 0.9], "prompt": "?"},
        {"head": "b", "relation": "r", "predictions": ["d"], "scores": [1], "answer": 1},
    ]
    path, text = tmp_path / f"lists.{ending}", "\n".join(map(json.dumps, rows)).encode()
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    table = evaluate(load_checkpoint(path, dataset=data), data, sides="tail")
    assert table.ranks.tolist() == [1, 1]
    assert "keys of the lists that kgeval does not read: answer, prompt." in table.notes


def test_a_query_without_a_list_is_refused_or_unanswered(tmp_path):
    """Unanswered is what an empty list is: the missing lines change no count."""
    path, full = tmp_path / "lists.jsonl", tmp_path / "full.jsonl"
    lines = lists("labels")[0].splitlines()
    path.write_text("\n".join(lines[3:]))
    full.write_text(
        "\n".join([*(json.dumps(json.loads(line) | {"predictions": []}) for line in lines[:3]), *lines[3:]])
    )
    left_out = {(line["head"], line["relation"]) for line in map(json.loads, lines[:3])}
    asked = {(DATA.entities[h], DATA.relations[r]) for h, r, _ in DATA.test.ids.tolist()}
    said = rf"{len(left_out & asked)} of {len(asked)} queries have no list of predictions, such as \(e\d+, r\d+, \?\)"
    for call in (evaluate, predict):
        with pytest.raises(InputError, match=r"no list.*this split\?.*--option missing=unanswered"):
            call(load_checkpoint(path, dataset=DATA), DATA)
        with pytest.raises(
            InputError, match=r"the lists are for tails only\. Use --sides tail \(in Python sides='tail'\)"
        ):
            call(load_checkpoint(full, dataset=DATA), DATA, sides="head")
    with pytest.raises(InputError, match=said):
        evaluate(load_checkpoint(path, dataset=DATA), DATA)
    table = evaluate(load_checkpoint(path, dataset=DATA, missing="unanswered"), DATA)
    assert as_counts(table) == as_counts(evaluate(load_checkpoint(full, dataset=DATA), DATA))
    assert any(re.fullmatch(rf"{said}: they count as unanswered\.", note) for note in table.notes)
    with pytest.raises(
        CheckpointError, match="missing='no': expected missing=error or missing=unanswered or missing=n"
    ):
        load_checkpoint(path, dataset=DATA, missing="no")


def test_a_line_may_be_the_list_of_one_time(tmp_path):
    path, days = tmp_path / "lists.jsonl", ["2014-01-01", "2014-01-02"]
    data = Dataset.from_labels(
        train=[(name, "r", name, days[0]) for name in "abc"], test=[("a", "r", "b", day) for day in days]
    )
    always = {"head": "a", "relation": "r", "predictions": ["a", "c"]}
    once = always | {"time": days[1], "predictions": ["b"]}
    path.write_text("".join(json.dumps(line) + "\n" for line in (always, once)))
    table = evaluate(load_checkpoint(path, dataset=data), data, filter=())
    assert dict(zip(table.column("time"), table.column("greater"), strict=True)) == {days[0]: 2, days[1]: 0}
    path.write_text(json.dumps(once | {"time": "1999"}))
    with pytest.raises(CheckpointError, match=r"line 1: unknown time '1999'.*labels such as 2014-01-01"):
        load_checkpoint(path, dataset=data)
    path.write_text(json.dumps(once | {"timestamp": days[0]}))
    with pytest.raises(CheckpointError, match="line 1: time and timestamp are different"):
        load_checkpoint(path, dataset=data)


@pytest.mark.parametrize(("key", "of"), [("time", int), ("timestamp", int), ("timestamp", str)])
def test_a_time_may_be_a_number_and_called_a_timestamp(tmp_path, key, of):
    path = tmp_path / "lists.jsonl"
    data = Dataset.from_labels(
        train=[("a", "r", "a", "8015")], test=[("a", "r", "b", time) for time in ("8015", "8016")]
    )
    lines = [{"head": "a", "relation": "r", key: of(8015 + late), "predictions": "ab"[late]} for late in (0, 1)]
    path.write_text("".join(json.dumps(line | {"predictions": [line["predictions"]]}) + "\n" for line in lines))
    assert evaluate(load_checkpoint(path, dataset=data), data, sides="tail", filter=()).ranks.tolist() == [2, 1]
