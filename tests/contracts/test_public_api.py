"""The public names, the inertness of the import, and the lightness of the command line."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import types

import pytest

import kgeval

HEAVY = ["numpy", "pandas", "pyarrow", "numba", "torch", "pykeen", "scipy", "sklearn"]


def loaded_after(statement):
    code = f"import sys; {statement}; print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()


PUBLIC = {
    "kgeval": [
        *("Baseline", "CallableScorer", "CorruptionGenerator", "Dataset", "DualEncoder", "Estimate", "Family"),
        *(
            "KgevalError",
            "Metric",
            "PredictionTable",
            "Protocol",
            "QueryScorer",
            "RankTable",
            "Reader",
            "Recorder",
            "ScoreTable",
        ),
        *("ScoredLabels", "Scorer", "Slice"),
        *(
            "Summary",
            "TiePolicy",
            "Triples",
            "VectorScorer",
            "Vocabulary",
            "annotate",
            "answers",
            "check_numbers",
            "classify",
            "compare",
        ),
        *("count", "evaluate", "explain", "framework_metrics", "generate_negatives", "load_checkpoint", "load_dataset"),
        *(
            "load_ranks",
            "ogb_eval",
            "plot_critical_difference",
            "plot_distribution",
            "plot_leaderboard",
            "plot_relations",
        ),
        *("plot_slices", "plot_times", "predict"),
        *("report", "rerank", "save_checkpoint", "save_dataset", "summarize"),
    ],
    "kgeval.analysis": [
        "AnswerSets",
        "Audit",
        "Categories",
        "Comparison",
        "DatasetRanks",
        "ModelGrid",
        "SameRanks",
        "answers_of_ranks",
        "audit",
        "compare_grid",
        "rank_models",
        "same_ranks",
        "seed_differences",
    ],
    "kgeval.corruption": [
        *("AllEntities", "CandidateUnion", "CorruptionGenerator", "DegreeWeighted", "EntityList", "FileNegatives"),
        *("OGBNegatives", "PopularityWeighted", "TGBNegatives", "TypeConstrained", "Uniform"),
    ],
    "kgeval.metrics": [
        *(
            "Interval",
            "Intervals",
            "OverSeeds",
            "ScoredLabels",
            "average_precision",
            "cumulative_gain",
            "dcg",
            "f1_at_k",
        ),
        *("hits_at_k", "interval_over_seeds", "mean_reciprocal_rank", "ndcg", "precision_at_k", "recall_at_k", "rmse"),
    ],
    "kgeval.pykeen": ["KGEvalEvaluator", "KGEvalMetricResults", "evaluate", "scorer_of"],
    "kgeval.tasks": ["Classification", "Confidences", "GeneratedNegatives", "LabelTable", "NegativesFromFiles"],
}


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_these_and_no_others(module):
    home = importlib.import_module(module)
    assert list(home.__all__) == PUBLIC[module] == sorted(PUBLIC[module])
    assert all(getattr(home, name) is not None for name in home.__all__)
    assert set(home.__all__) <= set(dir(home))


def test_public_submodules_need_no_import_of_their_own():
    code = "import kgeval; print(kgeval.corruption.Uniform, kgeval.metrics.ndcg, kgeval.tasks.LabelTable)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "kgeval.ranking.corruption.drawn.Uniform" in found


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        kgeval.evalute  # noqa: B018


@pytest.mark.parametrize(
    "statement", ["import kgeval", "from kgeval.cli import main; main(['--help'], standalone_mode=False)"]
)
def test_nothing_heavy_is_imported_before_it_is_needed(statement):
    assert loaded_after(statement) == []


def test_a_checkpoint_is_evaluated_without_pykeen(tmp_path):
    (tmp_path / "train.txt").write_text("a\tlikes\tb\n")
    (tmp_path / "test.txt").write_text("b\tlikes\ta\n")
    file = str(tmp_path / "m.npz")
    code = (
        f"import numpy as np, kgeval; np.savez({file!r}, entity=np.eye(2), relation=np.ones((1, 2))); "
        f"data = kgeval.load_dataset({str(tmp_path)!r}); "
        f"model = kgeval.load_checkpoint({file!r}, model='DistMult', ids='dataset'); "
        "assert len(kgeval.evaluate(model, data)) == 2"
    )
    assert "pykeen" not in loaded_after(code)


def test_metrics_of_stored_ranks_need_neither_torch_nor_pykeen_nor_numba():
    loaded = loaded_after("from kgeval import RankTable, compare, load_checkpoint, load_dataset, evaluate, summarize")
    assert not {"torch", "pykeen", "numba"} & set(loaded)


@pytest.mark.parametrize("room", ["kgeval", "kgeval.analysis", "kgeval.corruption", "kgeval.metrics", "kgeval.tasks"])
def test_public_names_and_their_methods_are_described(room):
    module = importlib.import_module(room)
    members = {name: getattr(module, name) for name in module.__all__}
    for name, member in [*members.items()]:
        if inspect.isclass(member):
            fields = getattr(member, "__dataclass_fields__", {})
            kinds = (property, classmethod, staticmethod, types.FunctionType)
            own = {key: it for key, it in vars(member).items() if isinstance(it, kinds) and key not in fields}
            members |= {f"{name}.{key}": getattr(member, key) for key in own if not key.startswith("_")}
    assert not [name for name, member in members.items() if not inspect.getdoc(member)]
