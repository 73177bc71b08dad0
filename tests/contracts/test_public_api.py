"""The public names, the inertness of the import, and the lightness of the command line."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import types
from functools import cached_property

import pytest

import kgeval
from kgeval.base.settings import descriptions

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
        "SameRanks",
        "answers_of_ranks",
        "audit",
        "rank_models",
        "same_ranks",
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
        *("hits_at_k", "interval_over_seeds", "mae", "mean_reciprocal_rank", "mse", "ndcg", "precision_at_k"),
        *("recall_at_k", "rmse"),
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


SUBMODULES = {"analysis", "corruption", "errors", "metrics", "pykeen", "tasks"}

RETURNED = [
    *("analysis.answer_sets.answer_sets.SetGroup", "analysis.comparison.block.Block", "data.provenance.Provenance"),
    *("analysis.comparison.paired_difference.PairedDifference", "metrics.summary.Group", "reports.page.Report"),
    *("models.baselines.FittedBaseline", "models.checkpoints.checkpoint.Checkpoint", "ranking.count.RankCounts"),
    *("ranking.protocols.explain.Explanation", "ranking.protocols.number_check.NumberCheck"),
    *("ranking.protocols.explain.ProtocolExplanation", "ranking.protocols.report.FrameworkMetrics"),
]
"""classes of what public functions and methods return, which have no public name"""


def shown(names):
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("module", PUBLIC)
def test_completion_of_a_module_shows_the_public_names_alone(module):
    home = importlib.import_module(module)
    assert shown(dir(home)) == {*home.__all__, *(SUBMODULES if home is kgeval else ())}


def test_completion_of_the_errors_shows_exceptions_alone():
    assert "MetricError" in dir(kgeval.errors)
    assert all(issubclass(getattr(kgeval.errors, name), BaseException) for name in shown(dir(kgeval.errors)))


def classes():
    """The public classes, and those of returned objects, by name."""
    names = [f"{module}.{name}" for module in PUBLIC for name in importlib.import_module(module).__all__]
    found = {}
    for name in [*names, *(f"kgeval.{name}" for name in RETURNED)]:
        module, _, last = name.rpartition(".")
        member = getattr(importlib.import_module(module), last)
        found |= {name: member} if inspect.isclass(member) else {}
    return found


def described(kind):
    """The names of a class that have a description, are in its signature, or come from another library."""
    names = {*descriptions(kind), *inspect.signature(kind.__init__).parameters, *getattr(kind, "_fields", ())}
    for part in kind.__mro__:
        ours = part.__module__.startswith("kgeval.")
        names |= {name for name, it in vars(part).items() if not ours or (callable(it) and it.__doc__)}
        kinds = property | classmethod | cached_property
        names |= {name for name, it in vars(part).items() if isinstance(it, kinds) and it.__doc__}
    return names


def test_completion_of_an_object_shows_described_names_alone():
    names = {name: shown({*dir(kind), *getattr(kind, "__annotations__", ())}) for name, kind in classes().items()}
    undescribed = {name: names[name] - described(kind) for name, kind in classes().items()}
    assert {name: missing for name, missing in undescribed.items() if missing} == {}
    assert not [name for name in set().union(*names.values()) if name.isupper()]  # constants of a class


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
