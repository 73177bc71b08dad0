"""Live models of PyKEEN and PyTorch Geometric as scorers: Python objects, not files.

``alignment.py`` recognises them, and so does ``kgeval.pykeen``. A model of PyKEEN is asked for its scores. A model of
PyTorch Geometric becomes the model family that has its formula, if a sample shows that the family gives the model's
scores; otherwise it is called as a function of triples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from kgeval.base.arrays import FloatArray, IntArray, detached
from kgeval.base.errors import InputError, UsageError
from kgeval.base.threads import slices
from kgeval.data.dataset import Dataset
from kgeval.data.queries import Queries
from kgeval.data.triples import SIDES, Side
from kgeval.data.vocabulary import Vocabulary
from kgeval.models.adapters.calling import ShrinkingBatches, evaluating
from kgeval.models.adapters.functions import CallableScorer
from kgeval.models.checks import reproduces_scores
from kgeval.models.families.bilinear import DistMult
from kgeval.models.families.complex import ComplEx, RotatE
from kgeval.models.families.translations import TransE
from kgeval.models.family import Family
from kgeval.models.ordered import normalized
from kgeval.models.scorer import Scorer, VectorScorer, as_float64

BATCH_SCORES = 2**12
"""the number of scores that a model is asked for at a time: for these, many interactions make an array of query ×
entity × dimension, and a network makes tens of thousands of numbers for each score"""

HELD_SCORES = 2**20
"""the number of scores (queries × all entities) that are held at a time, if candidates differ by query"""


@dataclass(frozen=True, eq=False)
class PyKEENScorer:
    """Scores with ``model.predict_t`` and ``model.predict_h``: inverse triples and sigmoids are the model's own.

    The model is put into evaluation mode for each call and back into its mode afterwards.
    """

    model: Any
    """a ``pykeen.models.Model``"""
    mode: str | None = None
    """for inductive models, the graph whose entities are scored: ``"training"``, ``"validation"`` or ``"testing"``"""
    unmodified: bool = False
    """whether its score functions are PyKEEN's own: these can score only some entities, or score slice by slice"""

    @property
    def title(self) -> str:
        return type(self.model).__name__

    @property
    def num_entities(self) -> int:
        """How many entities the model knows, of one of its graphs if it is inductive."""
        try:
            return int(self.model._get_entity_len(mode=self.mode))
        except (NotImplementedError, ValueError) as error:
            fault = f"{type(self.model).__name__} has no entities for mode={self.mode!r}"
            raise InputError(f"{fault}. Only inductive models have modes: training, validation and testing.") from error

    @property
    def num_relations(self) -> int:
        """How many relations the model knows, inverses not counted."""
        return int(self.model.num_relations) // (2 if self.model.use_inverse_triples else 1)

    def scores(self, queries: Queries, candidates: IntArray) -> FloatArray:
        """Score all entities and take the candidates; or score these alone, if all queries share them."""
        return as_float64(self._scores(queries, candidates, on_host=True), "the model")

    def score_tensor(self, queries: Queries, candidates: IntArray, device: Any) -> Any:
        """Score as :meth:`scores` does; a tensor that stays on the device, or None if the model is on another one."""
        return self._scores(queries, candidates, on_host=False) if self._device() == device else None

    def _scores(self, queries: Queries, candidates: IntArray, *, on_host: bool) -> Any:
        """Score candidates; a tensor on the host, or on the model's device."""
        import torch

        columns = (queries.anchors, queries.relations)
        batch = torch.from_numpy(np.stack(columns if queries.side == "tail" else columns[::-1], axis=1))
        if self.unmodified and candidates.ndim == 1:
            return self._scores_of(batch, queries.side, candidates, on_host=on_host)
        wanted = torch.from_numpy(np.broadcast_to(candidates, (len(queries), candidates.shape[-1])).copy())
        scores = []
        # Here all entities are scored, so the scores of only a few queries are held at a time.
        for part in slices(len(queries), max(1, HELD_SCORES // self.num_entities)):
            rows = self._scores_of(batch[part], queries.side, None, on_host=on_host)
            scores.append(torch.take_along_dim(rows, wanted[part].to(rows.device), dim=1))
        return torch.cat(scores) if scores else torch.empty(wanted.shape)

    def _scores_of(self, batch: Any, side: Side, ids: IntArray | None, *, on_host: bool) -> Any:
        import torch

        few = ids is not None and len(ids) < self.num_entities
        options = {f"{side}s": torch.from_numpy(ids).to(self.model.device)} if few else {}
        width = len(ids) if ids is not None else self.num_entities
        if self.unmodified and width > BATCH_SCORES:
            options["slice_size"] = BATCH_SCORES

        def score(part: slice) -> Any:
            scores = predict(batch[part], **options)
            return scores.cpu() if on_host else scores

        predict, batches = self._predict(side), ShrinkingBatches(max(1, BATCH_SCORES // max(width, 1)))
        with torch.inference_mode(), evaluating(self.model):
            parts = [*batches.compute(score, len(batch))]
            rows = torch.cat(parts) if parts else torch.empty(0, width)
        return rows if few or ids is None else rows[:, ids]

    def _predict(self, side: Side) -> Callable[..., Any]:
        # A model without tensors, such as PyKEEN's baselines, has no device, but predict_t and predict_h need one.
        method = "score" if self._device() is None else "predict"
        function: Callable[..., Any] = getattr(self.model, f"{method}_{side[0]}")
        return function if self.mode is None else partial(function, mode=self.mode)

    def _device(self) -> Any:
        return next((tensor.device for tensor in chain(self.model.parameters(), self.model.buffers())), None)


def is_pykeen_model(candidate: object) -> bool:
    """Whether an object is a PyKEEN model, found out without importing PyKEEN."""
    return any(f"{base.__module__}.{base.__name__}" == "pykeen.models.base.Model" for base in type(candidate).__mro__)


def labels_of_pykeen(dataset: Dataset, model: Scorer | VectorScorer) -> dict[str, Vocabulary]:
    """Return a dataset's labels as the labels of a live PyKEEN model, if PyKEEN numbered the dataset; else nothing."""
    fit = (model.num_entities, model.num_relations) == (len(dataset.entities), len(dataset.relations))
    labels = {"entities": dataset.entities, "relations": dataset.relations}
    return labels if fit and dataset.id_source == "PyKEEN" else {}


def mode_of_pykeen(dataset: Dataset, model: Any, split: str = "test") -> str | None:
    """Choose the mode in which an inductive PyKEEN model scores the entities of inference; None for other models."""
    if hasattr(model, "_mode_to_representations"):
        return "validation" if split == "valid" else "testing"
    if dataset.training_graph is not None:
        fault = f"{type(model).__name__} knows the entities of one graph, and dataset {dataset.name} is inductive"
        cure = "Give a model that scores new entities, such as PyKEEN's InductiveNodePiece."
        raise UsageError(f"{fault}: the {len(dataset.entities):,} entities of its inference graph are ranked. {cure}")
    return None


TABLES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "TransE": (("node_emb",), ("rel_emb",)),
    "DistMult": (("node_emb",), ("rel_emb",)),
    "ComplEx": (("node_emb", "node_emb_im"), ("rel_emb", "rel_emb_im")),
    "RotatE": (("node_emb", "node_emb_im"), ("rel_emb",)),
}
"""for each model, the attributes with the embeddings of entities and of relations, real parts before imaginary parts;
RotatE's relations are phases in radians"""

CLASSES = {f"torch_geometric.nn.kge.{name.lower()}.{name}": name for name in TABLES}
"""the classes of PyTorch Geometric's models, and the name of each"""

FORMULAS: Mapping[str, Callable[[FloatArray, FloatArray, Any], Family]] = {
    # Only entities are normalised, and by the norm that measures the distance.
    "TransE": lambda entity, relation, norm: TransE(normalized(entity, norm), relation, norm),
    "DistMult": lambda entity, relation, _: DistMult(entity, relation),
    "ComplEx": lambda entity, relation, _: ComplEx(entity, relation),
    "RotatE": lambda entity, relation, _: RotatE(entity, relation, 2),  # one norm of real and imaginary parts
}
"""(entities, relations, p of the norm) -> the model"""


def vectors_of_pyg(model: Any) -> Family | None:
    """Make the family of a live model of PyTorch Geometric, if its class is exactly one of ``CLASSES``.

    ``None`` for any other object, and for a model that was changed so that it scores otherwise.
    """
    name = CLASSES.get(f"{type(model).__module__}.{type(model).__qualname__}")
    parts = [] if name is None else model.modules()
    hooked = any("forward" in vars(part) or part._forward_hooks or part._forward_pre_hooks for part in parts)
    if name is None or hooked:
        return None
    norm, margin = getattr(model, "p_norm", None), float(model.margin) if name == "RotatE" else 0.0
    if name == "TransE" and norm not in (1, 2):
        return None
    entity, relation = (
        np.concatenate([detached(getattr(model, part).weight).numpy() for part in parts], axis=1)
        for parts in TABLES[name]
    )
    family = FORMULAS[name](entity, relation, norm and int(norm))

    def score(*columns: IntArray) -> Any:
        import torch

        return model(*(torch.tensor(ids, device=model.node_emb.weight.device) for ids in columns)) - margin

    live = CallableScorer(score, model.num_nodes, model.num_relations)
    return family if all(reproduces_scores(family, live, side, model) for side in SIDES) else None
