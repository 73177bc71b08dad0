"""Headers of published graphs and tools: each is read rightly, or asked about; none is read wrongly in silence.

What a column holds stands behind its name: H and T are the ends, R the relation; # numbers the rows; others are names,
types, sources, dates, numbers and so on. ``!`` marks graphs whose heads and tails are of different kinds.
"""

# ruff: noqa: E501

from __future__ import annotations

import csv
import random

import pytest

from kgeval import load_dataset
from kgeval.base.errors import DatasetError

HEADERS = {
    "PrimeKG": "relation=R display_relation=RT x_index=HI x_id=H x_type=HT x_name=HN x_source=HT y_index=TI y_id=T y_type=TT y_name=TN y_source=TT",
    "Hetionet": "source=H metaedge=R target=T",
    "Hetionet, sources": "source=H metaedge=R target=T sources=L unbiased=B",
    "KGTK": "node1=H label=R node2=T id=#",
    "KGTK, labels, rank": "id=# node1=H label=R node2=T node1;label=HN label;label=RN node2;label=TN rank=RK",
    "Neo4j import": ":START_ID=H :END_ID=T :TYPE=R since=YR source=DB",
    "Neo4j export": "_start=H _end=T _type=R source=DB weight=W",
    "Gephi": "Source=H Target=T Type=C Id=# Label=R Weight=SC",
    "NetworkX + pubmed": "source=H target=T relation=R weight=SC pubmed=PM",
    "NetworkX type + evidence": "source=H target=T type=R evidence=DB",
    "SemMedDB": "PREDICATION_ID=# SENTENCE_ID=## PMID=PM PREDICATE=R SUBJECT_CUI=H SUBJECT_NAME=HN SUBJECT_SEMTYPE=HT OBJECT_CUI=T OBJECT_NAME=TN OBJECT_SEMTYPE=TT",
    "KGX": "id=# subject=H predicate=R object=T category=RT primary_knowledge_source=DB publications=PM",
    "quads": "subject=H predicate=R object=T graph=G",
    "SPARQL of Wikidata": "item=H property=R value=T",
    "SPARQL, labels": "item=H itemLabel=HN property=R propertyLabel=RN value=T valueLabel=TN",
    "SPARQL, rank": "item=H property=R value=T rank=RK",
    "NELL": "Entity=H Relation=R Value=T Iteration=W Probability=SC Source=DB",
    "ICEWS": "date=DT source_name=H event_type=R target_name=T country=HT",
    "pandas index": "Unnamed:0=# head=H relation=R tail=T",
    "types, pmid": "head=H head_type=HT relation=R tail=T tail_type=TT pmid=PM",
    "ids, types": "head_id=H head_type=HT relation=R tail_id=T tail_type=TT",
    "source ids, types, score": "source_id=H source_type=HT relation=R target_id=T target_type=TT score=SC",
    "from to type": "from=H to=T type=R weight=W",
    "parent child": "parent=H relation=R child=T",
    "src rel dst time": "src=H rel=R dst=T time=TS",
    "Omnipath": "source=H target=T source_genesymbol=HN target_genesymbol=TN is_directed=B type=R references=L",
    "u v key relation": "u=H v=T key=B1 relation=R",
    "edge id, type": "edge_id=# source=H target=T edge_type=R",
    "bipartite + pubmed": "!source=H target=T relation=R pubmed=PM",
    "bipartite, head": "!head=H relation=R tail=T pubmed=PM",
    "bipartite, type": "!source=H target=T type=R",
    "drug gene, x y": "!x=H y=T relation=R study=G",
    "edges, sign": "source=H target=T interaction=R sign=B1",
    "two names": "subject=H subject_label=HN predicate=R predicate_label=RN object=T object_label=TN",
    "names not unique": "subject=N1 subject_id=H predicate=R object=N2 object_id=T",
    "ETL": "subject_id=H predicate=R object_id=T source=DB",
    "RDF reified": "statement=# subject=H predicate=R object=T confidence=SC",
    "validity": "person=H relation=R company=T start=YR end=YR2",
    "h r t + split col": "h=H r=R t=T fold=W",
    "created": "head=H relation=R tail=T created_at=DT",
    "kind": "origin=H destination=T kind=R distance=SC",
    "node a b": "node_1=H relationship=R node_2=T comment=TX",
    "label text": "source=H target=T label=R comment=TX",
    "attributes": "entity=H attribute=R value=T",
    "attributes, source": "entity=H attribute=R value=T source=DB",
}

FRESH = {
    "OGB triples": "head_type=HT head=H relation=R tail_type=TT tail=T",
    "ConceptNet": "uri=# relation=R start=H end=T weight=SC",
    "YAGO facts": "factid=# subject=H predicate=R object=T",
    "OpenBioLink": "node1=H edge=R node2=T qscore=W source=DB",
    "STRING actions": "item_id_a=H item_id_b=T mode=R action=RT is_directional=B a_is_acting=B score=W",
    "DGL CSV": "src_id=H dst_id=T etype=R",
    "Neptune": "~id=# ~from=H ~to=T ~label=R weight:Double=SC",
    "ArangoDB": "_key=# _from=H _to=T label=R",
    "SPARQL quads": "s=H p=R o=T g=G",
    "GraphFrames": "src=H dst=T relationship=R",
    "Cytoscape": "source=H interaction=R target=T directed=C",
    "PyG edges": "source_node=H edge_type=R target_node=T",
    "REBEL": "head=H type=R tail=T meta_spans=TX",
    "extraction": "head_entity=H relation_type=R tail_entity=T confidence=SC",
    "Neo4j admin, upper case": "START_ID=H END_ID=T TYPE=R source=DB",
    "SPOKE": "start=H end=T type=R vestige=B",
    "CORD": "e1=H rel=R e2=T pmid=PM",
    "ReVerb": "arg1=H rel=R arg2=T confidence=SC",
    "DBpedia short": "sub=H pred=R obj=T",
    "entity1, entity2": "entity1=H entity2=T relation=R",
    "from_id, names": "from_id=H from_name=HN to_id=T to_name=TN relation_type=R",
    "names after ids": "head_id=H relation=R tail_id=T head_name=HN tail_name=TN",
    "RecBole": "head_id:token=H relation_id:token=R tail_id:token=T",
    "Wikidata statements": "subject=H property=R object=T qualifiers=TX",
    "NetworkX, weight, label": "source=H target=T weight=W label=R",
    "kinds": "source=H source_kind=HT target=T target_kind=TT relation=R",
    "Monarch": "id=# subject=H subject_category=HT predicate=R object=T object_category=TT knowledge_source=DB",
    "record dates": "head=H relation=R tail=T created=DT updated=DT2",
    "labels of Wikidata": "subject=H subjectLabel=HN predicate=R predicateLabel=RN object=T objectLabel=TN",
    "bipartite, drugs": "!drug_id=H relation=R target_id=T source=DB",
}
"""headers that were written down before the rules were tried on them"""

ASKED = {
    "ArangoDB",
    "SPOKE",
    "STRING actions",
    "bipartite, drugs",
    "Gephi",
    "Hetionet, sources",
    "ICEWS",
    "attributes",
    "kind",
    "validity",
}
"""headers that do not say enough"""

DRAW = random.Random(5)
FACTS = sorted({(DRAW.randrange(40), DRAW.randrange(6), DRAW.randrange(40)) for _ in range(200)})
DRAW.shuffle(FACTS)
SPLITS = {"train": FACTS[:150], "valid": FACTS[150:170], "test": FACTS[170:]}
SOURCES, TYPES = ["DrugBank", "CTD", "STRING", "BioGRID"], ["gene", "drug", "disease"]


def cells(number, fact, draw, *, bipartite):
    """Make the cells that a row may have, by their kind."""
    head, relation, tail = fact
    year = draw.randrange(1980, 2020)
    of_ends = {"H": f"Q{head * 37}", "T": f"{'G' if bipartite else 'Q'}{tail * 37}", "HI": str(head), "TI": str(tail)}
    named = {"HN": f"label of {head}", "TN": f"label of {tail}", "N1": f"name {head // 2}", "N2": f"name {tail // 2}"}
    typed = {"HT": TYPES[head % 3], "TT": TYPES[tail % 3], "RT": f"class{relation // 3}", "RN": f"relation {relation}"}
    drawn = {"DB": draw.choice(SOURCES), "L": "|".join(draw.sample(SOURCES, 2)), "G": draw.choice("abc")}
    numbers = {"PM": str(10**6 + draw.randrange(60)), "SC": f"{draw.random():.3f}", "W": str(draw.randrange(1, 9))}
    times = {
        "YR": str(year),
        "YR2": str(year + 7),
        "DT2": f"{year + 1}-05-06",
        "DT": f"{year}-03-04",
        "TS": str(10**9 + draw.randrange(10**6)),
    }
    marks = {"B": draw.choice(["True", "False"]), "B1": draw.choice("01"), "C": "Directed", "TX": f"text {year % 50}"}
    counts = {"R": f"rel_{relation}", "#": str(number), "##": str(number // 3), "RK": draw.choice(["normal", "best"])}
    return of_ends | named | typed | drawn | numbers | times | marks | counts


@pytest.mark.parametrize("name", [*HEADERS, *FRESH])
def test_a_published_header_is_read_rightly_or_asked_about(tmp_path, name):
    spec = (HEADERS | FRESH)[name]
    columns = [column.rpartition("=") for column in spec.lstrip("!").split(" ")]
    draw, number = random.Random(9), 0
    for split, facts in SPLITS.items():
        with (tmp_path / f"{split}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([column for column, _, _ in columns])
            for fact in facts:
                row = cells(number := number + 1, fact, draw, bipartite=spec.startswith("!"))
                writer.writerow([row[kind] for _, _, kind in columns])
    if name in ASKED:
        with pytest.raises(DatasetError, match="Say w"):
            load_dataset(tmp_path)
        return
    data = load_dataset(tmp_path)
    heads, relations, tails = ({fact[column] for fact in FACTS} for column in range(3))
    ends = len(heads) + len(tails) if spec.startswith("!") else len(heads | tails)
    assert (len(data.entities), len(data.relations)) == (ends, len(relations))
    assert len(data.train) == len(SPLITS["train"])
