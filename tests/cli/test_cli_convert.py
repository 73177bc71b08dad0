"""``kgeval convert``: a checkpoint as one file, or a dataset as a folder, that rank the same."""

from __future__ import annotations

from kgeval import load_dataset
from tests.data.folders import write

EVALUATE = ["--dataset", "graph", "--metric", "mrr", "--metric", "mr"]
OPTIONS = ["--option", "model=TransE", "--option", "norm=2"]


def test_a_converted_checkpoint_ranks_the_same(done, data):
    before = data("evaluate", "model", *EVALUATE, *OPTIONS)
    done("convert", "model", "--out", "m.safetensors", *OPTIONS)
    after = data("evaluate", "m.safetensors", *EVALUATE)
    assert before["provenance"].pop("model") == "TransE (model/arrays.npz)"
    assert after["provenance"].pop("model") == "TransE (place/m.safetensors)"
    assert after == before


def test_rows_that_only_a_dataset_tells_apart_need_it(place, done, refused, data):
    from tests.models.checkpoints.layouts import ENTITIES, RELATIONS, tucker_code

    (place / "tucker").mkdir()
    tucker_code(place / "tucker")
    rows = [(ENTITIES[h], RELATIONS[r], ENTITIES[(2 * h + r) % 7]) for h in range(7) for r in range(3)]
    write(place / "animals", {"train": rows[:15], "test": rows[15:]})
    message = refused("convert", "tucker", "--out", "t.safetensors")
    assert (
        "the files do not say which of its rows are relations, and which their reverses. Add the dataset: --d"
        in message
    )
    assert not (place / "t.safetensors").exists()
    done("convert", "tucker", "--out", "t.safetensors", "--dataset", "animals")
    told = ["--dataset", "animals", "--metric", "mrr"]
    converted, before = data("evaluate", "t.safetensors", *told), data("evaluate", "tucker", *told)
    assert converted["provenance"].pop("model") != before["provenance"].pop("model")
    assert before["provenance"].pop("read_as") == ["ids: sorted"]
    assert converted == before


def test_a_converted_dataset_ranks_the_same(place, done, data):
    assert done("convert", "graph", "--out", "fast") == "graph of 8 entities and 3 relations written to fast\n"
    for name in ("graph", "fast"):
        done("evaluate", "model", "--dataset", name, *OPTIONS, "--out", f"of-{name}")
    assert (place / "of-fast/ranks.parquet").read_bytes() == (place / "of-graph/ranks.parquet").read_bytes()
    assert data("inspect", "fast")["triples"] == {"train": 14, "valid": 4, "test": 6}
    assert data("convert", "graph", "--out", "fast", "--force")["triples"] == data("inspect", "graph")["triples"]


def test_a_dataset_is_converted_as_its_options_say(place, done, data):
    labels = load_dataset(place / "graph").entities
    (place / "people.tsv").write_text(f"{labels[0]}\tthe first\n")
    done("convert", "graph", "--out", "fast", "--layout", "labels", "--names", "people.tsv")
    assert dict(load_dataset(place / "fast").names) == {labels[0]: "the first"}
