"""The types of entities, from files and from prefixes."""

import gzip

import pytest

from kgeval.data.dataset import Dataset
from kgeval.data.entity_types import entity_types
from kgeval.data.triples import Triples
from kgeval.data.vocabulary import Vocabulary
from kgeval.errors import DatasetError

LABELS = ["Gene::1", "a drug", "Gene::2::x", "plain"]


@pytest.fixture
def graph():
    labels = Vocabulary(LABELS), Vocabulary(["r"], "relation")
    return Dataset("bio", *labels, train=Triples.of([]), valid=Triples.of([]), test=Triples.of([]))


def by_label(types):
    return {label: [types.names[i] for i in types.rows.row(entity)] for entity, label in enumerate(LABELS)}


def test_prefixes_end_at_the_first_colons(graph):
    types = entity_types("prefix", graph)
    assert by_label(types) == {"Gene::1": ["Gene"], "a drug": [], "Gene::2::x": ["Gene"], "plain": []}


def test_a_file_gives_several_types_and_counts_strangers(graph, tmp_path):
    text = "a drug\tz kind\na drug\tCompound\nnobody\tCompound\nnobody\tother\nplain\tz kind\nplain\tz kind\n"
    (tmp_path / "types.tsv").write_text(text)
    with gzip.open(tmp_path / "types.tsv.gz", "wt") as file:
        file.write(text)
    for name in ("types.tsv", "types.tsv.gz"):
        types = entity_types(str(tmp_path / name), graph)
        assert types.unknown == 1
        assert types.names == ("Compound", "z kind")
        wanted = {"Gene::1": [], "a drug": ["Compound", "z kind"], "Gene::2::x": [], "plain": ["z kind"]}
        assert by_label(types) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a drug\tx\n\nplain\n", "line 3: 1 column where 2 columns"),
        ("a drug\tx\n\nplain\t\n", "line 3: the entity has no type"),
        ("nobody\tx\n", "no entity of dataset bio has a type there"),
        ("", "no rows at all"),
    ],
)
def test_malformed_files(graph, tmp_path, text, message):
    (tmp_path / "types.tsv").write_text(text)
    with pytest.raises(DatasetError, match=message):
        entity_types(str(tmp_path / "types.tsv"), graph)


def test_labels_without_prefixes(graph):
    labels = Vocabulary(["a", "b"]), graph.relations
    with pytest.raises(DatasetError, match="no entity label of dataset bio has a type before '::'"):
        entity_types("prefix", Dataset("bio", *labels, train=graph.train, valid=graph.valid, test=graph.test))
