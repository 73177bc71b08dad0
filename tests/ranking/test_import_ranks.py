"""Ranks that others wrote: the metrics of their own evaluators, the ranks of a table, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from kgeval import (
    CallableScorer,
    Dataset,
    RankTable,
    Triples,
    annotate,
    compare,
    evaluate,
    load_dataset,
    load_ranks,
    summarize,
)
from kgeval.analysis.slices.slice import Slice
from kgeval.base.errors import DatasetError, KgevalError, TableError
from tests.brute_force import COUNTS
from tests.conftest import SHARED, random_dataset

DATA = random_dataset(5)
SCORER = CallableScorer(lambda h, r, t: np.sin(1.0 + h * 12.9898 + r * 78.233 + t * 37.719 + h * t * 0.37), 30, 4)
KEYS = ["triple", "side", "head_label", "relation_label", "tail_label"]


@pytest.fixture(scope="module")
def ranked():
    """A table in which nothing ties, so that ranks say all."""
    table = evaluate(SCORER, DATA)
    assert not table.column("tied").any()
    assert not table.column("raw_tied").any()
    return table


def wide(table):
    """One row per triple, ranks of both sides and settings, in another order of rows."""
    frame = table.to_pandas()
    sides = {side: frame[frame["side"] == side].set_index("triple") for side in ("head", "tail")}
    names = {"h": "head_label", "r": "relation_label", "t": "tail_label"}
    columns = {letter: sides["head"][name] for letter, name in names.items()}
    for side, place in (("head", "left"), ("tail", "right")):
        columns[f"frank_{place}"] = 1 + sides[side]["greater"]
        columns[f"rank_{place}"] = 1 + sides[side]["raw_greater"]
    return pd.DataFrame(columns).assign(frr_left=0.5).sample(frac=1, random_state=0)


def labels_of(row):
    h, r, t = row
    return DATA.entities[h], DATA.relations[r], DATA.entities[t]


def loaded(tmp_path, content, data=DATA, **options):
    """The ranks of a file of some lines, or of a frame."""
    path = tmp_path / "ranks.txt"
    lines = content if isinstance(content, list) else [content.to_csv(sep="\t", index=False)]
    path.write_text("".join(f"{line}\n" for line in lines))
    return load_ranks(path, data, **options)


def test_a_table_survives_the_columns_of_left_and_right_ranks(tmp_path, ranked):
    again = loaded(tmp_path, wide(ranked)).to_pandas().sort_values(["triple", "side"])
    expected = ranked.to_pandas().sort_values(["triple", "side"])
    for column in [*KEYS, *COUNTS]:
        assert again[column].tolist() == expected[column].tolist(), column


@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_ranks_in_records_of_json_are_those_of_a_table(tmp_path, ranked, ending):
    content = wide(ranked).assign(best="[1, 2]").to_json(orient="records", lines=ending == ".jsonl")
    (tmp_path / f"ranks{ending}").write_text(content)
    loaded_ranks = load_ranks(tmp_path / f"ranks{ending}", DATA).to_pandas()
    assert loaded_ranks.set_index(KEYS)["greater"].to_dict() == ranked.to_pandas().set_index(KEYS)["greater"].to_dict()


def test_records_do_not_say_by_themselves_which_side_their_ranks_are_of(tmp_path):
    record = dict(zip(("head", "relation", "tail"), labels_of(DATA.test.ids[0]), strict=True), rank=2)
    (tmp_path / "ranks.json").write_text(json.dumps([record]))
    with pytest.raises(TableError, match="the side of each rank must be given once"):
        load_ranks(tmp_path / "ranks.json", DATA)


def test_blanks_around_labels_of_ranks_are_cut(tmp_path, ranked):
    padded = wide(ranked).assign(t=lambda frame: frame["t"].astype(str) + " ")
    assert len(loaded(tmp_path, padded)) == len(ranked)


def contradictions(frame, rows, side, counted):
    """By brute force: where the filter moved the rank of one side by more than a query has other known answers."""
    facts = {tuple(triple) for split in DATA.splits.values() for triple in split.ids.tolist()}
    count = 0
    for row in rows:
        head, relation, tail = DATA.test.ids[row].tolist()
        tails = {t for h, r, t in facts if (h, r) == (head, relation)} - {tail}
        heads = {h for h, r, t in facts if (r, t) == (relation, tail)} - {head}
        moved = frame.loc[row, f"rank_{side}"] - frame.loc[row, f"frank_{side}"]
        count += moved > len(heads if counted == "head" else tails)
    return count


def test_exchanged_sides_are_noted(tmp_path, ranked):
    """Two of the eighteen files that Akrami et al. (2020) published with raw ranks name the tail first, unsaid."""
    frame = wide(ranked)
    assert not [note for note in loaded(tmp_path, frame).notes if "probably exchanged" in note]
    other = {"left": "right", "right": "left"}
    names = {f"{kind}_{side}": f"{kind}_{other[side]}" for kind in ("rank", "frank") for side in other}
    exchanged = frame.rename(columns=names)
    table = loaded(tmp_path, exchanged, unmatched="drop")
    (note,) = (note for note in table.notes if "probably exchanged" in note)
    both = table.to_pandas()["triple"].value_counts().loc[lambda count: count == 2].index
    found = contradictions(exchanged, both, "left", "head") + contradictions(exchanged, both, "right", "tail")
    assert f" in {found} of {2 * len(both)} rows the filter removes more candidates" in note


def test_a_table_survives_a_column_of_sides(tmp_path, ranked):
    frame = ranked.to_pandas().sample(frac=1, random_state=1)
    columns = {"tail": frame["tail_label"], "side": frame["side"], "head": frame["head_label"]}
    columns |= {"relation": frame["relation_label"], "rank": 1 + frame["raw_greater"]}
    columns |= {"filtered_rank": 1.0 + frame["greater"]}
    pd.DataFrame(columns).to_csv(tmp_path / "ranks.csv", index=False)
    again = load_ranks(tmp_path / "ranks.csv", DATA)
    own, theirs = (summarize(it, ["mrr", "amri", "hits@3"]).to_dict()["metrics"] for it in (ranked, again))
    assert own == theirs
    assert compare({"mine": ranked, "theirs": again}) is not None
    assert any("has no numbers of ties" in note for note in again.notes)


def test_filtered_ranks_alone_leave_the_raw_ones_unknown(tmp_path, ranked):
    frame = wide(ranked).rename(columns={"frank_left": "head_rank", "frank_right": "tail_rank"})
    table = loaded(tmp_path, frame.drop(columns=["rank_left", "rank_right"]))
    assert np.isnan(table.column("raw_greater")).all()
    assert summarize(table, ["mrr"])["mrr"] == summarize(ranked, ["mrr"])["mrr"]
    table.to_parquet(tmp_path / "ranks.parquet")
    assert RankTable.from_parquet(tmp_path / "ranks.parquet").to_pandas().equals(table.to_pandas())


FOLDERS = sorted(SHARED.glob("checkpoints/*/umls-*/expected_ranks.tsv"))


@pytest.fixture(scope="module")
def entities_left():
    """How many entities compete in each filtered task of UMLS, by plain loops over labels."""
    umls = load_dataset("umls")
    ids = np.concatenate([part.ids for part in umls.splits.values()])
    facts = {(umls.entities[h], umls.relations[r], umls.entities[t]) for h, r, t in ids}
    left = {}
    labels = list(umls.entities)
    for h, r, t in umls.test.ids:
        head, relation, tail = labels[h], umls.relations[r], labels[t]
        left[head, relation, tail, "head"] = 136 - sum((other, relation, tail) in facts for other in labels)
        left[head, relation, tail, "tail"] = 136 - sum((head, relation, other) in facts for other in labels)
    return left


@pytest.mark.parametrize("file", FOLDERS, ids=lambda file: f"{file.parts[-3]}-{file.parts[-2]}")
def test_the_ranks_of_a_framework_give_their_own_means(file, entities_left):
    """The means that pandas takes of the file, both settings; ranks of evaluators that count wrongly are refused."""
    frame = pd.read_csv(file, sep="\t", comment="#")
    keys = frame[["head", "relation", "tail", "side"]].itertuples(index=False)
    left = np.array([entities_left[tuple(key)] for key in keys])
    if (frame["filtered_rank"] < 1).any() or (frame["filtered_rank"] > left).any() or (frame["raw_rank"] > 135).any():
        with pytest.raises(TableError, match=r"is not a rank|is beyond its \d+ candidates"):
            load_ranks(file, "umls")
        return
    table = load_ranks(file, "umls")
    summary = summarize(table, ["mr", "mrr", "hits@10", "tail.mrr"])
    ranks = frame["filtered_rank"].astype(float)
    assert summary["mr"] == pytest.approx(ranks.mean(), rel=1e-12)
    assert summary["mrr"] == pytest.approx((1 / ranks).mean(), rel=1e-12)
    assert summary["tail.mrr"] == pytest.approx((1 / ranks[frame["side"] == "tail"]).mean(), rel=1e-12)
    assert summary["hits@10"] == pytest.approx((ranks <= 10).mean(), rel=1e-12)
    raw = 1 + table.column("raw_greater") + table.column("raw_tied") / 2
    assert raw.mean() == pytest.approx(frame["raw_rank"].mean(), rel=1e-12)
    assert sorted(table.column("candidates").tolist()) == sorted(left.tolist())


def test_the_ranks_of_libkge_give_the_metrics_that_it_printed(shared):
    folder = shared / "checkpoints/libkge/umls-complex"
    printed = json.loads((folder / "expected.json").read_text())["metrics"]
    summary = summarize(load_ranks(folder / "expected_ranks.tsv", "umls"), ["mrr", "mr", "hits@1"])
    # On test, LibKGE filters by all three splits; it sums in float32.
    assert summary["mrr"] == pytest.approx(printed["mean_reciprocal_rank_filtered"], rel=1e-6)
    assert summary["mr"] == pytest.approx(printed["mean_rank_filtered"], rel=1e-6)
    assert summary["hits@1"] == pytest.approx(printed["hits_at_1_filtered"], rel=1e-6)


def test_half_ranks_tie_with_one(tmp_path):
    row = " ".join(labels_of(DATA.test.ids[0]))
    table = loaded(tmp_path, ["# mine", "head relation tail tail_rank", f"{row} 2.5"])
    assert (table.column("greater").tolist(), table.column("tied").tolist()) == ([1], [1])
    assert summarize(table, ["mr"])["mr"] == 2.5
    assert f"not in {tmp_path / 'ranks.txt'}: {len(DATA.test) - 1} test triples." in table.notes


@pytest.mark.parametrize(
    ("header", "cells", "message"),
    [
        (
            "h\tr\tt\thead_rank",
            ["0"],
            "line 2: the head_rank '0' is not a rank: expected a whole number or a half, from 1",
        ),
        ("h\tr\tt\thead_rank", ["2.25"], "line 2: the head_rank '2.25' is not a rank"),
        ("h\tr\tt\thead_rank", ["nan"], "line 2: the head_rank 'nan' is not a rank"),
        ("h\tr\tt\thead_rank", ["-1"], "line 2: the head_rank '-1' is not a rank"),
        ("h\tr\tt\thead_rank", ["31"], "line 2: the filtered head rank 31 is beyond its"),
        ("h\tr\tt\thead_rank", ["31"], "If these are raw ranks, use --setting raw (in Python setting='raw')"),
        ("h\tr\tt\traw_head_rank", ["31"], "the raw head rank 31 is beyond its 30 candidates. Was another dataset"),
        ("h\tr\tt\thead_rank", ["1", "1"], "line 3: its head was ranked in an earlier line"),
        ("h\tr\tt\thead_rank", ["1\t2"], "line 2: 5 columns where 4 columns"),
        ("h\tr\tt\tside\trank", ["tale\t1"], "line 2: the side 'tale' is unknown. Did you mean 'tail'?"),
        ("h\tr\tt\trank", ["1"], "the side of each rank must be given once"),
        ("h\tr\tt\tMode\trank", ["lhs\t1", "tail\t2"], "Say which: --columns side=Mode (in Python columns=)."),
        ("h\tr\tt\tmode\trank", ["fast\t1"], "Say which: --columns side=… (in Python columns=)."),
        ("h\tr\tt\tside\thead_rank", ["head\t1"], "'head_rank' as head_rank."),
        ("h\tr\tt\tscore", ["1"], "no column of ranks; found column 'h' as head"),
        ("h\tr\tt\tscore", ["1"], "Say which: --columns head_rank=…,tail_rank=…, or --columns rank=… beside"),
        ("h\tr\tt\ts_rank", ["1"], "column 't' as tail, and not used 's_rank'"),
        ("h\tr\tt\tside\tgreater\ttied", ["tail\t1\t0.5"], "line 2: the tied '0.5' is not a whole number from 0"),
        ("h\tr\tt\tside\tgreater\ttied", ["tail\t29\t3"], "line 2: the filtered tail rank 33 is beyond its"),
        ("h\tr\tt\thead_rank\ttail_greater", ["1\t2"], "tail_greater"),
        ("h\tr\tt\tleft_rank\thead_rank", ["1\t1"], "two columns have the same meaning"),
        ("h\tr\tt\thead_rank", [], "no ranks in it"),
        ("# nothing", [], "no header in it"),
    ],
)
def test_what_is_no_rank_is_refused_with_its_line(tmp_path, header, cells, message):
    row = "\t".join(labels_of(DATA.test.ids[0]))
    with pytest.raises((TableError, DatasetError)) as caught:
        loaded(tmp_path, [header, *(f"{row}\t{cell}" for cell in cells)])
    assert str(tmp_path / "ranks.txt") in str(caught.value)
    assert message in str(caught.value)


def test_the_column_that_a_refusal_proposes_holds_the_sides(tmp_path):
    row = "\t".join(labels_of(DATA.test.ids[0]))
    lines = ["h\tr\tt\tmode\trank", f"{row}\thead\t1", f"{row}\ttail\t2"]
    table = loaded(tmp_path, lines, columns="side=mode")
    assert table.column("side").tolist() == ["head", "tail"]
    assert table.column("greater").tolist() == [0, 1]


def test_a_triple_of_another_graph_is_refused(tmp_path):
    lines = ["h\tr\tt\thead_rank", "a\tlikes\tb\t1"]
    other = r"line 2: the triple \(a, likes, b\) is not in the test split of dataset random.*--unmatched drop"
    with pytest.raises(TableError, match=other):
        loaded(tmp_path, lines)
    with pytest.raises(TableError, match="none of its rows is a rank of the test split of dataset random"):
        loaded(tmp_path, lines, unmatched="drop")


# Files as others wrote them


def lines_of(table, separator):
    """head, relation, tail, head rank, tail rank, without a header."""
    frame = table.to_pandas()
    sides = {side: frame[frame["side"] == side].set_index("triple")["greater"] for side in ("head", "tail")}
    for row, triple in enumerate(DATA.test.ids.tolist()):
        ranks = (str(1 + sides[side][row]) for side in ("head", "tail"))
        yield separator.join([*labels_of(triple), *ranks])


NAMES = "head,relation,tail,filtered_head_rank,filtered_tail_rank"


@pytest.mark.parametrize(("separator", "name"), [(";", "filtered_ranks.csv"), ("\t", "ranks.txt"), (",", "r.csv")])
def test_columns_are_named_where_there_is_no_header(tmp_path, ranked, separator, name):
    (tmp_path / name).write_text("\n".join(lines_of(ranked, separator)))
    table = load_ranks(tmp_path / name, DATA, columns=NAMES)
    again, expected = (it.to_pandas().sort_values(["triple", "side"]) for it in (table, ranked))
    for column in ("greater", "candidates"):
        assert again[column].tolist() == expected[column].tolist()
    with pytest.raises(DatasetError, match=r"its first row names no columns: .*columns='head,relation,tail,"):
        load_ranks(tmp_path / name, DATA)


def test_another_separator_is_said(tmp_path, ranked):
    (tmp_path / "r.txt").write_text("\n".join(lines_of(ranked, "|")))
    table = load_ranks(tmp_path / "r.txt", DATA, columns=NAMES.split(","), separator="|")
    assert summarize(table, ["mrr"])["mrr"] == summarize(ranked, ["mrr"])["mrr"]
    with pytest.raises(KgevalError, match="separator '::': expected one character, or tab, space, comma, semicolon"):
        load_ranks(tmp_path / "r.txt", DATA, columns=NAMES, separator="::")


def test_both_settings_of_a_file_are_reachable(tmp_path, ranked):
    raw, filtered = (loaded(tmp_path, wide(ranked), setting=setting) for setting in ("raw", "filtered"))
    alone = wide(ranked).rename(columns={"rank_left": "raw_head_rank", "rank_right": "raw_tail_rank"})
    unsaid = loaded(tmp_path, alone.drop(columns=["frank_left", "frank_right"]))
    unfiltered = loaded(tmp_path, wide(ranked), filter=())
    assert unfiltered.data.drop_columns("score").equals(raw.data.drop_columns("score"))
    assert (raw.filter, unsaid.filter, filtered.filter) == ((), (), ("train", "valid", "test"))
    expected = summarize(evaluate(SCORER, DATA, filter=[]), ["mrr", "mr", "hits@3", "amri"])
    for name in ("mrr", "mr", "hits@3", "amri"):
        for table in (raw, unsaid):
            assert summarize(table, [name])[name] == pytest.approx(expected[name], rel=1e-12)
    assert summarize(filtered, ["mrr"])["mrr"] == summarize(ranked, ["mrr"])["mrr"]
    assert not any("does not say whether" in note for note in (*raw.notes, *filtered.notes))


def test_ranks_that_do_not_tell_their_setting_are_noted_or_said(tmp_path, ranked):
    raw = loaded(tmp_path, wide(ranked).drop(columns=["frank_left", "frank_right"]), setting="raw")
    assert raw.filter == ()
    assert summarize(raw, ["mrr"])["mrr"] == summarize(evaluate(SCORER, DATA, filter=[]), ["mrr"])["mrr"]
    assert not any("does not say" in note for note in raw.notes)
    row = " ".join(labels_of(DATA.test.ids[0])) + " 1"
    silent = loaded(tmp_path, ["h r t rank_left", row])
    assert silent.filter == ("train", "valid", "test")
    told = "does not say whether its ranks are filtered; they were read as filtered"
    assert any(told in note for note in silent.notes)
    with pytest.raises(TableError, match="no filtered ranks in it"):
        loaded(tmp_path, ["h r t raw_head_rank", row], setting="filtered")
    with pytest.raises(TableError, match=r"no raw ranks in it; found .* 'frank_left'"):
        loaded(tmp_path, ["h r t frank_left", row], filter=[])
    with pytest.raises(TableError, match="setting 'filtered': no split is filtered"):
        loaded(tmp_path, ["h r t frank_left", row], setting="filtered", filter=[])


def test_rows_that_match_nothing_are_left_out_and_counted(tmp_path, ranked):
    good = list(lines_of(ranked, "\t"))
    bad = ["nobody\tr00\te0001\t1\t1", "\t".join([*labels_of(DATA.train.ids[0]), "1", "1"])]
    beyond = good[0].rsplit("\t", 1)[0] + "\t31"
    no_rank = good[1].rsplit("\t", 2)[0] + "\t0\t1"
    path = tmp_path / "{ranks}.txt"
    path.write_text("\n".join([beyond, no_rank, *bad, *good[2:], good[2]]))
    with pytest.raises(TableError, match=r"line 3: the triple \(nobody, r00, e0001\).*another split or dataset"):
        load_ranks(path, DATA, columns=NAMES)
    table = load_ranks(path, DATA, columns=NAMES, unmatched="drop")
    notes = "\n".join(table.notes)
    assert f"rows of {path} that are no test triple of dataset random: 2 left out" in notes
    assert "filtered tail ranks beyond their candidates: 1 left out" in notes
    assert "filtered head ranks that are no numbers from 1: 1 left out" in notes
    assert "head ranks of triples in an earlier line: 1 left out" in notes
    assert f"{len(DATA.test)} test triples (without 2 of the split's ranks), " in str(table.provenance)
    assert len(table) == len(ranked) - 2  # the head of the first, the tail of the second remain
    kept = ranked.to_pandas().merge(table.to_pandas(), on=["triple", "side"])
    assert len(kept) == len(table)
    assert (kept.loc[kept["triple"] > 1, "greater_x"] == kept.loc[kept["triple"] > 1, "greater_y"]).all()


def test_spaces_around_a_rank_are_no_matter(tmp_path):
    row = "\t".join(labels_of(DATA.test.ids[0]))
    assert loaded(tmp_path, ["h\tr\tt\thead_rank", f"{row}\t 2 "]).column("greater").tolist() == [1]


def test_a_filter_may_be_one_word_and_must_be_a_split(tmp_path, ranked):
    line = [next(lines_of(ranked, "\t"))]
    assert loaded(tmp_path, line, columns=NAMES, filter="test").filter == ("test",)
    for option, message in (
        ({"filter": ["tset"]}, r"filter: unknown split 'tset'. Did you mean 'test'"),
        ({"unmatched": "dorp"}, r"unmatched: unknown value 'dorp'. Did you mean 'drop'"),
        ({"setting": "rwa"}, r"unknown setting 'rwa' of ranks. Did you mean 'raw'"),
    ):
        with pytest.raises(TableError, match=message):
            loaded(tmp_path, line, columns=NAMES, **option)


def test_a_graph_needs_no_train_split(tmp_path):
    folder = tmp_path / "graph"
    folder.mkdir()
    (folder / "test.txt").write_text("\n".join("\t".join(labels_of(row)) for row in DATA.test.ids.tolist()))
    row = "\t".join([*labels_of(DATA.test.ids[0]), "1"])
    table = loaded(tmp_path, ["h\tr\tt\traw_head_rank", row], folder)
    assert table.column("candidates").tolist() == [len(set(DATA.test.heads) | set(DATA.test.tails))]
    table = loaded(tmp_path, ["h\tr\tt\tfiltered_head_rank", row], folder)
    assert any("has no train or valid triples" in note for note in table.notes)
    assert table.filter == ("test",)  # as evaluate says it


def test_a_parquet_file_is_refused_with_its_reader(tmp_path, ranked):
    ranked.to_parquet(tmp_path / "ranks.parquet")
    with pytest.raises(TableError, match=r"RankTable\.from_parquet reads it"):
        load_ranks(tmp_path / "ranks.parquet", DATA)


def test_triples_that_the_split_repeats_may_be_ranked_again(tmp_path):
    test = Triples.of(np.concatenate([DATA.test.ids, DATA.test.ids[:1]]))
    data = Dataset.build("twice", {**DATA.splits, "test": test}, entities=DATA.entities, relations=DATA.relations)
    rows = ["\t".join([*labels_of(row), "1"]) for row in [test.ids[0], test.ids[0], test.ids[1]]]
    lines = ["h\tr\tt\tfiltered_head_rank", *rows]
    table = loaded(tmp_path, lines, data)
    assert len(table) == 2
    assert "head ranks of repeated test triples: 1 left out, as each triple counts once." in table.notes
    with pytest.raises(TableError, match="line 5: its head was ranked in an earlier line"):
        loaded(tmp_path, [*lines, rows[2]], data)


@pytest.mark.parametrize("path", [None, 3, b"ranks.tsv"])
def test_ranks_lie_in_a_file(path):
    with pytest.raises(TableError, match="path: expected the name of a file of ranks"):
        load_ranks(path, DATA)


NAMED = {"head": "subj", "relation": "pred", "tail": "obj", "head_rank": "filt_rank_s", "tail_rank": "Filt Rank o"}


@pytest.mark.parametrize("coded", [False, True])
def test_parquet_files_read_like_text(tmp_path, ranked, coded):
    frame = wide(ranked)
    text = loaded(tmp_path, frame)
    own = frame.astype({"frank_left": float} | (dict.fromkeys("hrt", "category") if coded else {}))
    own.to_parquet(tmp_path / "ranks.parquet")
    assert load_ranks(tmp_path / "ranks.parquet", DATA).to_pandas().equals(text.to_pandas())


@pytest.mark.parametrize("name", ["r.tsv", "r.csv", "r.parquet"])
def test_columns_are_named_by_what_they_hold(tmp_path, ranked, name):
    frame = wide(ranked)[["h", "r", "t", "frank_left", "frank_right"]]
    wanted = loaded(tmp_path, frame.rename(columns={"frank_left": "head_rank", "frank_right": "tail_rank"}))
    own = frame.set_axis(NAMED.values(), axis="columns").assign(rank=-1, other="x")
    if name.endswith("parquet"):
        own.assign(more=[[1]] * len(own)).to_parquet(tmp_path / name)
    else:
        own.to_csv(tmp_path / name, sep="\t" if name.endswith("tsv") else ",", index=False)
    spelled = ",".join(f"{what}={column}" for what, column in NAMED.items())
    for columns in (NAMED, spelled):
        assert load_ranks(tmp_path / name, DATA, columns=columns).to_pandas().equals(wanted.to_pandas())
    for columns, message in [
        (NAMED | {"tail": "object"}, "no column 'object' for the tail"),
        (NAMED | {"tail": "subj"}, "one column is named twice"),
        (NAMED | {"tial": "other"}, "no column holds 'tial'"),
        ("head=subj,obj", "'obj' has no name of a column"),
        ({"head": "subj", "tail": "obj"}, "the side of each rank must be given once"),
    ]:
        with pytest.raises(KgevalError, match=message):
            load_ranks(tmp_path / name, DATA, columns=columns)


def test_sides_of_parquet_files_may_be_coded(tmp_path, ranked):
    frame = ranked.to_pandas()
    names = {"head_label": "head", "relation_label": "relation", "tail_label": "tail", "side": "side"}
    long = frame[[*names]].rename(columns=names).assign(rank=1 + frame["greater"])
    text = loaded(tmp_path, long.astype(str))
    long.astype({"side": "category"}).to_parquet(tmp_path / "r.parquet")
    assert load_ranks(tmp_path / "r.parquet", DATA).to_pandas().equals(text.to_pandas())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"frank_left": None}, "row 1: the frank_left '(None|nan)' is not a rank"),
        ({"frank_left": "x"}, "row 1: the frank_left 'x' is not a rank"),
        ({"frank_left": 0}, "row 1: the frank_left '0' is not a rank"),
        ({"frank_left": True}, "row 1: the frank_left 'True' is not a rank"),
        ({"frank_left": [1]}, r"the column frank_left holds list<.*>, not text or numbers"),
        ({"h": None}, "row 1: the head None is an empty cell"),
        ({"h": 1.5}, "the column head holds double, not text"),
        ({"h": [1]}, r"the column head holds list<.*>, not text or numbers"),
        ({"h": 7, "r": 1, "t": 8}, "These look like ids: write labels"),
    ],
)
def test_malformed_parquet_files(tmp_path, ranked, changes, message):
    frame = wide(ranked)
    for name, value in changes.items():
        frame[name] = [value] + ([None] if value is None else [value]) * (len(frame) - 1)
        if value is None:
            frame[name] = frame[name].astype("float" if name.startswith("f") else "string")
    frame.to_parquet(tmp_path / "r.parquet")
    with pytest.raises(KgevalError, match=message):
        load_ranks(tmp_path / "r.parquet", DATA)


def test_parquet_files_have_names_and_no_order(tmp_path, ranked):
    wide(ranked).to_parquet(tmp_path / "r.parquet")
    with pytest.raises(DatasetError, match="a Parquet file has names for its columns"):
        load_ranks(tmp_path / "r.parquet", DATA, columns=NAMES)


def test_counts_of_a_file_are_read_as_they_stand(tmp_path):
    """Any tie policy can then be computed; the candidates of the file count, with or without the answer itself."""
    ranked = evaluate(lambda h, r, t: (h + t) % 3, DATA)
    frame = ranked.to_pandas()
    names = {"head_label": "head", "relation_label": "relation", "tail_label": "tail"}
    columns = [*names, "side", "greater", "tied", "candidates"]
    long = frame[columns].rename(columns=names)
    for change in ({}, {"candidates": "n_candidates"}):
        own = long.rename(columns=change)
        if change:
            own["n_candidates"] -= 1
        table = loaded(tmp_path, own.assign(filtered_rank=1 + own["greater"] + own["tied"]))
        assert not any("number of candidates" in note or "numbers of ties" in note for note in table.notes)
        for ties in ("optimistic", "pessimistic", "realistic"):
            for metric in ("mrr", "amri"):
                assert summarize(table, [metric], ties=ties)[metric] == summarize(ranked, [metric], ties=ties)[metric]
    with pytest.raises(TableError, match=r"line 2: the filtered \w+ rank \d+ is not one from \d+ to \d+"):
        loaded(tmp_path, long.assign(filtered_rank=2 + long["greater"] + long["tied"]))
    other = loaded(tmp_path, long.assign(candidates=long["candidates"] + 5))
    assert sum("have another number of candidates in the file" in note for note in other.notes) == 2
    wide_names = {"greater": "head_greater", "tied": "head_tied"}
    heads = long[long["side"] == "head"].drop(columns=["side", "candidates"]).rename(columns=wide_names)
    expected = summarize(ranked, ["mrr"], ties="optimistic")["head.mrr"]
    assert summarize(loaded(tmp_path, heads), ["mrr"], ties="optimistic")["head.mrr"] == expected


def test_a_tie_policy_that_a_file_does_not_hold_is_refused_and_none_is_claimed(tmp_path, ranked):
    table = loaded(tmp_path, wide(ranked))
    for options in ({}, {"ties": "expected"}):  # the policy of a table that has a baseline too
        summary = summarize(table, ["mrr"], **options)
        assert summary.heads[0].endswith("ties: as in the file")
        assert summary["mrr"] == summarize(ranked, ["mrr"])["mrr"]  # the ranks of the file are realistic ones
    of_both = compare({"file": table, "model": ranked}, ["mrr"], ties="expected")
    assert of_both.ties == "expected, for some models as in the file"
    assert of_both.heads[0].endswith(f"ties: {of_both.ties}")
    for options in ({"ties": "optimistic"}, {"metrics": ["pessimistic.mrr"]}):
        with pytest.raises(KgevalError, match="ranks cannot be computed, as the file of ranks has no numbers of ties"):
            summarize(table, **{"metrics": ["mrr"], **options})


def test_splits_may_be_joined_and_one_relation_named(tmp_path):
    data = Dataset.from_labels(
        train=[("a", "r", "b"), ("b", "r", "c")], valid=[("c", "r", "a")], test=[("a", "r", "c"), ("b", "r", "a")]
    )
    rows = ["head tail tail_rank", "c a 2", "a c 1", "b a 1"]
    for split in (["valid", "test"], "valid,test", "valid+test"):
        table = loaded(tmp_path, rows, data, split=split, columns="relation='r'")
        assert (table.split, summarize(table, ["mrr"])["mrr"]) == ("valid+test", pytest.approx(2.5 / 3))
    with pytest.raises(KgevalError, match=r"no column is the relation.*relation='NAME'"):
        loaded(tmp_path, rows, data)


def test_a_time_rule_is_claimed_where_it_is_said(tmp_path):
    data = Dataset.from_labels(
        train=[("a", "r", "b", "2001-01-01"), ("a", "r", "d", "2001-01-02")], test=[("a", "r", "c", "2001-01-01")]
    )
    rows = ["head relation tail date tail_rank", "a r c 2001-01-01 2"]
    silent, static = (loaded(tmp_path, rows, data, **said) for said in ({}, {"times": "static"}))
    assert (silent.times, static.times) == (None, "static")
    assert "time-aware" not in str(silent.provenance)
    assert sum("does not say whether its filter was time-aware" in note for note in silent.notes) == 1
    # of 4 entities, b is known at the query's time, and d at another one
    assert (silent.column("candidates").tolist(), static.column("candidates").tolist()) == ([3], [2])


def test_ranks_have_times_where_their_file_does_not_say_what_was_filtered(tmp_path):
    facts = [(head, "r", tail, f"2001-01-0{day}") for day in (2, 3, 4) for head, tail in (("a", "b"), ("a", "c"))]
    data = Dataset.from_labels(train=[("a", "r", "b", "2001-01-01")], test=facts[:5])
    rows = [" ".join([*fact, str(rank)]) for fact, rank in zip(facts, (1, 2, 1, 2, 1), strict=False)]
    silent = loaded(tmp_path, ["head relation tail time raw_tail_rank", *rows], data, setting="raw")
    # Three snapshots, each of which is a query here: of ranks 1 and 2, 1 and 2, and 1.
    means = summarize(silent, ["macro.mrr", "time.mrr"])
    assert [means["macro.mrr"], means["time.mrr"]] == pytest.approx([(0.75 + 0.75 + 1) / 3] * 2)
    # Of the queries of a known fact each is one snapshot after the last, but for the first of (a, r, c).
    assert annotate(silent, data, "last-time").column("last-time").tolist() == ["1", "never", "1", "1", "1"]
    with pytest.raises(KgevalError, match="slice 'time': rank tables have a column of this name"):
        Slice("time", "t", "r", "s", lambda rows, dataset: None)


@pytest.mark.parametrize("wrong", [{"history": "past"}, {"times": "now"}])
def test_an_unknown_history_or_rule_for_times_is_refused(tmp_path, wrong):
    data = Dataset.from_labels(train=[("a", "r", "b", "2001-01-01")], test=[("a", "r", "c", "2001-01-02")])
    rows = ["head relation tail date tail_rank", "a r c 2001-01-02 2"]
    (name,) = wrong
    with pytest.raises(KgevalError, match=f"{name}: unknown value '{wrong[name]}'"):
        loaded(tmp_path, rows, data, **wrong)
    timeless = Dataset.from_labels(train=[("a", "r", "b")], test=[("a", "r", "c")])
    with pytest.raises(KgevalError, match=r"history \(--history\): the triples of dataset labels have no times"):
        loaded(tmp_path, ["head relation tail tail_rank", "a r c 2"], timeless, history="train")
