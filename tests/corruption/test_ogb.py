"""OGB's folders and fixed negatives: each triple meets its own list, as OGB's own evaluator ranks it."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from kgeval import CallableScorer, FromFile, OGBNegatives, evaluate, load_dataset, summarize
from kgeval.corruption.negatives import negatives, write_negatives
from kgeval.errors import DatasetError
from tests.graph import stored_layouts

torch = pytest.importorskip("torch")


def hashed(h, r, t):
    return (h * 7 + r * 3 + t * 5 + h * t) % 6


def wikikg(folder, *, seed=0, size=60, entities=40, relations=3, negatives=8):
    """A graph of random triples, many of which ask the same, with random negatives that are no known answers."""
    rng = np.random.default_rng(seed)
    rows = np.unique(rng.integers(0, [entities // 4, relations, entities], (4 * size, 3)), axis=0)
    rows[0] = (entities - 1, relations - 1, entities - 1)
    rows = rng.permutation(rows)
    known = {tuple(row) for row in rows.tolist()}
    parts = {"train": rows[size:], "test": rows[:size]}
    place = folder / "split/time"
    place.mkdir(parents=True)
    for split, part in parts.items():
        content = stored_layouts.ogb_columns(part.tolist())
        if split == "test":
            unknown = {
                "head": [[e for e in range(entities) if (e, r, t) not in known] for _, r, t in part.tolist()],
                "tail": [[e for e in range(entities) if (h, r, e) not in known] for h, r, _ in part.tolist()],
            }
            for side, lists in unknown.items():
                content[f"{side}_neg"] = np.array([rng.permutation(row)[:negatives] for row in lists])
        torch.save(content, place / f"{split}.pt")
    return {key: np.asarray(value) for key, value in content.items()}


@pytest.mark.parametrize("side", ["head", "tail"])
def test_ranks_are_those_of_the_formula_of_ogb(tmp_path, side):
    """1 + half of (strictly above + at least level), per triple, in numpy from the file alone."""
    stored = wikikg(tmp_path)
    data = load_dataset(tmp_path)
    scorer = CallableScorer(hashed, 40, 3)
    table = evaluate(scorer, data, corruption=OGBNegatives(path=str(tmp_path / "split/time/test.pt")), sides=(side,))
    h, r, t = (stored[key] for key in ("head", "relation", "tail"))
    other = stored[f"{side}_neg"]
    negative = hashed(other, r[:, None], t[:, None]) if side == "head" else hashed(h[:, None], r[:, None], other)
    positive = hashed(h, r, t)[:, None]
    ranks = 1 + 0.5 * ((negative > positive).sum(1) + (negative >= positive).sum(1))
    order = table.column("triple")
    assert (1 + table.column("greater") + table.column("tied") / 2).tolist() == ranks[order].tolist()
    assert (table.column("candidates") == 9).all()
    assert summarize(table, ["mrr"])["mrr"] == pytest.approx((1 / ranks).mean(), abs=1e-12)


def test_triples_that_ask_the_same_meet_negatives_of_their_own(tmp_path):
    stored = wikikg(tmp_path)
    path = tmp_path / "split/time/test.pt"
    data = load_dataset(tmp_path)
    generator = OGBNegatives(path=str(path))
    questions = {tuple(row) for row in data.test.ids[:, :2].tolist()}
    assert len(questions) < len(data.test)
    queries = generator.queries(data.test, "tail")
    rows = generator.candidates(queries, None, data).rows
    expected = np.sort(stored["tail_neg"], axis=1)[queries.triples]
    assert [rows.row(query).tolist() for query in range(60)] == expected.tolist()


def test_the_negatives_can_be_written_down(tmp_path):
    wikikg(tmp_path)
    data = load_dataset(tmp_path)
    tables = negatives(data, OGBNegatives(path=str(tmp_path / "split/time/test.pt")))
    assert write_negatives(tmp_path / "n.tsv", tables) == 2 * 60 * 8
    assert len(evaluate(CallableScorer(hashed, 40, 3), data, corruption=FromFile(path=str(tmp_path / "n.tsv")))) == 120


def test_negatives_that_are_said_twice_count_once(tmp_path):
    stored_layouts.ogb(tmp_path)
    data = load_dataset(tmp_path)
    table = evaluate(
        CallableScorer(hashed, 5, 2), data, corruption=OGBNegatives(path=str(tmp_path / "split/time/test.pt"))
    )
    assert any("1 tail negatives" in note and "said twice" in note for note in table.notes)
    assert table.where(table.column("side") == "tail").column("raw_candidates").tolist() == [3, 2]


def biokg(folder, *, counts=True):
    place = folder / "split/random"
    place.mkdir(parents=True)
    rows = {
        "train": [("drug", 2, 0, "protein", 1), ("disease", 0, 1, "drug", 0)],
        "test": [("drug", 1, 0, "protein", 3)],
    }
    for split, part in rows.items():
        heads, h, r, tails, t = zip(*part, strict=True)
        content = {"head_type": list(heads), "head": np.array(h), "relation": np.array(r)}
        content |= {"tail_type": list(tails), "tail": np.array(t)}
        if split == "test":
            content |= {"head_neg": torch.tensor([[0, 2]]), "tail_neg": np.array([[0, 4]])}
        torch.save(content, place / f"{split}.pt")
    if counts:
        (folder / "raw").mkdir()
        with gzip.open(folder / "raw/num-node-dict.csv.gz", "wt") as file:
            file.write("drug,disease,protein\n3,2,6\n")
    return OGBNegatives(path=str(place / "test.pt"))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [(True, {"drug": 3, "disease": 2, "protein": 6}), (False, {"disease": 1, "drug": 3, "protein": 5})],
)
def test_entities_of_several_types_are_numbered_type_by_type(tmp_path, counts, expected):
    generator = biokg(tmp_path, counts=counts)
    data = load_dataset(tmp_path)
    assert list(data.entities) == [f"{kind}:{index}" for kind, size in expected.items() for index in range(size)]
    assert data.triple(*data.test.ids[0]) == "(drug:1, 0, protein:3)"
    for side, labels in (("head", ["drug:0", "drug:2"]), ("tail", ["protein:0", "protein:4"])):
        rows = generator.candidates(generator.queries(data.test, side), None, data).rows
        assert [data.entities[index] for index in rows.row(0)] == labels


def damaged(**changed):
    def write(path):
        content = torch.load(path, weights_only=False)
        content.update(changed)
        torch.save({key: value for key, value in content.items() if value is not None}, path)

    return write


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damaged(tail_neg=None), "no tail_neg in it"),
        (damaged(tail_neg=np.array([[0, 4]])), "tail_neg holds int64 of shape [1, 2]"),
        (damaged(tail_neg=np.zeros((2, 2))), "tail_neg holds float64"),
        (damaged(tail_neg=np.array([[0, 9], [1, 1]])), "row 1: tail_neg has an id that the dataset has no entity for"),
        (damaged(tail_neg=np.array([[0, 1], [1, -1]])), "row 2: tail_neg has an id that the dataset has no entity for"),
        (damaged(head=np.array([0, 0])), "the triple (cat, big, likes, eel) is not in it"),
        (damaged(relation=None), "expected a dictionary with head, relation and tail"),
        (damaged(head_type=["a", "a"]), "head_type and tail_type do not give each triple its types"),
        (damaged(tail_neg=np.full((2, 2), 10**9)), "tail_neg id 1000000000, though only 4 are spoken of"),
    ],
)
def test_what_is_wrong_with_a_file_of_negatives_is_told(tmp_path, damage, message):
    stored_layouts.ogb(tmp_path)
    data = load_dataset(tmp_path)
    path = tmp_path / "split/time/test.pt"
    damage(path)
    with pytest.raises(DatasetError) as caught:
        evaluate(CallableScorer(hashed, 5, 2), data, corruption=OGBNegatives(path=str(path)), sides=("tail",))
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
