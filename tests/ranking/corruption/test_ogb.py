"""OGB's folders and fixed negatives: each triple meets its own list, as OGB's own evaluator ranks it."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from kgeval import CallableScorer, evaluate, explain, framework_metrics, load_dataset, summarize
from kgeval.base.errors import DatasetError, counted
from kgeval.models.families.bilinear import DistMult
from kgeval.ranking.corruption import AllEntities, FileNegatives, OGBNegatives
from kgeval.ranking.corruption.export import generate_negatives, write_negatives
from tests.data import stored_layouts

torch = pytest.importorskip("torch")


def hashed(h, r, t):
    return (h * 7 + r * 3 + t * 5 + h * t) % 6


SCORER = CallableScorer(hashed, 40, 3)


def own_negatives(folder, **settings):
    return OGBNegatives(path=str(folder / "split/time/test.pt"), **settings)


def wikikg(folder, *, seed=0, size=60, entities=40, relations=3, negatives=8, any_entity=False):
    """A graph of random triples, many of which ask the same, with random negatives.

    They are distinct and no known answers; or any entities, so that some are said twice, known, or the answer itself.
    """
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
                if any_entity:
                    content[f"{side}_neg"] = rng.integers(0, entities, (size, negatives))
        torch.save(content, place / f"{split}.pt")
    return {key: np.asarray(value) for key, value in content.items()}


def listed_ranks(stored, side, known=()):
    """The formula of OGB on the lists as they are, but for the places of other known triples; float64[triple]."""
    ranks = []
    for row, (h, r, t) in enumerate(zip(*(stored[key].tolist() for key in ("head", "relation", "tail")), strict=True)):
        listed = [(e, r, t) if side == "head" else (h, r, e) for e in stored[f"{side}_neg"][row].tolist()]
        negative = np.array([hashed(*triple) for triple in listed if triple == (h, r, t) or triple not in known])
        positive = hashed(h, r, t)
        ranks.append(1 + 0.5 * ((negative > positive).sum() + (negative >= positive).sum()))
    return np.array(ranks)


def realistic(table, side):
    table = table.where(table.column("side") == side)
    return (1 + table.column("greater") + table.column("tied") / 2)[np.argsort(table.column("triple"))]


@pytest.mark.parametrize("side", ["head", "tail"])
def test_ranks_are_those_of_the_formula_of_ogb(tmp_path, side):
    stored = wikikg(tmp_path)
    table = evaluate(SCORER, load_dataset(tmp_path), corruption=own_negatives(tmp_path), sides=(side,))
    ranks = listed_ranks(stored, side)
    assert realistic(table, side).tolist() == ranks.tolist()
    assert (table.column("candidates") == 9).all()
    assert summarize(table, ["mrr"])["mrr"] == pytest.approx((1 / ranks).mean(), abs=1e-12)


@pytest.mark.parametrize("said", [False, True])
def test_the_protocol_ranks_among_the_lists_as_they_are(tmp_path, said):
    """Twice said, known or the answer itself: every negative counts, and the result says which there were."""
    stored = wikikg(tmp_path, any_entity=True)
    data, path = load_dataset(tmp_path), tmp_path / "split/time/test.pt"
    known = {tuple(row) for part in data.splits.values() for row in part.ids.tolist()}
    corruption = OGBNegatives(path=str(path)) if said else None
    table = evaluate(SCORER, data, protocol="ogb", corruption=corruption)
    assert table.provenance.candidates == "8 of OGB's file split/time/test.pt, as listed"
    expected = {side: listed_ranks(stored, side) for side in ("head", "tail")}
    for side, ranks in expected.items():
        assert realistic(table, side).tolist() == ranks.tolist()
        assert ranks.tolist() != listed_ranks(stored, side, known).tolist()
        negatives = stored[f"{side}_neg"]
        again = negatives.size - sum(len(set(row)) for row in negatives.tolist())
        itself = (negatives == stored[side][:, None]).sum()
        assert again > 0 < itself
        told = (
            f"{counted(again, f'{side} negative')} of {path} listed twice for one triple, {itself} equal to its "
            "answer; all are candidates."
        )
        assert told in table.notes
    assert (table.column("candidates") == 9).all()
    assert (table.column("raw_candidates") == 9).all()
    mean = (1 / np.concatenate([*expected.values()])).mean()
    assert framework_metrics(table)["mrr_list"] == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("filtered", [("test",), ("train", "test"), ("train", "valid", "test")])
def test_a_filter_takes_other_known_answers_from_every_place_of_a_list(tmp_path, filtered):
    """An answer among its own negatives stays there, whether or not its split is in the filter."""
    stored = wikikg(tmp_path, any_entity=True, seed=3)
    data = load_dataset(tmp_path)
    known = {tuple(row) for name, part in data.splits.items() if name in filtered for row in part.ids.tolist()}
    table = evaluate(SCORER, data, protocol="ogb", filter=filtered)
    for side in ("head", "tail"):
        assert realistic(table, side).tolist() == listed_ranks(stored, side, known).tolist()
        assert (stored[f"{side}_neg"] == stored[side][:, None]).any()
    assert table.column("candidates").min() < 9


@pytest.mark.parametrize("kernel", ["reference", "compiled", "float32"])
def test_kernels_count_each_place_of_a_list(tmp_path, kernel):
    """Vectors of small whole numbers, which often tie."""
    stored = wikikg(tmp_path, any_entity=True, seed=1)
    data = load_dataset(tmp_path)
    rng = np.random.default_rng(0)
    entities, relations = rng.integers(-2, 3, (40, 3)).astype(float), rng.integers(-2, 3, (3, 3)).astype(float)
    table = evaluate(DistMult(entities, relations), data, protocol="ogb", kernel=kernel)
    h, r, t = (stored[key] for key in ("head", "relation", "tail"))
    for side, rows in (("head", t), ("tail", h)):
        queries = entities[rows] * relations[r]
        positive = (queries * entities[stored[side]]).sum(1)[:, None]
        negative = np.einsum("qd,qnd->qn", queries, entities[stored[f"{side}_neg"]])
        ranks = 1 + 0.5 * ((negative > positive).sum(1) + (negative >= positive).sum(1))
        assert realistic(table, side).tolist() == ranks.tolist()


@pytest.mark.parametrize("as_listed", [False, True])
def test_blocks_of_a_few_triples_give_the_same_table_and_notes(tmp_path, as_listed):
    wikikg(tmp_path, any_entity=True)
    data = load_dataset(tmp_path)
    corruption = own_negatives(tmp_path, as_listed=as_listed)
    free, bound = (evaluate(SCORER, data, corruption=corruption, memory_limit=limit) for limit in ("1GB", 4096))
    assert bound.data.equals(free.data)
    assert bound.notes == free.notes
    assert any("listed twice" in note for note in free.notes)


def test_what_is_said_goes_before_the_negatives_of_the_protocol(tmp_path):
    wikikg(tmp_path, any_entity=True)
    data = load_dataset(tmp_path)
    assert (evaluate(SCORER, data, protocol="ogb", corruption=AllEntities()).column("candidates") == 40).all()
    once = own_negatives(tmp_path, as_listed=False)
    assert (evaluate(SCORER, data, protocol="ogb", corruption=once).column("raw_candidates") < 9).any()


def test_a_dataset_without_the_fixed_negatives_is_refused(tmp_path):
    wikikg(tmp_path)
    with pytest.raises(DatasetError, match=r"no such file\. Give the folder .* or say which candidates compete"):
        evaluate(lambda h, r, t: h, "nations", protocol="ogb")
    with pytest.raises(DatasetError, match=r"train\.pt: no head_neg in it\. OGB has negatives for its test and"):
        evaluate(SCORER, load_dataset(tmp_path), protocol="ogb", split="train")


def test_the_difference_is_attributed_to_candidates_and_filter(tmp_path):
    wikikg(tmp_path, any_entity=True)
    data = load_dataset(tmp_path)
    told = explain(SCORER, data, ["ogb", "pykeen"])
    row = told["ogb"]
    among = evaluate(SCORER, data, corruption=own_negatives(tmp_path, as_listed=True))
    assert row.causes["candidates"] == pytest.approx(summarize(among, ["mrr"])["mrr"] - told.standard, abs=1e-12)
    assert row.causes["candidates"] > 0.01
    assert row.causes["filter"] < 0
    assert told.standard + sum(row.causes.values()) == pytest.approx(row.value, rel=1e-12)
    assert any("listed twice for one triple" in note for note in row.notes)
    assert not any(told["pykeen"].causes.values())


def test_the_negatives_can_be_written_down(tmp_path):
    wikikg(tmp_path)
    data = load_dataset(tmp_path)
    tables = generate_negatives(data, own_negatives(tmp_path))
    assert write_negatives(tmp_path / "n.tsv", tables) == 2 * 60 * 8
    assert len(evaluate(SCORER, data, corruption=FileNegatives(path=str(tmp_path / "n.tsv")))) == 120


def test_negatives_that_are_said_twice_count_once(tmp_path):
    stored_layouts.ogb(tmp_path)
    data = load_dataset(tmp_path)
    table = evaluate(CallableScorer(hashed, 5, 2), data, corruption=own_negatives(tmp_path))
    assert any("1 tail negative of" in note and "listed twice" in note for note in table.notes)
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
        (damaged(tail_neg=np.array([[0, 9], [1, 1]])), "row 1: tail_neg has an id that no entity has"),
        (damaged(tail_neg=np.array([[0, 1], [1, -1]])), "row 2: tail_neg has an id that no entity has"),
        (damaged(head=np.array([0, 0])), "the triple (cat, big, likes, eel) is not in it"),
        (damaged(relation=None), "expected a dictionary with head, relation and tail"),
        (damaged(head_type=["a", "a"]), "head_type and tail_type must have one type for each triple"),
        (damaged(tail_neg=np.full((2, 2), 10**9)), "tail_neg id 1000000000, but there are only 4"),
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
