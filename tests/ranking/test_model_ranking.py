"""The ranking of a model: what is refused, what is left out, and what the notes say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kgeval import (
    CallableScorer,
    Dataset,
    RankTable,
    ScoreTable,
    Triples,
    Vocabulary,
    compare,
    evaluate,
    load_checkpoint,
    summarize,
)
from kgeval.base.errors import CheckpointError, DatasetError, InputError, RunError, ScoreError, TableError
from kgeval.models.checkpoints import Checkpoint
from kgeval.models.families.bilinear import DistMult
from tests.conftest import random_dataset

DATA = random_dataset(12)


def by_hash(h, r, t):
    return (h * 5 + r * 3 + t * 11) % 7


def labelled(entities, relations, seed=0):
    """A DistMult with labels of its own, some entities missing and others unknown to the dataset."""
    rng = np.random.default_rng(seed)
    model = DistMult(rng.normal(size=(len(entities), 4)), rng.normal(size=(len(relations), 4)))
    return Checkpoint(model, "test", (Path("model"),), Vocabulary(entities), Vocabulary(relations, "relation"))


def test_entities_that_only_the_model_knows_do_not_compete():
    more = labelled([*DATA.entities, "stranger"], list(DATA.relations))
    table = evaluate(more, DATA)
    assert table.column("raw_candidates").max() == len(DATA.entities)


def test_unseen_triples_are_left_out_or_last(tmp_path):
    lost = {27, 28, 29}
    fewer = labelled(list(DATA.entities)[:27], list(DATA.relations))
    unseen = np.array([bool({int(h), int(t)} & lost) for h, _, t in DATA.test.ids])
    dropped, worst = (evaluate(fewer, DATA, unseen=policy) for policy in ("drop", "worst"))
    assert len(dropped) == 2 * (~unseen).sum()
    assert len(worst) == 2 * len(DATA.test)
    last = worst.where(unseen[worst.column("triple")])
    assert (last.column("greater") == last.column("candidates") - 1).all()
    assert (last.column("tied") == 0).all()
    seen = worst.where(~unseen[worst.column("triple")])
    assert seen.to_pandas()["greater"].tolist() == dropped.to_pandas()["greater"].tolist()
    assert (last.column("raw_candidates") == 30).all()
    what = "the model does not know 3 of the 30 entities of random: only the entities that it knows are candidates."
    assert dropped.notes[1] == worst.notes[1] == what  # a hash is no better than chance, which comes first
    assert dropped.notes[2].startswith("left out (unseen: drop): 8 test triples")
    assert worst.notes[2].startswith("ranked last (unseen: worst): 8 test triples")
    assert "all 30 entities (only the 27 entities that the model knows compete)" in str(dropped.provenance)
    assert dropped.column("raw_candidates").max() == dropped.provenance.to_dict()["competing"] == 27
    assert worst.provenance.competing == 27
    assert (worst.provenance.unscored, dropped.provenance.unscored) == (8, 0)
    words = "(only the 27 entities that the model knows compete; 8 triples that it does not know are last)"
    assert f"candidates: all 30 entities {words}" in str(worst.provenance)
    everyone = evaluate(by_hash, DATA)
    assert everyone.provenance.competing is None
    both = compare({"all": everyone, "some": worst})
    assert "competing" not in both.heads[0]
    assert both.tables()[0].columns[:3] == ["model", "competing", "unscored"]
    halves = [worst.where(worst.column("triple") % 2 == rest) for rest in (0, 1)]
    for shards in (halves, [worst.where(worst.column("side") == side) for side in ("head", "tail")]):
        counted = [
            replace(shard, unscored=len({*shard.column("triple")} & {*last.column("triple")})) for shard in shards
        ]
        assert RankTable.concat(counted).unscored == 8
    dropped.to_parquet(tmp_path / "ranks.parquet")
    assert RankTable.from_parquet(tmp_path / "ranks.parquet").provenance == dropped.provenance


def holed(h, r, t):
    return np.where(t == 7, np.nan, by_hash(h, r, t).astype(float))


class Holed(DistMult):
    """A model whose only NaN is in entity 7 as a candidate."""

    def __init__(self):
        super().__init__(np.random.default_rng(0).normal(size=(30, 4)), np.ones((4, 4)))

    def entity_vectors(self, side, ids):
        return np.where((ids == 7)[:, None], np.nan, self.entity[ids])


@pytest.mark.parametrize("scorer", [CallableScorer(holed, 30, 4), Holed()], ids=["finished", "vectors"])
def test_nan_is_refused_with_triple_and_candidate(scorer):
    with pytest.raises(
        ScoreError,
        match=r"NaN for \(e\d+, r\d+, \?\), candidate e0007: a rank is undefined.*nan='worst' \(--nan worst\)",
    ):
        evaluate(scorer, DATA, sides=("tail",))


def nan_of(score, table):
    """How many other candidates' scores are NaN for each row of ranks, and its own answer's; by brute force."""
    found, everyone = [], np.arange(30)
    for head, relation, tail, side in zip(*(table.column(name) for name in TRIPLE), strict=True):
        ids = (everyone, np.full(30, tail)) if side == "head" else (np.full(30, head), everyone)
        holes = np.isnan(score(ids[0], np.full(30, relation), ids[1]))
        own = int(holes[head if side == "head" else tail])
        found.append((int(holes.sum()) - own, own))
    return found


TRIPLE = ("head", "relation", "tail", "side")
NAN = ["nan_candidates", "nan_answer"]


HOLES = [7, int(DATA.test.tails[0]), int(DATA.test.heads[0])]


class Vectors(DistMult):
    """A model of which some entities have no vector as an answer, on either side, nor as the entity of a query."""

    def __init__(self):
        entity = np.random.default_rng(0).normal(size=(30, 4))
        entity[HOLES] = np.nan
        super().__init__(entity, np.ones((4, 4)))


def holes_of_tails(h, r, t):
    return np.where(np.isin(t, HOLES), np.nan, by_hash(h, r, t).astype(float))


def holes_of_vectors(h, r, t):
    return np.where(np.isin(h, HOLES) | np.isin(t, HOLES), np.nan, 0.0)


@pytest.mark.parametrize("kernel", ["reference", "compiled", "float32"])
@pytest.mark.parametrize(
    ("scorer", "score"),
    [(CallableScorer(holes_of_tails, 30, 4), holes_of_tails), (Vectors(), holes_of_vectors)],
    ids=["finished", "vectors"],
)
def test_nan_that_is_the_worst_score_is_counted(tmp_path, scorer, score, kernel):
    table = evaluate(scorer, DATA, nan="worst", kernel=kernel)
    counted = nan_of(score, table)
    assert list(zip(*(table.column(name) for name in NAN), strict=True)) == counted
    candidates, answers = map(sum, zip(*counted, strict=True))
    assert answers > 0
    note = f"{answers} of {len(table)} scores of answers and {candidates:,} of {29 * len(table):,} of other candidates"
    assert any(told.startswith(f"{note} are NaN and count as the worst") for told in table.notes)
    assert summarize(table, ["mrr"]).to_dict()["provenance"]["nan"] == {"candidates": candidates, "answers": answers}
    table.to_parquet(tmp_path / "ranks.parquet")
    assert RankTable.from_parquet(tmp_path / "ranks.parquet").provenance.nan == table.provenance.nan


def test_nan_ranks_as_minus_infinity():
    sunk = CallableScorer(lambda h, r, t: np.nan_to_num(holed(h, r, t), nan=-np.inf), 30, 4)
    as_worst = evaluate(CallableScorer(holed, 30, 4), DATA, nan="worst")
    assert as_worst.to_pandas().drop(columns=NAN).equals(evaluate(sunk, DATA).to_pandas())
    none = evaluate(sunk, DATA, nan="worst")
    assert none.provenance.nan == {"candidates": 0, "answers": 0}
    assert not any("NaN" in note for note in none.notes)


FAR_WORSE, MASKED = (
    "the model is far worse than chance (AMRI: tails -1.000).",
    "the raw ranks are the filtered ones, though",
)


@pytest.mark.parametrize(("masks", "own", "note"), [(True, True, FAR_WORSE), (True, False, MASKED), (False, False, "")])
def test_answers_that_were_masked_beforehand_are_noted(nations, masks, own, note):
    """The known answers of each row, with its own and without it."""
    heads, relations, tails = nations.test.ids.T
    scores = np.random.default_rng(0).normal(size=(len(heads), 14))
    facts = np.concatenate([nations.train.ids, nations.valid.ids, nations.test.ids])
    known = np.zeros((14, 55, 14), np.bool_)
    known[tuple(facts.T)] = masks
    hidden = known[heads, relations]
    hidden[np.arange(len(heads)), tails] = own
    table = evaluate(ScoreTable(nations.test, tail=np.where(hidden, -np.inf, scores)), nations)
    assert [told for told in (FAR_WORSE, MASKED) if any(it.startswith(told) for it in table.notes)] == [note] * masks
    alike = table.column("raw_greater") == table.column("greater")
    assert alike.all() == masks


def test_lists_of_single_triples_have_no_scores_to_unmask(nations, tmp_path):
    """Each list has its answer alone, so that raw ranks are the filtered ones."""
    triples = [
        (nations.entities[h], nations.relations[r], nations.entities[t]) for h, r, t in nations.test.ids.tolist()
    ]
    keys = ("head", "relation", "tail")
    lists = [{**dict(zip(keys, triple, strict=True)), "side": "tail", "predictions": [triple[2]]} for triple in triples]
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, lists)))
    table = evaluate(load_checkpoint(tmp_path / "lists.jsonl", dataset=nations), nations)
    assert (table.column("raw_greater") == table.column("greater")).all()
    assert not any("masked" in note for note in table.notes)


def test_a_model_that_is_far_worse_on_one_side_is_noted_by_side():
    """It scores all heads alike, and answers that are tails below all others."""
    worst = np.zeros((4, 30))
    worst[tuple(DATA.test.ids[:, 1:].T)] = -1
    told = evaluate(lambda h, r, t: worst[r, t], DATA).notes[0]
    assert told.startswith("the model is far worse than chance for tails (AMRI: tails -")


def test_distances_that_are_given_as_scores_are_noted():
    rng = np.random.default_rng(0)
    distance = rng.random((30, 4, 30)) + 1
    for h, r, t in DATA.test.ids:
        distance[h, r, t] = rng.random()
    notes = {sign: evaluate(lambda h, r, t, sign=sign: sign * distance[h, r, t], DATA).notes for sign in (1, -1)}
    assert notes[1][0].startswith("the model is far worse than chance (AMRI: heads -1.000, tails -1.000)")
    assert "give them with a minus sign" in notes[1][0]
    assert not any("chance" in told for told in notes[-1])


BARE = Dataset.build("d", {"test": DATA.test}, entities=DATA.entities, relations=DATA.relations)
SHORT = ScoreTable(Triples(DATA.test.ids[:3]), tail=np.zeros((3, 30)))
REFUSED = [
    (CallableScorer(by_hash, 29, 4), {}, "29 entity ids and no labels, dataset random has 30"),
    (labelled(["x", "y"], list(DATA.relations)), {}, "no entity label of the model occurs in dataset random"),
    (
        labelled(list(DATA.entities)[:-3], list(DATA.relations)),
        {},
        r"test triples with an entity or relation that the model does not know: \(e0.*drop",
    ),
    (lambda h, r, t: 0.0, {}, r"returned 1 scores for \d+ triples"),
    (["model.pt"], {}, "cannot score with a list"),
    ("model.pt", {}, r"no such file or folder 'model\.pt'"),
    (by_hash, {"dataset": BARE, "split": "valid"}, "it has no valid triples"),
    (SHORT, {"sides": "tail"}, "no row for the tail query"),
]


@pytest.mark.parametrize(("model", "options", "message"), REFUSED, ids=[row[2][:20] for row in REFUSED])
def test_what_cannot_be_ranked_is_refused(model, options, message):
    with pytest.raises((CheckpointError, DatasetError, InputError, ScoreError), match=message):
        evaluate(model, **{"dataset": DATA, **options})


def test_repeated_triples_are_noted():
    ids = np.concatenate([DATA.test.ids, DATA.test.ids[:2]])
    doubled = Dataset.build("d", {"test": Triples(ids)}, entities=DATA.entities, relations=DATA.relations)
    table = evaluate(by_hash, doubled)
    assert table.num_triples == len(DATA.test)
    assert table.notes[1:] == (
        "the model has no labels; its ids were taken as those of dataset d.",
        "2 repeated test triples: kgeval's own metrics count each triple once.",
    )


def test_progress_counts_every_task():
    done = []
    evaluate(by_hash, DATA, batch_size=4, progress=done.append)
    assert sum(done) == 2 * len(DATA.test)
    assert len(done) > 2


def test_shards_concatenate_to_the_whole():
    whole = evaluate(by_hash, DATA)
    heads, tails = evaluate(by_hash, DATA, sides=("head",)), evaluate(by_hash, DATA, sides=("tail",))
    assert RankTable.concat([heads, tails]).to_pandas().equals(whole.to_pandas())
    assert summarize(RankTable.concat([heads, tails]))["mrr"] == summarize(whole)["mrr"]
    with pytest.raises(TableError, match="no table"):
        RankTable.concat([])
    with pytest.raises(TableError, match=f"{len(heads)} of {len(whole) + len(heads)} are of a triple and side that is"):
        RankTable.concat([whole, heads])


def test_a_damaged_table_is_refused(tmp_path):
    path = tmp_path / "ranks.parquet"
    evaluate(by_hash, DATA).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TableError, match="not a readable rank table"):
        RankTable.from_parquet(path)
    with pytest.raises(TableError, match="no such file"):
        RankTable.from_parquet(tmp_path / "nothing.parquet")


def test_an_unwritable_place_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write"):
        evaluate(by_hash, DATA).to_parquet(tmp_path / "file" / "ranks.parquet")


def test_a_folder_that_is_called_like_a_column_is_no_column(tmp_path):
    table = evaluate(by_hash, DATA)
    table.to_parquet(tmp_path / "side=head" / "ranks.parquet")
    assert RankTable.from_parquet(tmp_path / "side=head" / "ranks.parquet").data.equals(table.data)


def test_the_error_for_an_unknown_column_offers_the_computed_rank():
    table = evaluate(lambda h, r, t: h + t, "nations")
    with pytest.raises(TableError, match=r"no column 'rnak'\. Did you mean 'rank'\?"):
        table.column("rnak")
