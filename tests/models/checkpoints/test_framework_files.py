"""Every framework's layout, written by hand: scores by the framework's own formula, and one clear error for damage."""

from __future__ import annotations

import json
import pickle
import re
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgeval import Triples, load_checkpoint
from kgeval.base.errors import CheckpointError, KgevalError, UsageError
from kgeval.data.queries import Queries
from kgeval.models.alignment import align
from kgeval.models.checkpoints.readers import formats
from tests.models.checkpoints.layouts import (
    ENTITIES,
    FURTHER,
    RELATIONS,
    WRITERS,
    ampligraph_rotate,
    dglke_rotate_arrays,
    dglke_unnamed,
    dicee_aconex,
    dicee_conex,
    dicee_lfmult,
    openke_transr,
    pbg_static,
    rotate_arrays,
    rotate_code,
    small_graph,
    table,
    torch,
    torchkge_transe,
)

NAMES = [f"{name}-{writer.__name__}" for name, writer in WRITERS]


@pytest.fixture(scope="module")
def graph():
    return small_graph("other", backwards=True)


@pytest.mark.parametrize("writer", [*(writer for _, writer in [*WRITERS, *FURTHER]), dicee_conex])
def test_scores_follow_the_frameworks_formula(tmp_path, graph, writer):
    score, ids, options = writer(tmp_path)
    scorer = align(load_checkpoint(tmp_path, dataset=graph, **options), graph)
    rows = {"sorted": (sorted(ENTITIES), sorted(RELATIONS)), "dataset": (list(graph.entities), list(graph.relations))}
    known = rows.get(ids, (ENTITIES, RELATIONS))
    entities = [known[0].index(label) for label in graph.entities]
    relations = [known[1].index(label) for label in graph.relations]
    everyone = np.arange(7)
    for side in ("head", "tail"):
        rows = [(a, r, 0) if side == "tail" else (0, r, a) for a in range(7) for r in range(3)]
        queries = Queries.of(Triples.of(rows), side)
        found = scorer.scores(queries, everyone)
        for anchor, relation, row in zip(queries.anchors, queries.relations, found, strict=True):
            k, fixed = relations[relation], entities[anchor]
            pairs = [(fixed, e) if side == "tail" else (e, fixed) for e in entities]
            expected = np.array([score(h, k, t, side) for h, t in pairs])
            # γ and other constants of a model are no matter to a rank; entities of other types score −∞.
            scored = np.flatnonzero(np.isfinite(expected))[:1]
            constant = expected[scored] - row[scored] if len(scored) else 0
            assert row + constant == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("name", "writer"), WRITERS, ids=NAMES)
def test_only_its_reader_recognises_it(tmp_path, name, writer):
    writer(tmp_path)
    assert [known for known, reader in formats().items() if reader.recognises(tmp_path)] == [name]


@pytest.mark.parametrize(("name", "writer"), WRITERS, ids=NAMES)
def test_what_the_files_do_not_say_is_asked_for(tmp_path, graph, name, writer):
    """Each option that is missing alone; and where the model is given, every further one in one message."""
    _, _, options = writer(tmp_path)
    for missing in options:
        given_ = {key: value for key, value in options.items() if key != missing}
        with pytest.raises(CheckpointError, match=rf"does not contain .*\. Give the option {missing}="):
            load_checkpoint(tmp_path, dataset=graph, **given_)
    model = {key: value for key, value in options.items() if key == "model"}
    if options.keys() - model.keys():
        with pytest.raises(UsageError, match=r"Give the options? ") as refusal:
            load_checkpoint(tmp_path, dataset=graph, **model)
        assert set(re.findall(r"(\w+)=", str(refusal.value))) == options.keys() - model.keys()


def test_labels_of_ampligraph_1_may_be_numpys_numbers(tmp_path):
    """Its ids are those of np.unique: of triples that are an array of integers, labels are integers too."""
    labels = np.unique([30, 7, 12])
    content = {
        "class_name": "DistMult",
        "hyperparams": {"k": np.int32(2)},
        "ent_to_idx": dict(zip(labels, range(3), strict=True)),
        "rel_to_idx": {np.int64(1): 0},
        "model_params": [table(3, 2), table(1, 2)],
    }
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(content))
    checkpoint = load_checkpoint(tmp_path)
    assert (list(checkpoint.entities), list(checkpoint.relations)) == (["7", "12", "30"], ["1"])


def test_labels_may_lie_in_another_folder(tmp_path, graph):
    rotate_code(tmp_path)
    (tmp_path / "labels").mkdir()
    for name in ("entities.dict", "relations.dict"):
        (tmp_path / name).rename(tmp_path / "labels" / name)
    checkpoint = load_checkpoint(tmp_path, dataset=graph, labels=str(tmp_path / "labels"))
    assert (list(checkpoint.entities), list(checkpoint.relations)) == (ENTITIES, RELATIONS)
    with pytest.raises(CheckpointError, match=r"expected a folder with label files: entities\.dict"):
        load_checkpoint(tmp_path, dataset=graph, labels=str(tmp_path))


def test_labels_that_ampligraph_keeps_in_a_database_are_asked_for(tmp_path, graph):
    ampligraph_rotate(tmp_path)
    sound = load_checkpoint(tmp_path, dataset=graph)
    content = {"entities_dict": "ents.db", "relations_dict": "rels.db"}
    (tmp_path / "model/model_metadata.ampkl").write_bytes(pickle.dumps(content))
    with pytest.raises(CheckpointError, match=r"its entity labels are in a database .* the option labels=FOLDER"):
        load_checkpoint(tmp_path, dataset=graph)
    (tmp_path / "written").mkdir()
    for name, labels in (("entities", ENTITIES), ("relations", RELATIONS)):
        lines = "".join(f"{row}\t{label}\n" for row, label in enumerate(labels))
        (tmp_path / f"written/{name}.tsv").write_text(lines, encoding="utf-8")
    told = load_checkpoint(tmp_path, dataset=graph, labels=str(tmp_path / "written"))
    assert (told.entities, told.relations) == (sound.entities, sound.relations)


def test_what_was_aligned_can_be_aligned_again(tmp_path, graph):
    rotate_code(tmp_path)
    once = align(load_checkpoint(tmp_path), graph)
    assert np.array_equal(align(once, graph).entity_rows, once.entity_rows)


def test_without_h5py_the_extra_is_named(tmp_path, graph, monkeypatch):
    pbg_static(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(CheckpointError, match=r"needs h5py, which is not installed. Run: pip install 'kgeval\[pbg\]'"):
        load_checkpoint(tmp_path, dataset=graph)


def test_an_option_of_another_value_is_refused(tmp_path, graph):
    openke_transr(tmp_path)
    with pytest.raises(CheckpointError, match="p_norm=3: expected p_norm=1 or p_norm=2"):
        load_checkpoint(tmp_path, dataset=graph, p_norm=3, norm_flag=True)


@pytest.mark.parametrize(
    ("writer", "options", "message"),
    [
        (dglke_unnamed, {}, r"mine_entity\.npy does not contain model, .* model=ComplEx or "),
        (dglke_unnamed, {"model": "RotatE"}, r"mine_entity\.npy: gamma is None; .* Give the option gamma=NUMBER"),
    ],
)
def test_what_arrays_alone_do_not_say_is_asked_for(tmp_path, writer, options, message):
    writer(tmp_path)
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path, **options)


@pytest.mark.parametrize("config", ['{"model": "RotatE", "hidden_dim": 2}', '{"model": "RotatE"}', "{}", None])
def test_the_range_of_phases_follows_from_gamma_and_the_width_of_relations(tmp_path, config):
    rotate_arrays(tmp_path)
    expected = load_checkpoint(tmp_path).family.relation
    if config is None:
        (tmp_path / "config.json").unlink()
    else:
        (tmp_path / "config.json").write_text(config)
    with pytest.raises(CheckpointError, match=r"does not contain model|gamma is None; .* Give the option gamma=NUMBER"):
        load_checkpoint(tmp_path)
    found = load_checkpoint(tmp_path, model="RotatE", gamma=-1)
    assert np.array_equal(found.family.relation, expected)
    assert not np.array_equal(load_checkpoint(tmp_path, model="RotatE", gamma=6).family.relation, expected)


@pytest.mark.parametrize("writer", [rotate_arrays, dglke_rotate_arrays])
def test_a_width_that_is_not_the_relations_is_refused(tmp_path, writer):
    writer(tmp_path)
    named = {"model": "RotatE"} if writer is rotate_arrays else {"model_name": "RotatE", "dataset": "d"}
    (tmp_path / "config.json").write_text(json.dumps(named | {"gamma": -1.0, "hidden_dim": 4}))
    with pytest.raises(CheckpointError, match=r"config\.json: hidden_dim is 4, but the relations have 2 columns"):
        load_checkpoint(tmp_path)


def test_several_checkpoints_in_a_folder_are_named(tmp_path):
    torchkge_transe(tmp_path)
    (tmp_path / "n.pkl").write_bytes((tmp_path / "m.pkl").read_bytes())
    with pytest.raises(CheckpointError, match=r"several checkpoints: m\.pkl, n\.pkl"):
        load_checkpoint(tmp_path, model="DistMult")


def test_a_dataset_of_another_size_is_no_home_for_sorted_labels(tmp_path, nations):
    torchkge_transe(tmp_path)
    with pytest.raises(CheckpointError, match="7 entity ids, given to sorted labels, dataset nations has 14"):
        load_checkpoint(tmp_path, dataset=nations, model="DistMult")


@pytest.fixture(scope="module", params=WRITERS, ids=NAMES)
def sound(request, tmp_path_factory):
    """A sound checkpoint, and what its files hold."""
    folder = tmp_path_factory.mktemp(request.param[1].__name__)
    options = request.param[1](folder)[2]
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return folder, options, {path: path.read_bytes() for path in files}


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_one_clear_error_or_another_model(sound, graph, data):
    """A file cut short, or with some of its bytes changed, is read or refused: nothing else comes of it."""
    folder, options, files = sound
    path = data.draw(st.sampled_from(list(files)))
    content = bytearray(files[path])
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    else:
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        path.write_bytes(content)
        load_checkpoint(folder, dataset=graph, nan="worst", **options)
    except KgevalError as error:
        assert str(error)  # noqa: PT017 - a refusal is one of two good outcomes
    finally:
        path.write_bytes(files[path])


@pytest.mark.parametrize(("name", "writer"), WRITERS, ids=NAMES)
def test_a_missing_file_is_named(tmp_path, graph, name, writer):
    _, _, options = writer(tmp_path)
    for path in sorted(path for path in tmp_path.rglob("*") if path.is_file()):
        content = path.read_bytes()
        path.unlink()
        try:
            load_checkpoint(tmp_path, dataset=graph, **options)
        except CheckpointError as error:
            assert str(error)  # noqa: PT017 - labels may be missing, all else may not
        path.write_bytes(content)


def test_what_depends_on_a_model_that_is_missing_too_is_asked_for_with_it(tmp_path, graph):
    state = {"ent_embeddings.weight": torch.ones(7, 4), "rel_embeddings.weight": torch.ones(3, 4)}
    torch.save(state | {"zero_const": torch.ones(1), "pi_const": torch.ones(1)}, tmp_path / "m.ckpt")
    expected = (
        "m.ckpt does not contain model, p_norm and norm_flag, and the scores depend on this. Give the options "
        "model=TransE or model=DistMult; for model=TransE also p_norm=1 or p_norm=2, and norm_flag=true or "
        "norm_flag=false."
    )
    with pytest.raises(UsageError) as refusal:
        load_checkpoint(tmp_path, dataset=graph)
    assert str(refusal.value) == expected
    assert load_checkpoint(tmp_path, dataset=graph, model="TransE", p_norm=1, norm_flag=True).family.name == "TransE"
    assert load_checkpoint(tmp_path, dataset=graph, model="DistMult").family.name == "DistMult"


def configured(folder, writer, **changes):
    """Write a model of dicee's whose configuration says something else, or nothing where it is None."""
    writer(folder)
    path = folder / "configuration.json"
    config = {**json.loads(path.read_text("utf-8")), **changes}
    kept = {name: value for name, value in config.items() if value is not None or name == "normalization"}
    path.write_text(json.dumps(kept), encoding="utf-8")


def test_a_dicee_folder_without_weights_is_refused(tmp_path, graph):
    dicee_lfmult(tmp_path)
    (tmp_path / "model.pt").unlink()
    with pytest.raises(CheckpointError, match=r"no such file '.*model\.pt'"):
        load_checkpoint(tmp_path, dataset=graph, format="dicee")


@pytest.mark.parametrize("model", ["FMult", "FMult2"])
def test_a_dicee_model_of_random_points_has_no_scores(tmp_path, graph, model):
    configured(tmp_path, dicee_lfmult, model=model)
    with pytest.raises(CheckpointError, match=f"configuration.json: model='{model}': expected model=AConEx or model="):
        load_checkpoint(tmp_path, dataset=graph)


def test_the_degree_of_dicees_lfmult_is_asked_for(tmp_path, graph):
    dicee_lfmult(tmp_path)
    stored = load_checkpoint(tmp_path, dataset=graph)
    configured(tmp_path, dicee_lfmult, degree=None)
    with pytest.raises(
        UsageError, match=r"degree of LFMult is None; expected one from 1 to 5\. .* give the option, such as degree=1"
    ):
        load_checkpoint(tmp_path, dataset=graph)
    told = load_checkpoint(tmp_path, dataset=graph, degree=2)
    assert told.origins["degree"] == "option"
    query = Queries.of(graph.test, "tail")
    assert np.array_equal(told.scores(query, np.arange(7)), stored.scores(query, np.arange(7)))


@pytest.mark.parametrize("degree", [0, 1.5, -1, 6, True, "2"])
def test_the_degree_of_dicees_lfmult_divides_its_rows(tmp_path, graph, degree):
    configured(tmp_path, dicee_lfmult, degree=degree)
    with pytest.raises(CheckpointError, match=r"the degree of LFMult is|rows must have at least two of"):
        load_checkpoint(tmp_path, dataset=graph)


def test_how_dicees_aconex_adds_is_asked_for(tmp_path, graph):
    configured(tmp_path, dicee_aconex, scoring_technique=None)
    message = r"does not contain scoring_technique, .* Give the option scoring_technique=NegS"
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path, dataset=graph)
    checkpoint = load_checkpoint(tmp_path, dataset=graph, scoring_technique="KvsAll")
    assert checkpoint.family.options == {"by_triple": False}
