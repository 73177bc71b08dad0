"""Checkpoints that the real frameworks trained and saved: their own ranks, triple by triple, from their files alone."""

from __future__ import annotations

import itertools
import json
import re
import shutil

import numpy as np
import pytest

from kgeval import evaluate, explain, framework_metrics, load_checkpoint, load_dataset, save_checkpoint, summarize
from kgeval.metrics.names import parse
from kgeval.models.checkpoints.readers import formats
from kgeval.ranking.protocols.number_check import check_numbers
from kgeval.ranking.protocols.protocol import find_protocol
from tests.models.checkpoints.conftest import same_tables
from tests.models.checkpoints.frameworks import (
    ALL,
    ELSEWHERE,
    ENCODED,
    FOLDERS,
    LABELS,
    UNFILTERED,
    VARIANTS,
    expected_ranks,
    folder_of,
    options_of,
)

TIES = {"libkge": 0.5, "openke": 0.0, "pyg": 0.5, "pykeen": 0.5, "rotate": 0.5, "transx": 0.5, "tucker": 0.5}
"""the share of its ties that a rank counts; in all other frameworks it is the worst rank"""

DIFFERENT = {
    # Scores within rtol 1e-4 and atol 1e-5 of the answer's are ties, and half of them, rounded up, count.
    **{("libkge", name): 1 for name in ("complex", "conve", "cp", "rescal", "transe-l1")},
    **{("libkge", name): 2 for name in ("distmult", "rotate")},
    ("libkge", "transe-l2"): 10,
    # Scores are truncated to thousandths, which makes ties.
    ("ampligraph", "TransE"): 2,
    ("ampligraph", "DistMult"): 3,
    ("ampligraph", "HolE"): 1,
    ("ampligraph", "RotatE"): 3,
    # The tokens OOV and "" compete with the answers.
    ("conve", "ConvE"): 5,
    ("conve", "DistMult"): 20,
    ("conve", "ComplEx"): 9,
    # Tail candidates are scored with the transposed matrix, or with the opposite sign of the relation.
    ("dglke", "RESCAL"): 407,
    ("dglke", "TransR"): 365,
    # Ranked upside down: the most plausible answer is the last.
    ("openke", "rescal-margin"): 1322,
}
"""how many filtered ranks the framework's own rule makes others than the standard rule does"""

COUNT_THEMSELVES = {"dglke", "marius"}
"""frameworks whose raw ranks count the answer itself, unless float32 makes its score as a candidate the smaller one"""

AT_THE_EDGE = {
    ("libkge", "transe-l1"): {("fully_formed_anatomical_structure", "part_of", "archaeon", "tail"): (12.0, 11.0)},
}
"""raw ranks where float32 takes a candidate to the other side of the tolerance: (by the rule, by the framework)"""

ROUNDED = {"marius", "transx"}
"""frameworks whose printed digits are all that is known"""

FLOAT64 = 4e-15
"""how far apart means may be whose values were added in another order"""

LOGARITHMS = {"pykeen": r".*\.(z|adjusted)_geometric_mean_rank.*"}
"""metrics whose variance PyKEEN takes as the small difference of two sums of logarithms"""

CANCELLED = 1e-9
"""how far apart those may be"""

FLOAT32 = {
    "kbc": r"MRR.*",
    "libkge": r"mean_reciprocal_rank.*",
    "pbg": r"mrr",
    "pyg": r"m.*",
    "pykeen": r".*\.realistic\.(?!hits_at|count|median_rank).*",
    "torchkge": r"m.*",
}
"""the metrics that a framework computes in float32, in an order of its own; all others are the same in float64"""

NOISE = 2.5e-7
"""how far those may be apart, relatively: four units in the last place of float32"""


# What the frameworks printed of their checkpoints, under the names that a printout gives the same numbers

PROTOCOLS = {"transx": "kb2e"}
"""the protocol of a framework whose checkpoints are kept under another name"""

WITHOUT_COUNTERPART = {"loss", "auc", "count", "edges evaluated", "mean_reciprocal_rank_filtered_with_test"}
"""what is no function of the ranks, or was not computed"""


def printed_by(framework, folder):
    """Read the metrics of the framework's own evaluator from ``expected.json``."""
    metrics = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["metrics"]
    return {name: value for name, value in _READ[framework](metrics).items() if name not in WITHOUT_COUNTERPART}


def _torchkge(metrics):
    pairs = {name: value for name, value in metrics.items() if isinstance(value, dict)}
    return {f"{name}, {setting}": value[setting] for name, value in pairs.items() for setting in ("raw", "filtered")}


def _openke(metrics):
    (table,) = (part["table"] for part in metrics["printed"] if part["results"] == "no type constraint")
    return {f"{row} {name}": value for row, cells in table.items() for name, value in cells.items()}


def _kbc(metrics):
    sides, both = metrics["dataset.eval(test)"], metrics["avg_both"]
    means = {"": (both["MRR"], both["hits@[1,3,10]"])}
    means |= {f" {side}": (sides["MRR"][side], sides["hits@[1,3,10]"][side]) for side in ("rhs", "lhs")}
    values = {}
    for part, (mrr, hits) in means.items():
        values |= {f"MRR{part}": mrr, **{f"hits@{k}{part}": hit for k, hit in zip((1, 3, 10), hits, strict=True)}}
    return values


def _pyg(metrics):
    (printed,) = metrics.values()
    return {name.removesuffix(" (0-based)"): value for name, value in printed.items()}


def _transx(metrics):
    (printed,) = metrics.values()
    return {f"{side} {name}": value for side, values in printed.items() for name, value in values.items()}


_READ = {
    "ampligraph": lambda metrics: metrics["filtered worst (default strategy)"],
    "conve": lambda metrics: metrics["ranking_and_hits(test), all 661 test triples (--test-batch-size 661)"],
    "dglke": lambda metrics: metrics["dglke_eval filtered"],
    "kbc": _kbc,
    "libkge": lambda metrics: metrics,
    "marius": lambda metrics: metrics["marius_eval filtered"],
    "openke": _openke,
    "pbg": lambda metrics: metrics["filtered"],
    "pyg": _pyg,
    "pykeen": lambda metrics: metrics,
    "rotate": lambda metrics: metrics["filtered"],
    "torchkge": _torchkge,
    "transx": _transx,
    "tucker": lambda metrics: metrics["evaluate(test)"],
}


@pytest.fixture(scope="module")
def loaded(shared, umls):
    """Read each checkpoint once."""
    kept = {}

    def load(framework, variant):
        if (framework, variant) not in kept:
            folder = folder_of(shared, framework, variant)
            checkpoint = load_checkpoint(folder, dataset=umls, **options_of(shared, framework, variant))
            kept[framework, variant] = checkpoint, evaluate(checkpoint, umls)
        return kept[framework, variant]

    return load


def ranks(table, ties):
    """Map (head, relation, tail, side) to the raw and the filtered rank."""
    frame = table.to_pandas()
    keys = zip(frame.head_label, frame.relation_label, frame.tail_label, frame.side, strict=True)
    raw = 1 + frame.raw_greater + ties * frame.raw_tied
    filtered = 1 + frame.greater + ties * frame.tied
    return dict(zip(keys, zip(raw, filtered, strict=True), strict=True))


def test_every_folder_is_tested(shared):
    folders = {
        (path.parent.name, path.name.removeprefix("umls-"))
        for path in (shared / "checkpoints").glob("*/*")
        if path.is_dir() and path.name != "_data"
    }
    expected = {*ALL, *ENCODED, *ELSEWHERE}
    assert folders == {(FOLDERS.get(framework, framework), variant) for framework, variant in expected}


@pytest.mark.parametrize(("framework", "variant"), ALL)
def test_every_filtered_rank_is_the_frameworks(shared, loaded, framework, variant):
    found = ranks(loaded(framework, variant)[1], TIES.get(framework, 1.0))
    expected = expected_ranks(folder_of(shared, framework, variant))
    different = [key for key in expected if found[key][1] != expected[key][1]]
    assert len(different) == DIFFERENT.get((framework, variant), 0)


# Under the framework's own protocol


@pytest.fixture(scope="module")
def by_its_own_rules(umls, loaded):
    """Evaluate each checkpoint once by the rules of its framework."""
    kept = {}

    def ranked(framework, variant):
        if (framework, variant) not in kept:
            checkpoint, name = loaded(framework, variant)[0], PROTOCOLS.get(framework, framework)
            kept[framework, variant] = evaluate(checkpoint, umls, protocol=name, sides=("head", "tail"))  # pyg: tails
        return kept[framework, variant]

    return ranked


def protocol_ranks(table):
    """Map (head, relation, tail, side) to the raw and the filtered rank of the table's protocol."""
    frame, rules = table.to_pandas(), find_protocol(table.protocol)
    keys = zip(frame.head_label, frame.relation_label, frame.tail_label, frame.side, strict=True)
    return dict(zip(keys, zip(rules.ranks(table, "raw"), rules.ranks(table), strict=True), strict=True))


@pytest.mark.parametrize(("framework", "variant"), [case for case in ALL if case[0] not in UNFILTERED])
def test_the_protocol_gives_every_filtered_rank(shared, by_its_own_rules, framework, variant):
    found = protocol_ranks(by_its_own_rules(framework, variant))
    expected = expected_ranks(folder_of(shared, framework, variant))
    assert {key: rank for key, (_, rank) in found.items()} == {key: rank for key, (_, rank) in expected.items()}


@pytest.mark.parametrize(("framework", "variant"), [case for case in ALL if case[0] not in COUNT_THEMSELVES])
def test_the_protocol_gives_every_raw_rank(shared, by_its_own_rules, framework, variant):
    found = protocol_ranks(by_its_own_rules(framework, variant))
    expected = expected_ranks(folder_of(shared, framework, variant))
    different = {key: (found[key][0], rank) for key, (rank, _) in expected.items() if found[key][0] != rank}
    assert different == AT_THE_EDGE.get((framework, variant), {})


@pytest.mark.parametrize(("framework", "variant"), [case for case in ALL if case[0] in COUNT_THEMSELVES])
def test_raw_ranks_count_the_answer_itself_or_not(shared, by_its_own_rules, framework, variant):
    found = protocol_ranks(by_its_own_rules(framework, variant))
    expected = expected_ranks(folder_of(shared, framework, variant))
    assert {found[key][0] - rank for key, (rank, _) in expected.items()} <= {0, 1}


@pytest.mark.parametrize("strategy", ["best", "middle"])
@pytest.mark.parametrize("variant", VARIANTS["ampligraph"].split())
def test_ampligraphs_other_strategies_give_ranks_below_the_first(shared, loaded, umls, variant, strategy):
    table = evaluate(loaded("ampligraph", variant)[0], umls, protocol=f"ampligraph-{strategy}")
    folder = folder_of(shared, "ampligraph", variant)
    assert protocol_ranks(table) == expected_ranks(folder, f"expected_ranks_{strategy}.tsv")
    told = json.loads((folder / "expected.json").read_text())["metrics"][f"filtered {strategy}"]
    printed = framework_metrics(table)
    assert printed.values == told.get("metrics", told)
    assert printed["mrr_score"] == np.inf
    assert any("ranks are below 1" in note for note in printed.notes)


# What the framework prints


@pytest.mark.parametrize(("framework", "variant"), [case for case in ALL if case[0] != "openke"])
def test_the_printout_is_the_frameworks(shared, by_its_own_rules, framework, variant):
    printed = framework_metrics(by_its_own_rules(framework, variant))
    expected = printed_by(framework, folder_of(shared, framework, variant))
    if (framework, variant) in AT_THE_EDGE:  # one raw rank of a tail is another
        expected = {name: value for name, value in expected.items() if "filtered" in name or "head" in name}
    assert expected.keys() <= printed.values.keys()
    for name, value in expected.items():
        bound = CANCELLED if re.fullmatch(LOGARITHMS.get(framework, ""), name) else FLOAT64
        bound = NOISE if re.fullmatch(FLOAT32.get(framework, ""), name) else bound
        found = float(printed.texts[name]) if framework in ROUNDED else printed[name]
        assert found == pytest.approx(value, rel=bound, abs=0), name


@pytest.mark.parametrize(("framework", "variant"), ALL)
def test_a_printed_number_names_its_framework(shared, loaded, by_its_own_rules, framework, variant):
    """Of ranks by its rules always; of standard ranks where these are the same, and else no other one alone."""
    printed, protocol = (
        printed_by(framework, folder_of(shared, framework, variant)),
        PROTOCOLS.get(framework, framework),
    )
    numbers = {}
    filtered = [one for one in find_protocol(protocol).framework_metrics if one.setting == "filtered"]
    for metric in (one for one in filtered if one.name in printed):
        name, value = parse(metric.metric), printed[metric.name]
        if name.name in ("mrr", "mr") and name.ties in (None, "realistic"):
            side = "" if metric.side == "both" else f"{metric.side}."
            at_the_edge = abs(value * 1e4 % 1 - 0.5) < 0.02  # where float32 decides to which digit it is rounded
            numbers[side + name.name] = f"{value:.{3 if at_the_edge else 4}f}"
    check = check_numbers({protocol: by_its_own_rules(framework, variant)}, numbers)
    assert check.matches[0].protocols == (protocol,)
    of_standard = {one for it in check_numbers(loaded(framework, variant)[1], numbers).matches for one in it.protocols}
    if (framework, variant) not in DIFFERENT:
        assert protocol in of_standard
    else:
        assert len(of_standard) != 1 or protocol in of_standard


@pytest.mark.parametrize("variant", VARIANTS["openke"].split())
def test_openke_prints_sums_in_the_order_of_its_ids(shared, variant):
    data = load_dataset(shared / LABELS["openke"])
    folder = folder_of(shared, "openke", variant)
    checkpoint = load_checkpoint(folder, dataset=data, **options_of(shared, "openke", variant))
    texts = framework_metrics(evaluate(checkpoint, data, protocol="openke")).texts
    assert {name: float(text) for name, text in texts.items()} == printed_by("openke", folder)


@pytest.mark.parametrize("variant", VARIANTS["conve"].split())
def test_the_conve_code_leaves_out_its_last_batch(shared, loaded, umls, variant):
    table = evaluate(loaded("conve", variant)[0], umls, protocol="conve-128")
    metrics = json.loads((folder_of(shared, "conve", variant) / "expected.json").read_text())["metrics"]
    (expected,) = (part for name, part in metrics.items() if "only the first 640 triples" in name)
    assert framework_metrics(table).values == pytest.approx(expected, rel=FLOAT64, abs=0)
    assert "not ranked: the last 21 test triples fill no batch of 128." in table.notes


FAULTS = {
    ("dglke", "RESCAL"): "tail candidates",
    ("dglke", "TransR"): "tail candidates",
    ("openke", "rescal-margin"): "sign",
    ("conve", "DistMult"): "tokens",
    ("ampligraph", "RotatE"): "tolerance",
    ("pyg", "transe-p1"): "filter",
}


@pytest.mark.parametrize(("framework", "variant"), FAULTS)
def test_explain_names_the_fault(loaded, by_its_own_rules, umls, framework, variant):
    name = PROTOCOLS.get(framework, framework)
    told = explain(loaded(framework, variant)[0], umls, [name])
    row = told[name]
    table = by_its_own_rules(framework, variant)
    ranks = find_protocol(name).ranks(table)[np.isin(table.column("side").astype(str), find_protocol(name).sides)]
    assert row.value == pytest.approx(np.mean(1 / ranks), rel=1e-6)  # OpenKE adds up in one float32
    assert told.standard + sum(row.causes.values()) == pytest.approx(row.value, rel=FLOAT64)
    assert FAULTS[framework, variant] in told.causes
    assert max(row.causes, key=lambda cause: abs(row.causes[cause])) in {FAULTS[framework, variant], "ties"}


# What all of them have in common


SINGLE = {"conve", "kbc", "libkge", "openke", "pyg", "pykeen", "rotate", "torchkge", "tucker"}
"""frameworks that keep a model in one file"""


@pytest.mark.parametrize(("framework", "variant"), ALL)
def test_a_checkpoint_is_recognised_by_its_framework_alone(loaded, shared, framework, variant):
    """Its folder is, and its own file where it has one."""
    files = loaded(framework, variant)[0].files[:1] if framework in SINGLE else ()
    for path in (folder_of(shared, framework, variant), *files):
        assert [name for name, reader in formats().items() if reader.recognises(path)] == [framework]


@pytest.mark.parametrize(("framework", "variant"), ALL)
def test_the_native_format_keeps_every_integer(tmp_path, loaded, by_its_own_rules, umls, framework, variant):
    checkpoint, table = loaded(framework, variant)
    save_checkpoint(checkpoint, tmp_path / "m.safetensors")
    again = load_checkpoint(tmp_path / "m.safetensors", dataset=umls)
    assert same_tables(evaluate(again, umls), table)
    own = by_its_own_rules(framework, variant)
    assert same_tables(evaluate(again, umls, protocol=own.protocol, sides=("head", "tail")), own)
    assert again.describe()["model"] == checkpoint.describe()["model"]


ARRAYS_ALONE = {
    **{("rotate", variant): "checkpoint" for variant in VARIANTS["rotate"].split()},
    **{("dglke", variant): "config.json" for variant in ("TransR", "ComplEx", "RotatE", "TransE_l1")},
}
"""models that are read without this file too"""


@pytest.mark.parametrize(("framework", "variant"), ARRAYS_ALONE)
def test_the_arrays_that_a_framework_writes_are_the_model(tmp_path, shared, umls, loaded, framework, variant):
    folder = shutil.copytree(folder_of(shared, framework, variant), tmp_path / "m")
    (folder / ARRAYS_ALONE[framework, variant]).unlink()
    options = {"gamma": 9.0} if (framework, variant) == ("dglke", "RotatE") else {}
    assert same_tables(evaluate(load_checkpoint(folder, dataset=umls, **options), umls), loaded(framework, variant)[1])


ORIGINS = {
    ("conve", "ConvE"): {"height": "embedding_shape1 (option)"},
    ("dglke", "RotatE"): {"norm": "the code of DGL-KE", "gamma": "config.json", "hidden_dim": "config.json"},
    ("dglke", "TransE_l1"): {"norm": "model_name (config.json)"},
    ("libkge", "conve"): {"height": "2D_aspect_ratio (the config in checkpoint_best.pt)"},
    ("openke", "rotate"): {"norm": "the code of OpenKE", "rel_embedding_range": "rotate.ckpt"},
    ("openke", "transd"): {"norm": "p_norm (option)", "normalization": "the code of OpenKE"},
}
"""for some frameworks: each option, and the file or code that gave its value; the frozen contracts hold the others"""


@pytest.mark.parametrize(("framework", "variant"), ALL)
def test_reading_says_what_was_taken_from_where(shared, loaded, framework, variant):
    described = loaded(framework, variant)[0].describe()
    assert described["format"] == framework
    assert (described["entities"] - 2 * (framework == "conve"), described["relations"]) == (135, 46)
    given = options_of(shared, framework, variant)
    assert {name for name, origin in described["origins"].items() if origin == "option"} == given.keys()
    assert all(described["origins"].values())
    assert described["options"].keys() <= described["origins"].keys()
    assert ORIGINS.get((framework, variant), {}).items() <= described["origins"].items()
    json.dumps(described)
    if framework == "pykeen":
        told = json.loads((folder_of(shared, framework, variant) / "expected.json").read_text())
        assert (described["model"], described["reciprocal"]) == (told["model"], variant in {"complex-inverse", "conve"})
        names = [path.rpartition("/")[2] for path in described["files"]]
        assert names == ["trained_model.pkl", "entity_to_id.tsv.gz", "relation_to_id.tsv.gz"]


# Models of PyKEEN's paper on ranking metrics, in the layout of pickles from before PyKEEN 1.8

RENAMED = {
    "mr": "arithmetic_mean_rank",
    "mrr": "inverse_harmonic_mean_rank",
    **{f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 5, 10)},
}


@pytest.mark.parametrize("model", ["complex", "rotate", "transe", "tucker"])
def test_published_metrics_are_met(shared, nations, model):
    folder = shared / f"checkpoints/pykeen-nations-{model}"
    table, expected = evaluate(folder, nations), json.loads((folder / "results.json").read_text())
    for side, ties in itertools.product(["head", "tail", "both"], ["optimistic", "realistic", "pessimistic"]):
        summary = summarize(table, list(RENAMED), ties=ties)
        for name, theirs in RENAMED.items():  # they were computed in float32
            assert summary[f"{side}.{name}"] == pytest.approx(expected[side][ties][theirs], abs=1e-6)
