"""AmpliGraph 2: scores are compared in whole thousandths, and known answers are subtracted as if all ties had counted.

The default strategy counts all ties, so subtraction is filtering. ``best`` counts none and ``middle`` half of them, and
both subtract the known answers that tie all the same, the answer itself among them: ranks of 0 come out, whose mean
reciprocal rank is infinite. Its readers drop repeated triples.

AmpliGraph 1 has an evaluator of its own (``EmbeddingModel.py``, 1.4.0): since 1.3.2 it compares in hundred-thousandths,
before that floats as they are; known answers are left out by the rule that counted them; and without a filter an answer
competes with itself.
"""

from __future__ import annotations

from dataclasses import replace

from kgeval.protocols.framework_metric import hits, named
from kgeval.protocols.protocol import Protocol
from kgeval.protocols.protocol_candidates import in_train
from kgeval.ranking.tie_rules import tied_under, truncate_to_decimals

AMPLIGRAPH = Protocol(
    name="ampligraph",
    summary="scores are truncated to thousandths; all ties count (worst); the entities of train compete",
    ties="pessimistic",
    tie_rule=tied_under(truncate_to_decimals(3)),
    competes=in_train,
    self_counting="subtracted",
    framework_metrics=named(
        "{metric}", metric={"mr_score": "mr", "mrr_score": "mrr", **hits("hits_at_n_score({})", 1, 3, 10)}
    ),
    tie_note="AmpliGraph takes scores of the same thousandth for ties",
)

BEST = replace(
    AMPLIGRAPH,
    name="ampligraph-best",
    summary="as ampligraph, ranking_strategy best: no tie counts, but known answers that tie are subtracted",
    ties="optimistic",
)

MIDDLE = replace(
    AMPLIGRAPH,
    name="ampligraph-middle",
    summary="as ampligraph, ranking_strategy middle: half of the ties count, but all known answers are subtracted",
    ties="rounded",
)

AMPLIGRAPH_1 = Protocol(
    name="ampligraph1",
    summary="AmpliGraph 1.3.2 to 1.4: scores are truncated to hundred-thousandths; all ties count (worst)",
    ties="pessimistic",
    tie_rule=tied_under(truncate_to_decimals(5)),
    competes=in_train,
    self_counting="raw",
    framework_metrics=AMPLIGRAPH.framework_metrics,
    tie_note="AmpliGraph 1 takes scores of the same hundred-thousandth for ties",
)
