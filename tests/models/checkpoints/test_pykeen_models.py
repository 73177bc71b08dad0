"""PyKEEN's models, saved in every way that PyKEEN has: each ranks as the live model does, whatever the order of ids."""

from __future__ import annotations

import contextlib
import gzip
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from pykeen.checkpoints import save_model
from pykeen.models import ERModel, MarginalDistributionBaseline, model_resolver
from pykeen.nn.modules import MultiLinearTuckerInteraction, TransformerInteraction
from pykeen.triples import TriplesFactory

from kgeval import Dataset, Vocabulary, evaluate, load_checkpoint
from kgeval.base.errors import CheckpointError, InputError
from kgeval.base.pickled import read_pickled
from kgeval.data.layouts.pykeen import from_factories
from kgeval.data.queries import Queries
from kgeval.data.triples import Triples
from kgeval.models.adapters.live_models import PyKEENScorer
from tests.models.checkpoints.conftest import same_tables, train

CASES = {
    "AutoSF": ({"embedding_dim": 4}, None),
    "BoxE": ({"embedding_dim": 4}, {"p": 2, "power_norm": False, "tanh_map": True}),
    "BoxE-l1": ({"embedding_dim": 4, "p": 1, "tanh_map": False}, {"p": 1, "power_norm": True, "tanh_map": False}),
    "CP": ({"embedding_dim": 3, "rank": 2}, None),
    "ComplEx": ({"embedding_dim": 4}, {}),
    "ConvE": ({"embedding_dim": 12, "embedding_height": 3, "embedding_width": 4, "output_channels": 2}, None),
    "ConvE-channels": (
        {"embedding_dim": 24, "input_channels": None, "embedding_height": 3, "embedding_width": 4}
        | {"kernel_height": 2, "output_channels": 3},
        None,
    ),
    "ConvE-free": ({"embedding_dim": 12, "output_channels": 2, "apply_batch_normalization": False}, None),
    "ConvKB": ({"embedding_dim": 5, "num_filters": 3}, {}),
    "CrossE": ({"embedding_dim": 5}, {"activation": "tanh"}),
    "DistMA": ({"embedding_dim": 4}, None),
    "DistMult": ({"embedding_dim": 4}, {}),
    "ERMLP": ({"embedding_dim": 5, "hidden_dim": 7}, {"activation": "relu"}),
    "ERMLP-tanh": ({"embedding_dim": 5, "activation": "tanh"}, {"activation": "tanh"}),
    "ERMLPE": ({"embedding_dim": 5, "hidden_dim": 7}, {}),
    "HolE": ({"embedding_dim": 5}, None),
    "KG2E": ({"embedding_dim": 37}, {"similarity": "kl"}),
    "KG2E-el": ({"embedding_dim": 5, "dist_similarity": "el"}, {"similarity": "el"}),
    "MuRE": ({"embedding_dim": 4}, {"p": 2, "power_norm": True}),
    "NTN": ({"embedding_dim": 5, "num_slices": 3}, {"activation": "tanh"}),
    "NTN-relu": ({"embedding_dim": 5, "non_linearity": "relu"}, {"activation": "relu"}),
    "PairRE": ({"embedding_dim": 4, "p": 2}, {"p": 2, "entity_normalizer": "normalize"}),
    "PairRE-free": ({"embedding_dim": 4, "entity_normalizer": None}, {"p": 1, "entity_normalizer": "none"}),
    "ProjE": ({"embedding_dim": 5}, {"inner_activation": "tanh", "outer_activation": "identity"}),
    "QuatE": ({"embedding_dim": 2}, {"relation_normalizer": "normalize"}),
    "QuatE-free": ({"embedding_dim": 2, "relation_normalizer": None}, {"relation_normalizer": "none"}),
    "RESCAL": ({"embedding_dim": 3}, {}),
    "RotatE": ({"embedding_dim": 4}, None),
    "SE": ({"embedding_dim": 4, "scoring_fct_norm": 1}, None),
    "SimplE": ({"embedding_dim": 3}, None),
    "SimplE-clamped": ({"embedding_dim": 3, "clamp_score": 0.1}, None),
    "TorusE": ({"embedding_dim": 5}, {"p": 2}),
    "TorusE-1": ({"embedding_dim": 5, "p": 1}, {"p": 1}),
    "TransD": ({"embedding_dim": 4, "relation_dim": 3}, None),
    "TransE": ({"embedding_dim": 4, "scoring_fct_norm": 1}, None),
    "TransF": ({"embedding_dim": 4}, None),
    "TransH": ({"embedding_dim": 4}, None),
    "TransR": ({"embedding_dim": 4, "relation_dim": 3}, None),
    "TuckER": ({"embedding_dim": 4, "relation_dim": 3}, {}),
    "UM": ({"embedding_dim": 4, "scoring_fct_norm": 1}, None),
}
"""model: its arguments, and what must be said of a state dictionary; None where no such test is made"""

BARE = {
    "MultiLinearTucker": (
        MultiLinearTuckerInteraction,
        {"head_dim": 3, "relation_dim": 4, "tail_dim": 5},
        [{"shape": 3}, {"shape": 5}],
    ),
    "Transformer": (
        TransformerInteraction,
        {"input_dim": 4, "num_heads": 2, "num_layers": 2, "dim_feedforward": 6},
        {"shape": 4},
    ),
}
"""interactions that PyKEEN has no model for: their arguments, and the shapes of entities; relations have 4 numbers"""


def shuffled(factory, *, inverse=False):
    """The same triples under ids in another order."""
    rng = np.random.default_rng(3)
    entities, relations = (torch.from_numpy(rng.permutation(n)) for n in (factory.num_entities, factory.num_relations))
    h, r, t = factory.mapped_triples.T
    ids = (
        {label: order[index].item() for label, index in mapping.items()}
        for mapping, order in ((factory.entity_to_id, entities), (factory.relation_to_id, relations))
    )
    triples = torch.stack([entities[h], relations[r], entities[t]], dim=1)
    return TriplesFactory(triples, *ids, create_inverse_triples=inverse)


def with_inverses(given, inverse=True):
    ids = given.entity_to_id, given.relation_to_id
    return TriplesFactory(given.mapped_triples, *ids, create_inverse_triples=inverse)


def moved(model):
    """Move every number, the statistics of normalisations too, so that none is what it began as."""
    rng = np.random.default_rng(1)
    with torch.no_grad():
        statistics = [numbers for name, numbers in model.named_buffers() if "running_" in name]
        for numbers in (*model.parameters(), *statistics):
            if numbers.is_floating_point():
                numbers.add_(torch.from_numpy(np.asarray(rng.normal(0, 0.2, tuple(numbers.shape)))))
        for name, numbers in model.named_buffers():
            if name.endswith("running_var"):
                numbers.abs_()
    model.post_parameter_update()
    return model.eval()


def live(case, factory, **kwargs):
    """A model in float64."""
    if case in BARE:
        interaction, arguments, entities = BARE[case]
        kwargs = {"interaction": interaction, "interaction_kwargs": arguments}
        kwargs |= {"entity_representations_kwargs": entities, "relation_representations_kwargs": {"shape": 4}}
        return moved(ERModel(triples_factory=factory, random_seed=0, **kwargs).double())
    kwargs = kwargs or CASES[case][0]
    return moved(model_resolver.make(case.split("-")[0], triples_factory=factory, random_seed=0, **kwargs).double())


COUNTS = ["side", "triple", "greater", "tied", "candidates", "raw_greater", "raw_tied", "raw_candidates"]


def assert_same_ranks(checkpoint, model, dataset):
    """Every count is that of PyKEEN's own scores, which are the same but for a constant; TransD's are squared."""
    ours, theirs = (evaluate(scorer, dataset).to_pandas() for scorer in (checkpoint, PyKEENScorer(model)))
    assert ours[COUNTS].equals(theirs[COUNTS])
    if type(model).__name__ != "TransD":
        assert (ours["score"] - theirs["score"]).std() < 1e-9 < ours["score"].std()


def by_label(table):
    """Every count, in an order that does not depend on ids."""
    keys = ["side", "head_label", "relation_label", "tail_label"]
    frame = table.to_pandas()[[*keys, *COUNTS[2:]]]
    return sorted(map(tuple, frame.astype(dict.fromkeys(keys, "str")).to_numpy().tolist()))


@pytest.mark.parametrize(("case", "inverse"), [(case, bool(n % 2)) for n, case in enumerate([*CASES, *BARE])])
def test_a_pickled_model_ranks_as_it_does_alive(factories, nations, tmp_path, case, inverse):
    """As a folder with ids of its own, on a graph with other ids, and as a bare pickle."""
    parts = {name: shuffled(part, inverse=inverse and name == "training") for name, part in factories.items()}
    model, dataset = live(case, parts["training"]), from_factories(parts, name="shuffled")
    torch.save(model, tmp_path / "trained_model.pkl")
    bare = load_checkpoint(tmp_path)
    assert (bare.entities, bare.format) == (None, "pykeen")
    assert_same_ranks(bare, model, dataset)
    parts["training"].to_path_binary(tmp_path / "training_triples")
    checkpoint = load_checkpoint(tmp_path, dataset=nations)
    assert list(checkpoint.entities) == list(dataset.entities) != list(nations.entities)
    own = evaluate(checkpoint, dataset)
    assert same_tables(own, evaluate(bare, dataset))
    assert by_label(evaluate(checkpoint, nations)) == by_label(own)
    assert checkpoint.describe()["reciprocal"] == inverse
    assert (checkpoint.num_relations, checkpoint.family.num_relations) == (55, 55 * (1 + inverse))


# State dictionaries


def saved_loop(model, factory, path):
    """Write what a training loop saves of a model, as far as it is read."""
    ids = {f"{kind}_to_id_dict": getattr(factory, f"{kind}_to_id") for kind in ("entity", "relation")}
    torch.save({"model_state_dict": model.state_dict(), **ids}, path)


WRITERS = {
    "loop": saved_loop,
    "bare": lambda model, _, path: torch.save(model.state_dict(), path),
    "save_model": lambda model, _, path: save_model(model, path),
    "parallel": lambda model, _, path: torch.save(torch.nn.DataParallel(model).state_dict(), path),
}


STATES = [case for case, (_, said) in CASES.items() if said is not None]
WRITTEN = [
    (case, writer)
    for number, case in enumerate(STATES)
    for writer in ("loop", [*WRITERS][1 + number % (len(WRITERS) - 1)])
]
"""each model as a training loop saves it, and in one of the other ways, by turns"""


@pytest.mark.parametrize("inverse", [False, True], ids=["plain", "inverse"])
@pytest.mark.parametrize(("case", "writer"), WRITTEN)
def test_a_state_ranks_as_its_model(factories, tmp_path, case, writer, inverse):
    factory, path = with_inverses(factories["training"], inverse), tmp_path / "m.pt"
    model, options = live(case, factory), {"model": case.split("-")[0], **CASES[case][1]}
    WRITERS[writer](model, factory, path)
    told = options if writer == "loop" else {**options, "reciprocal": inverse}
    checkpoint = load_checkpoint(path, **told)
    assert checkpoint.format == "pykeen"
    assert checkpoint.origins["reciprocal"] == ("m.pt" if writer == "loop" else "option")
    assert (checkpoint.entities is None) == (writer != "loop")
    assert_same_ranks(checkpoint, model, from_factories({**factories, "training": factory}))
    for missing in told.keys() - {"model"}:
        with pytest.raises(CheckpointError, match=rf"does not contain {missing}, .*\. Give the option {missing}="):
            load_checkpoint(path, **{key: value for key, value in told.items() if key != missing})


@pytest.mark.parametrize("inverse", [False, True])
def test_the_number_of_relations_of_the_dataset_tells_inverses(tmp_path, factories, nations, inverse):
    model = live("ComplEx", with_inverses(factories["training"], inverse))
    save_model(model, tmp_path / "m.pt")
    checkpoint = load_checkpoint(tmp_path, dataset=nations, model="ComplEx")
    assert checkpoint.origins["reciprocal"] == "the number of relations of dataset nations"
    assert_same_ranks(checkpoint, model, nations)
    with pytest.raises(CheckpointError, match=r"reciprocal=.* contradicts the number of relations of dataset nations"):
        load_checkpoint(tmp_path, dataset=nations, model="ComplEx", reciprocal=not inverse)


def test_labels_beside_a_state_tell_its_ids(tmp_path, factories, nations):
    model = train("TransE", factories, tmp_path, {"embedding_dim": 3})
    torch.save(model.state_dict(), tmp_path / "m.pt")
    checkpoint = load_checkpoint(tmp_path / "m.pt", model="TransE", p=1)
    assert checkpoint.entities == nations.entities
    assert checkpoint.origins["reciprocal"] == "m.pt"
    assert load_checkpoint(tmp_path).files[0].name == "trained_model.pkl"


def test_relations_that_do_not_tell_inverses(tmp_path, factories, nations):
    save_model(live("DistMult", factories["training"]), tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match="a reciprocal model has two rows per relation, so an even number"):
        load_checkpoint(tmp_path, model="DistMult", reciprocal=True)
    fewer = Vocabulary(list(nations.relations)[:40], "relation")
    splits = {"train": Triples.of([(0, 0, 1)]), "test": Triples.of([(1, 0, 0)])}
    few = Dataset.build("few", splits, entities=nations.entities, relations=fewer)
    with pytest.raises(CheckpointError, match="of dataset few does not contain reciprocal"):
        load_checkpoint(tmp_path, dataset=few, model="DistMult")


KL = {"model": "KG2E", "similarity": "kl", "reciprocal": False}


@pytest.mark.parametrize(
    ("case", "change", "options", "message"),
    [
        ("CompGCN", {}, {"model": "DistMult"}, "its entity representation is not a plain embedding"),
        ("SimplE", {}, {"model": "DistMult"}, r"a DistMult does not use the tensors 'entity_representations\.1\."),
        ("BoxE", {}, {"model": "BoxE", "p": 2, "power_norm": True, "tanh_map": True}, "squared before they are added"),
        # Of other rows tables cannot be joined, of other widths the halves would not be what they are called.
        ("KG2E", {"entity": (28, 4)}, KL, r"halves of a table have different shapes: .*\(28, 4\)"),
        ("KG2E", {"relation": (55, 8)}, KL, r"halves of a table have different shapes: .*\(55, 8\)"),
    ],
)
def test_a_state_of_another_model_is_refused(tmp_path, factories, case, change, options, message):
    factory = with_inverses(factories["training"], case == "CompGCN")
    model = live(case, factory, embedding_dim=4)
    saved_loop(model, factory, tmp_path / "m.pt")
    content = read_pickled(tmp_path / "m.pt")["model_state_dict"]
    assert case != "SimplE" or "relation_representations.1._embeddings.weight" in content
    if change:
        state = {f"{kind}_representations.1._embeddings.weight": torch.ones(shape) for kind, shape in change.items()}
        torch.save(model.state_dict() | state, tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(tmp_path / "m.pt", **options)


def test_a_dictionary_without_vectors_of_entities_is_no_model(tmp_path):
    torch.save({"weights": torch.ones(3)}, tmp_path / "trained_model.pkl")
    with pytest.raises(CheckpointError, match="holds no vectors of entities under PyKEEN's names"):
        load_checkpoint(tmp_path)


# What has no formula, or no numbers


def of_sigmoid(model):
    model.interaction.outer_activation = torch.nn.Sigmoid()


def of_no_variance(model):
    model.relation_representations[1]._embeddings.weight.data[2, 1] = -1


LEFT = "Evaluate the live model instead"


@pytest.mark.parametrize(
    ("name", "kwargs", "change", "reason"),
    [
        ("ERMLP", {"activation": "selu"}, None, f"its activation is selu; kgeval has identity, relu, .*{LEFT}"),
        ("NTN", {"non_linearity": "hardtanh"}, None, f"its activation is hardtanh.*{LEFT}"),
        ("TorusE", {"p": 3}, None, f"its distance is the norm of p = 3.*{LEFT}"),
        ("TransE", {"scoring_fct_norm": 3}, None, f"its distance is the norm of p = 3; kgeval has 1 and 2.*{LEFT}"),
        ("TransE", {"predict_with_sigmoid": True}, None, f"it ranks on sigmoids of its scores.*{LEFT}"),
        ("ProjE", {}, of_sigmoid, "its scores pass an outer activation, which rounds high scores to ties"),
        ("KG2E", {}, of_no_variance, r"a variance of 'relation' is not between 1e-06 and 1e\+09"),
    ],
)
def test_what_has_no_formula_is_left_to_the_live_model(factories, tmp_path, name, kwargs, change, reason):
    model = live(name, factories["training"], embedding_dim=3, **kwargs)
    if change:
        change(model)
    torch.save(model, tmp_path / "trained_model.pkl")
    with pytest.raises(CheckpointError, match=reason):
        load_checkpoint(tmp_path)


def test_a_pickled_baseline_is_left_to_the_live_model(factories, tmp_path):
    torch.save(MarginalDistributionBaseline(factories["training"]), tmp_path / "trained_model.pkl")
    with pytest.raises(CheckpointError, match=f"Baseline, which counts triples: kgeval reads no counts.*{LEFT}"):
        load_checkpoint(tmp_path)


def test_hidden_layers_without_life_tie(factories, tmp_path):
    """Below zero, relu leaves nothing of entities: scores that are equal in PyKEEN are equal here."""
    model = live("ERMLP", factories["training"], embedding_dim=3)
    with torch.no_grad():
        model.interaction.hidden.bias -= 0.6
    torch.save(model, tmp_path / "trained_model.pkl")
    dataset = from_factories(factories)
    checkpoint = load_checkpoint(tmp_path)
    assert_same_ranks(checkpoint, model, dataset)
    assert evaluate(checkpoint, dataset).to_pandas()["tied"].max() > 3


@pytest.mark.parametrize("case", ["ConvKB", "ERMLP", "KG2E", "NTN", "TorusE"])
def test_candidates_of_their_own_score_as_those_of_all(factories, tmp_path, case):
    """To the last bit, many queries at a time and few."""
    torch.save(live(case, factories["training"]), tmp_path / "trained_model.pkl")
    model = load_checkpoint(tmp_path).model
    queries = Queries.of(Triples.of(factories["training"].mapped_triples[:200].numpy()), "head")
    everyone = model.scores(queries, np.arange(14))
    own = np.random.default_rng(0).integers(14, size=(len(queries), 5))
    assert np.array_equal(model.scores(queries, own), np.take_along_axis(everyone, own, axis=1))
    assert np.array_equal(model.scores(queries[3:4], np.arange(14)), everyone[3:4])


# A folder that PyKEEN's pipeline saved; how it ranks is in tests/parity/test_pykeen.py


@pytest.mark.parametrize("name", ["model.pt", "model.pth", "model.pkl"])
def test_a_bare_pickle_may_have_any_name(transe_folder, tmp_path, name):
    shutil.copyfile(transe_folder / "trained_model.pkl", tmp_path / name)
    assert load_checkpoint(tmp_path / name).format == load_checkpoint(tmp_path, format="pykeen").format == "pykeen"


@pytest.mark.parametrize("option", [{"reciprocal": True}, {"norm": 1}, {"model": "DistMult"}])
def test_options_that_the_pickle_tells_must_not_be_contradicted(transe_folder, option):
    with pytest.raises(CheckpointError, match=r"contradicts trained_model\.pkl, which has"):
        load_checkpoint(transe_folder, **option)


@pytest.mark.parametrize("option", [{"reciprocal": False}, {"norm": 2}, {"model": "TransE"}, {"model": "transe"}])
def test_options_that_the_pickle_tells_may_be_repeated(transe_folder, option):
    assert load_checkpoint(transe_folder, **option).family.options == {"norm": 2}


def test_an_unknown_option_is_refused(transe_folder):
    with pytest.raises(CheckpointError, match=r"unknown option 'nrm' for this checkpoint. Did you mean 'norm'\?"):
        load_checkpoint(transe_folder, nrm=4)


def test_a_dataset_of_other_labels_is_refused(transe_folder, nations):
    other = replace(nations, entities=Vocabulary([f"e{index}" for index in range(14)]))
    with pytest.raises(InputError, match="no entity label of the model occurs in dataset nations"):
        load_checkpoint(transe_folder, dataset=other)


@pytest.fixture
def copied(transe_folder, tmp_path):
    return shutil.copytree(transe_folder, tmp_path / "copy")


@pytest.mark.parametrize(
    "damage", [b"", b"junk", gzip.compress(b"id\tlabel\nx\ty\n", mtime=0), gzip.compress(b"0\ta\n", mtime=0)]
)
def test_damaged_label_files_are_refused(copied, damage):
    (copied / "training_triples/entity_to_id.tsv.gz").write_bytes(damage)
    message = r"entity_to_id\.tsv\.gz.*(cannot be read|is not)|14 entity rows, but [01] entity labels"
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(copied)


def test_label_files_cut_short_or_altered_anywhere_are_refused(copied):
    path, expected = copied / "training_triples/relation_to_id.tsv.gz", load_checkpoint(copied).relations
    whole = path.read_bytes()
    for length in range(0, len(whole), 10):
        for damaged in (whole[:length], whole[:length] + bytes([whole[length] ^ 255]) + whole[length + 1 :]):
            path.write_bytes(damaged)
            # What is altered may be the time stamp or the name, which nobody reads.
            with contextlib.suppress(CheckpointError):
                assert load_checkpoint(copied).relations == expected


def test_a_folder_without_its_model_is_no_checkpoint(copied):
    (copied / "trained_model.pkl").unlink()
    with pytest.raises(CheckpointError, match="in no known checkpoint format"):
        load_checkpoint(copied)
