"""The evaluator ``"kgeval"`` of PyKEEN, with kgeval's ranks; and ``evaluate``, which ranks a live model.

PyKEEN calls ``KGEvalEvaluator`` in its pipeline, its early stopper and its training callbacks: in go a model and
triples of ids, out come metrics under PyKEEN's keys. Users call ``evaluate``, which returns the table of ranks.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pykeen.evaluation import RankBasedEvaluator
from tqdm.auto import tqdm
from typing_extensions import Unpack

from kgeval.base.errors import InputError, refuse_unknown, visible
from kgeval.base.progress import Progress
from kgeval.base.settings import takes
from kgeval.data.dataset import Dataset
from kgeval.data.leaks import count_leaks
from kgeval.data.loading import as_dataset
from kgeval.data.vocabulary import Labels
from kgeval.metrics.names import parse
from kgeval.metrics.selection import DEFAULT_OPTIONS
from kgeval.models.adapters.live_models import PyKEENScorer, is_pykeen_model, labels_of_pykeen, mode_of_pykeen
from kgeval.models.alignment import align
from kgeval.pykeen.request import EVALUATED, Batches, KnownGraph, Request
from kgeval.pykeen.results import KGEvalMetricResults, is_pykeen_metric, rank_packs, record
from kgeval.pykeen.scoring import PerSideScorer, device_for, scorer_of
from kgeval.ranking.corruption import AllEntities
from kgeval.ranking.evaluation import Evaluation, EvaluationKeywords
from kgeval.ranking.model_ranking import ranking_of
from kgeval.ranking.protocols.protocol import Protocol, find_protocol
from kgeval.ranking.protocols.sampled_ranking import rank_all_or_sample
from kgeval.ranking.rank_table import RankTable

LOGGER = logging.getLogger(__name__)

_LOGGED_LEAKS: set[str] = set()
"""notes on leaked triples that were logged: each trial of a search for hyperparameters would log them again"""

PYKEEN_OPTIONS = ("metrics_kwargs", "add_defaults", "clear_on_finalize", "batch_size", "slice_size", "mode")
"""the options of PyKEEN's own evaluator"""

KGEVAL_OPTIONS = ("corruption", "nan", "memory_limit", "threads", "kernel", "device", "estimate")
"""the settings of a kgeval evaluation that PyKEEN lacks"""

REPORTED = ("expected.mrr", "macro.mrr", "map", "auc")
"""kgeval's metrics that are reported besides PyKEEN's"""


class KGEvalEvaluator(RankBasedEvaluator):  # type: ignore[misc]  # PyKEEN is untyped here
    """PyKEEN's rank-based evaluator, with kgeval's ranks.

    It reports what ``RankBasedEvaluator`` reports, under the same keys and by PyKEEN's own metric classes, and a few
    metrics of kgeval; the results compute any other by name. The values are the same, except where PyKEEN

    * compares float32 scores whose rounding depends on the batch (kgeval: float64, independent of the batch);
    * gives NaN scores rank 0.5, so an MRR of up to 2.0 (kgeval refuses them, naming triple and candidate);
    * does not count candidates of infinite score in the expectations of adjusted metrics (kgeval does);
    * always raises where ``filtered=False`` (kgeval gives raw ranks).

    PyKEEN's keys ``z_hits_at_k`` and ``adjusted_hits_at_k`` hold k = 10 alone; kgeval has ``z-hits@3`` and ``ahits@3``.

    A corruption that learns from train (``typed``, ``popular``, ``degree``) uses the first of the filter triples as
    train and the others as valid, the order of PyKEEN's pipeline and early stopper; test is what is evaluated.
    PyKEEN passes ids without labels, so the entities in a file of negatives or types are its ids.

    PyKEEN does not pass the names of dataset and splits either. kgeval finds them by comparing triples with ``dataset``
    or PyKEEN's own datasets; the ranks then have labels, and can be compared with other evaluations. Otherwise the
    dataset is "unknown", the split "evaluated", and the filter is the number of triples that PyKEEN passed.

    Notes on the ranks are logged as warnings, once each, and kept in ``table.notes``.

    Parameters
    ----------
    filtered
        whether other known answers are filtered
    metrics
        further metrics, by PyKEEN's names or kgeval's
    result_directory
        the run directory (ranks, metrics, manifest); each evaluation replaces it
    dataset
        the dataset of the pipeline, as :func:`kgeval.load_dataset` takes it; by default found among PyKEEN's own
    inference
        for an inductive model, the triples factory of the inference graph. Its triples replace the first triples of
        the filter, because PyKEEN passes the triples of the training graph there, which has other entities
    options
        PyKEEN's (``add_defaults``, ``metrics_kwargs``, ``clear_on_finalize``, ``batch_size``, ``slice_size``, ``mode``)
        and kgeval's (``corruption``, ``nan``, ``memory_limit``, ``threads``, ``kernel``, ``device``, ``estimate``), as
        in :func:`kgeval.evaluate`. With an estimate, every evaluation ranks a sample, in the same order of triples;
        the values are estimates, and metrics without an estimator are left out

    Raises
    ------
    InputError
        if an option, its value or the dataset is unknown; or if a corruption that learns from train is used with
        ``filtered=False``, for which PyKEEN's pipeline passes no train triples

    Examples
    --------
    >>> KGEvalEvaluator(metrics=["ndcg@10"], corruption={"kind": "uniform", "count": 50}).evaluation.corruption.count
    50
    >>> KGEvalEvaluator(corupption="all")
    Traceback (most recent call last):
    kgeval.base.errors.InputError: the evaluator has no option 'corupption'. Did you mean 'corruption'?
    """

    metric_result_cls = KGEvalMetricResults

    def __init__(
        self,
        filtered: bool = True,  # noqa: FBT001, FBT002  # PyKEEN's signature
        metrics: str | Sequence[Any] | None = None,
        *,
        result_directory: str | Path | None = None,
        dataset: Any = None,
        inference: Any = None,
        **options: Any,
    ) -> None:
        known = [*PYKEEN_OPTIONS, *KGEVAL_OPTIONS]
        for name in options:
            refuse_unknown("the evaluator has no option", name, known)
        if not isinstance(filtered, bool):
            raise InputError(f"filtered is True or False, found {filtered!r}.")
        names = [metrics] if isinstance(metrics, str) or not isinstance(metrics, Sequence) else list(metrics)
        kgeval_metrics = [name for name in names if isinstance(name, str) and not is_pykeen_metric(name)]
        pykeen_metrics = [name for name in names if name is not None and name not in kgeval_metrics]
        pykeen_options = {name: options[name] for name in PYKEEN_OPTIONS if name in options}
        kwargs = pykeen_options.get("metrics_kwargs")
        if kgeval_metrics and isinstance(kwargs, Sequence) and len(kwargs) == len(names):
            pairs = zip(names, kwargs, strict=True)
            pykeen_options["metrics_kwargs"] = [keywords for name, keywords in pairs if name in pykeen_metrics]
        super().__init__(filtered, pykeen_metrics or None, **pykeen_options)
        for name in kgeval_metrics:
            parse(name)
        self.own = (*kgeval_metrics, *(REPORTED if options.get("add_defaults", True) else ()))
        settings = {name: options[name] for name in (*KGEVAL_OPTIONS, "batch_size") if name in options}
        self.evaluation = Evaluation(**settings, filter=("train", "valid", "test") if filtered else ())
        if not filtered:
            self._require_train_triples()
        for file in self.evaluation.corruption.files:
            if not file.is_file():
                raise InputError(f"{file}: no such file, but the corruption is read from it.")
        self.dataset = None if dataset is None else as_dataset(dataset)
        self.result_directory = None if result_directory is None else Path(result_directory)
        self._given = dataset
        self.inference = inference
        self.table: RankTable | None = None
        """the ranks of the last evaluation"""
        self._batches = Batches()
        self._logged = {*_LOGGED_LEAKS}

    def evaluate(  # noqa: PLR0913, PLR0917  # PyKEEN's signature
        self,
        model: Any,
        mapped_triples: Any,
        batch_size: int | None = None,
        slice_size: int | None = None,
        device: Any = None,
        use_tqdm: bool = True,  # noqa: FBT001, FBT002
        tqdm_kwargs: Mapping[str, Any] | None = None,
        restrict_entities_to: Collection[int] | None = None,
        restrict_relations_to: Collection[int] | None = None,
        do_time_consuming_checks: bool = True,  # noqa: FBT001, FBT002
        additional_filter_triples: Any = None,
        pre_filtered_triples: bool = True,  # noqa: FBT001, FBT002
        targets: Collection[str] = ("head", "tail"),
    ) -> KGEvalMetricResults:
        """Rank the triples with kgeval, and compute the metrics; parameters are those of PyKEEN's ``Evaluator``.

        ``slice_size`` and, for models that are scored as vectors, ``batch_size`` are not used: free memory decides.

        Raises
        ------
        InputError
            if triples have ids outside the restriction or the model, or are not those of the evaluator's dataset
        ScoreError
            if a score is NaN, with the triple and the candidate
        """
        request = Request.of(
            mapped_triples,
            additional_filter_triples if self.filtered else (),
            targets=targets,
            entities=restrict_entities_to,
            relations=restrict_relations_to,
            cut=not pre_filtered_triples,
            inference=self.inference if self.filtered else None,
        )
        if not request.known:
            self._require_train_triples()
        if device is not None:
            model = model.to(device)
        scorer = scorer_of(model, mode=self.mode, sides=request.sides)
        dataset = request.dataset(scorer.num_entities, scorer.num_relations, mode=self.mode)
        graph = KnownGraph.of(request, self.dataset, dataset, filtered=self.filtered)
        size = self.batch_size if batch_size is None else batch_size
        place = device_for(model, device=self.evaluation.device, kernel=self.evaluation.kernel)
        of_request = {"sides": request.sides, "batch_size": size, "device": place}
        evaluation = Evaluation(**{**dict(self.evaluation), **of_request})
        if not isinstance(scorer, PyKEENScorer | PerSideScorer):
            evaluation = evaluation.model_copy(update={"batch_size": None})
        total = len(dataset.test) * len(request.sides) if evaluation.estimate is None else None
        shown = {"desc": "Ranking", "total": total, "unit": "rank", "unit_scale": True, "disable": not use_tqdm}
        with tqdm(**{**shown, **(tqdm_kwargs or {})}) as bar:
            # PyKEEN passes the ids of the model itself.
            aligned = align(scorer, dataset, entities=dataset.entities, relations=dataset.relations)
            ranking = ranking_of(
                aligned, dataset, evaluation, progress=bar.update, restrict_entities_to=request.entities
            )
            table = rank_all_or_sample(ranking, title=type(model).__name__, options=DEFAULT_OPTIONS)
        results = self._results(graph.label(table), evaluation, model, graph.dataset)
        _LOGGED_LEAKS.update(count_leaks(dataset, "test", table.column("triple"))[1])
        return results

    def process_scores_(
        self, hrt_batch: Any, target: str, scores: Any, true_scores: Any = None, dense_positive_mask: Any = None
    ) -> None:
        """Count a batch of scores of PyKEEN, in which NaN marks the filtered candidates.

        Raises
        ------
        InputError
            if the corruption is not all entities
        ScoreError
            if a score is NaN and not filtered: the score of an answer, any score in the raw setting or outside the mask
        """
        if not isinstance(self.evaluation.corruption, AllEntities):
            raise InputError(
                f"the corruption {self.evaluation.corruption.kind!r} cannot be applied to scores that PyKEEN's "
                "evaluation loop has made and filtered. Call evaluate, or use the callback 'evaluation'."
            )
        self._batches.add(hrt_batch, target, scores, true_scores, dense_positive_mask, filtered=self.filtered)

    def clear(self) -> None:
        """Delete the batches, but not ``table``."""
        super().clear()
        self._batches = Batches()

    def finalize(self) -> KGEvalMetricResults:
        """Compute the metrics of the batches.

        Raises
        ------
        InputError
            if there are no batches
        """
        known = None if self.filtered else ()
        table = replace(self._batches.table(), protocol="standard", split=EVALUATED, filter=known)
        return self._results(table, self.evaluation)

    def _results(
        self, table: RankTable, evaluation: Evaluation, model: Any = None, dataset: Dataset | None = None
    ) -> KGEvalMetricResults:
        self.table = table
        if table.sampling is not None:
            LOGGER.info("%s", table.sampling)
        for note in table.notes:
            if note not in self._logged:
                LOGGER.warning(visible(note))
        self._logged.update(table.notes)
        results = KGEvalMetricResults.of(table, self.metrics, self.own)
        if self.result_directory is not None:
            record(self.result_directory, table, results, evaluation, model=model, dataset=dataset, given=self._given)
        self.clear()
        if not self.clear_on_finalize:
            for pack in rank_packs(table):
                if pack.target != "both":
                    self.ranks[pack.target, pack.rank_type] = [pack.ranks]
                    self.num_candidates[pack.target] = [pack.num_candidates]
            self.num_entities = int(table.column("raw_candidates").max())
        return results

    def _require_train_triples(self) -> None:
        if self.evaluation.corruption.learns_from:
            raise InputError(
                f"the corruption {self.evaluation.corruption.kind!r} learns from train triples, which an evaluator "
                "knows from the filter only: pass additional_filter_triples=[training.mapped_triples], as PyKEEN's "
                "pipeline does where filtered=True. For raw ranks, call kgeval.pykeen.evaluate(…, filter=[])."
            )


@takes(Evaluation, EvaluationKeywords)
def evaluate(
    model: Any,
    dataset: Any,
    *,
    entities: Labels | None = None,
    relations: Labels | None = None,
    protocol: str | Protocol = "standard",
    progress: Progress | bool | None = None,
    **settings: Unpack[EvaluationKeywords],
) -> RankTable:
    """Rank a split of a dataset with a live PyKEEN model.

    Parameters
    ----------
    model
        a ``pykeen.models.Model``; an inductive one scores the entities of the inference graph, in its mode
        ``"validation"`` on valid, and else ``"testing"``
    dataset
        a dataset object of PyKEEN, transductive or inductive; or a dataset as in :func:`kgeval.evaluate`
    entities, relations
        the labels of the model's ids, such as ``factory.entity_to_id``, if the dataset has other ids
    protocol, progress
        as in :func:`kgeval.evaluate`
    {settings}

    A model on a GPU is ranked there, unless ``device`` is given.

    Raises
    ------
    InputError
        if it is not a PyKEEN model, or if an argument is wrong

    Examples
    --------
    >>> from pykeen.datasets import Nations
    >>> from pykeen.models import DistMult
    >>> graph = Nations()
    >>> evaluate(DistMult(triples_factory=graph.training, random_seed=0), graph, sides="tail")
    RankTable(201 ranks of DistMult on nations, 201 test triples)
    """
    if not is_pykeen_model(model):
        raise InputError(
            f"kgeval.pykeen.evaluate takes a live PyKEEN model, not {model!r:.60}. For anything else, and for saved "
            "models, call kgeval.evaluate: it takes what kgeval.load_checkpoint reads from a folder."
        )
    data = as_dataset(dataset)
    evaluation = Evaluation.of_keywords(settings)
    mode = mode_of_pykeen(data, model, evaluation.split)
    device = device_for(model, device=evaluation.device, kernel=evaluation.kernel)
    resolved = find_protocol(protocol).resolve(evaluation.model_copy(update={"device": device}), data)
    scorer = scorer_of(model, mode=mode, sides=resolved.evaluation.sides)
    labels = labels_of_pykeen(data, scorer)
    aligned = align(
        scorer,
        data,
        entities=labels.get("entities") if entities is None else entities,
        relations=labels.get("relations") if relations is None else relations,
    )
    return resolved.rank(aligned, data, progress=progress, title=type(model).__name__)
