"""The tools: each ranks the same triples with the same weights, in its own evaluator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kgeval import Dataset, RankTable, evaluate
from kgeval.models.family import family


@dataclass(frozen=True)
class Case:
    """A model that is timed: its name in the table, its family, options and dimension (real numbers per entity)."""

    name: str
    family: str
    options: dict[str, Any]
    dim: int
    peers: bool = True
    """whether other tools have it"""
    batch_size: int | None = None
    """PyKEEN's, where the one that it chooses does not fit into memory"""

    def weights(self, graph: Dataset, seed: int = 0) -> dict[str, np.ndarray]:
        """Draw normal weights: the hard case, since answers stand where most candidates are, not at the top."""
        rng = np.random.default_rng(seed)
        relation_dim = self.dim // 2 if self.family == "RotatE" else self.dim
        shapes = {"entity": (len(graph.entities), self.dim), "relation": (len(graph.relations), relation_dim)}
        return {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


CASES = [
    Case("DistMult", "DistMult", {}, 200),
    Case("ComplEx", "ComplEx", {}, 200),
    Case("TransE L1", "TransE", {"norm": 1}, 200),
    Case("TransE L2", "TransE", {"norm": 2}, 200),
    Case("RotatE", "RotatE", {"norm": 2}, 200),
    Case("RotatE, sum of moduli", "RotatE", {"norm": 1}, 200, peers=False),
    Case("DistMult d = 1000", "DistMult", {}, 1000),
]

LIVE = [Case(name, name, {}, 200) for name in ("PairRE", "TransH")]
"""models whose relations see the entities differently; with the weights and defaults that PyKEEN gives them"""


def pessimistic(table: RankTable, rows: np.ndarray) -> np.ndarray:
    """Take the pessimistic ranks of head and tail of some test triples; int64[row, 2]."""
    frame = table.to_pandas()
    frame["rank"] = 1 + frame["greater"] + frame["tied"]
    return frame.pivot_table(index="triple", columns="side", values="rank", observed=True).to_numpy(int)[rows]


class Tool(Protocol):
    """One way of ranking; made once for a case, and then timed."""

    def pessimistic(self, rows: np.ndarray) -> np.ndarray:
        """Rank test triples (rows of the split); int64[row, 2], the filtered pessimistic ranks of head and tail."""
        ...


class Kgeval:
    """kgeval ranks the whole split, since that is what it is asked for."""

    def __init__(self, case: Case, graph: Dataset, weights: dict[str, np.ndarray]) -> None:
        self.model = family(case.family).build(weights, case.options)
        self._graph = graph

    def table(self) -> Any:
        """Rank everything."""
        return evaluate(self.model, self._graph, unseen="worst")

    def pessimistic(self, rows: np.ndarray) -> np.ndarray:
        """Rank everything, and take some rows."""
        return pessimistic(self.table(), rows)


class PyKEEN:
    """PyKEEN's ``RankBasedEvaluator`` with its own batch size; without weights, those that PyKEEN draws."""

    def __init__(self, case: Case, graph: Dataset, weights: dict[str, np.ndarray] | None = None) -> None:
        import torch
        from pykeen.models import model_resolver
        from pykeen.triples import CoreTriplesFactory

        self._batch_size = case.batch_size
        factory = CoreTriplesFactory(
            torch.from_numpy(graph.train.ids), num_entities=len(graph.entities), num_relations=len(graph.relations)
        )
        half = case.dim if weights is None or case.family in {"DistMult", "TransE"} else case.dim // 2
        kwargs = {"embedding_dim": half}
        if case.family == "TransE":
            kwargs["scoring_fct_norm"] = case.options["norm"]
        elif weights is None:
            kwargs |= case.options
        self._model = model_resolver.make(case.family, triples_factory=factory, random_seed=0, **kwargs)
        self._test = torch.from_numpy(graph.test.ids)
        self._filters = [torch.from_numpy(part.ids) for part in graph.splits.values()]
        if weights is not None:
            self._take(case, weights, half)

    def _take(self, case: Case, weights: dict[str, np.ndarray], half: int) -> None:
        import torch

        for representation, array in zip(
            (self._model.entity_representations[0], self._model.relation_representations[0]),
            (weights["entity"], weights["relation"]),
            strict=True,
        ):
            stored = _rotations(array) if case.family == "RotatE" and array is weights["relation"] else array
            if half != case.dim:
                stored = np.stack(np.split(stored, 2, axis=1), axis=2).reshape(len(stored), -1)
            representation._embeddings.weight.data = torch.from_numpy(np.ascontiguousarray(stored, np.float32))

    def double(self) -> PyKEEN:
        """Score in float64, so that ranks can be compared."""
        self._model.double()
        return self

    def single(self) -> PyKEEN:
        """Score in float32 again."""
        self._model.float()
        return self

    def to(self, device: str) -> PyKEEN:
        """Move the model to a device, where the evaluator follows it."""
        self._model.to(device)
        return self

    def pessimistic(self, rows: np.ndarray) -> np.ndarray:
        """Rank some rows."""
        from pykeen.evaluation import RankBasedEvaluator

        evaluator = RankBasedEvaluator(clear_on_finalize=False)
        evaluator.evaluate(
            self._model,
            self._test[rows],
            batch_size=self._batch_size,
            additional_filter_triples=self._filters,
            use_tqdm=False,
        )
        sides = [np.concatenate(evaluator.ranks[side, "pessimistic"]) for side in ("head", "tail")]
        return np.stack(sides, axis=1).astype(int)


class InPyKEEN(PyKEEN):
    """PyKEEN's live model with ``evaluator="kgeval"``, as a pipeline calls it; all metrics included."""

    def evaluator(self) -> Any:
        """Evaluate the whole split, and return the evaluator with its ranks."""
        from kgeval.pykeen import KGEvalEvaluator

        evaluator = KGEvalEvaluator()
        evaluator.evaluate(self._model, self._test, additional_filter_triples=self._filters, use_tqdm=False)
        return evaluator

    def pessimistic(self, rows: np.ndarray) -> np.ndarray:
        """Rank everything, and take some rows."""
        return pessimistic(self.evaluator().table, rows)


class TorchKGE:
    """TorchKGE's ``LinkPredictionEvaluator``; it has no RotatE."""

    families = ("DistMult", "ComplEx", "TransE")

    def __init__(self, case: Case, graph: Dataset, weights: dict[str, np.ndarray]) -> None:
        import torch
        from torchkge.models import ComplExModel, DistMultModel, TransEModel

        sizes = (len(graph.entities), len(graph.relations))
        if case.family == "TransE":
            self._model = TransEModel(case.dim, *sizes, dissimilarity_type=f"L{case.options['norm']}")
        else:
            make, dim = {"DistMult": (DistMultModel, case.dim), "ComplEx": (ComplExModel, case.dim // 2)}[case.family]
            self._model = make(dim, *sizes)
        for kind, name in (("entity", "ent_emb"), ("relation", "rel_emb")):
            if case.family == "ComplEx":
                for part, array in zip(("re", "im"), np.split(weights[kind], 2, axis=1), strict=True):
                    getattr(self._model, f"{part}_{name}").weight.data = torch.from_numpy(np.ascontiguousarray(array))
            else:
                getattr(self._model, name).weight.data = torch.from_numpy(weights[kind])
        self._graph, self._known = graph, None

    def double(self) -> TorchKGE:
        """Score in float64, so that ranks can be compared."""
        self._model.double()
        return self

    def single(self) -> TorchKGE:
        """Score in float32 again."""
        self._model.float()
        return self

    def to(self, device: str) -> TorchKGE:
        """Move the model to a device, where the evaluator follows it."""
        self._model.to(device)
        return self

    def _part(self, rows: np.ndarray) -> Any:
        import torch
        from torchkge.data_structures import KnowledgeGraph

        labels = {"ent2ix": {i: i for i in range(len(self._graph.entities))}}
        labels["rel2ix"] = {i: i for i in range(len(self._graph.relations))}

        def knowledge(ids: np.ndarray, **known: Any) -> Any:
            heads, relations, tails = (torch.from_numpy(np.ascontiguousarray(column)) for column in ids.T)
            return KnowledgeGraph(kg={"heads": heads, "relations": relations, "tails": tails}, **labels, **known)

        if self._known is None:
            whole = knowledge(np.concatenate([part.ids for part in self._graph.splits.values()]))
            names = ("dict_of_heads", "dict_of_tails", "dict_of_rels")
            self._known = {name: getattr(whole, name) for name in names}
        return knowledge(self._graph.test.ids[rows], **self._known)

    def pessimistic(self, rows: np.ndarray) -> np.ndarray:
        """Rank some rows."""
        from torchkge.evaluation import LinkPredictionEvaluator

        evaluator = LinkPredictionEvaluator(self._model, self._part(rows))
        evaluator.evaluate(b_size=64, verbose=False)
        ranks = evaluator.filt_rank_true_heads, evaluator.filt_rank_true_tails
        return np.stack([side.cpu().numpy() for side in ranks], axis=1)


def _rotations(phases: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
