"""Variables of the environment in configurations: their values are values, whatever they hold."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kgeval.base.errors import ConfigError, InputError
from kgeval.base.settings_text import QuotedText, dump_yaml, escaped, read_yaml
from kgeval.runs.config.load import load_config, load_configs
from kgeval.runs.config.yaml_document import ExpandingLoader, WrittenLoader
from kgeval.runs.runner import merge, run, run_shard
from kgeval.runs.stored import read_stored_model


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name, value in {"DATA": "graph", "SEED": "7", "EMPTY": "", "ODD": "a: {b"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("UNSET", raising=False)


READ = {
    "${DATA}": "graph",
    "{path: ${DATA}/x, seed: ${SEED}}": {"path": "graph/x", "seed": 7},
    "[${DATA}, '${SEED}', \"${SEED}\", ${SEED}]": ["graph", "7", "7", 7],
    "a: ${UNSET:-12}": {"a": 12},
    "a: ${UNSET:-}": {"a": None},
    "a: ${EMPTY:-b}": {"a": "b"},
    "a: ${EMPTY}": {"a": None},
    "a: ${ODD}": {"a": "a: {b"},
    "a: $${DATA}": {"a": "${DATA}"},
    "{a: $${DATA}}": {"a": "${DATA}"},
    "a: $$${DATA}": {"a": "$${DATA}"},
    "a: $DATA": {"a": "$DATA"},
    "a: 1 # ${UNSET}": {"a": 1},
    "${DATA}: 1": {"graph": 1},
    "a: ${UNSET:-http://x}": {"a": "http://x"},
    "a: ${} ${1} ${A-b}": {"a": "${} ${1} ${A-b}"},
}


@pytest.mark.parametrize(("text", "content"), READ.items())
def test_variables_are_read_as_their_values(text, content):
    assert read_yaml(text, ExpandingLoader) == content


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\0"), min_size=1))
def test_no_value_is_structure(value):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VALUE", value)
        assert read_yaml("{a: ['${VALUE}', 1], b: 2}", ExpandingLoader) == {"a": [value, 1], "b": 2}


@given(
    st.recursive(
        st.text("${}aB:-") | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text("${}a"), inner)
    )
)
def test_what_looks_like_a_variable_survives_being_written(content):
    assert read_yaml(yaml.safe_dump(escaped(content)), ExpandingLoader) == content


def test_a_configuration_and_overrides_take_variables(config, place):
    path = config("dataset: {path: ${DATA}}\nmodel: ${UNSET:-model.safetensors}\nseed: ${SEED}\n")
    settings = load_config(path, ["evaluation.split=${UNSET:-valid}"])
    assert (settings.dataset.path, settings.seed, settings.evaluation.split) == ("graph", 7, "valid")
    with pytest.raises(ConfigError, match=r"--set 'seed=\$\{UNSET\}': the environment variable UNSET is not set\."):
        load_config(path, ["seed=${UNSET}"])


def test_a_run_whose_files_look_like_variables_can_be_run_again(config, place):
    (place / "model.safetensors").rename(place / "${DATA}.safetensors")
    run(load_config(config(models={"a": "$${DATA}.safetensors"}, model=None)), place / "run")
    (again,) = run(load_config(config(models={"a": "$${DATA}.safetensors"}, model=None)), place / "run")
    assert again.stored
    assert load_config(place / "run/a/config.yaml").jobs[""].path == "${DATA}.safetensors"


def test_every_variable_that_is_not_set_is_told_with_all_of_its_lines(config, monkeypatch):
    monkeypatch.delenv("KC", raising=False)
    content = (
        "dataset: {path: '${KC}/graph'}\nmodels:\n  a: ${KC}/a\n  b: ${UNSET}/${KC}/b\n  c: ${DATA}\nseed: ${KC}\n"
    )
    with pytest.raises(ConfigError) as refusal:
        load_config(config(content))
    first, second = str(refusal.value).splitlines()
    assert "the environment variable KC is not set (config lines 1, 3, 4, 6). Set it" in first
    assert "the environment variable UNSET is not set (config line 4). Set it" in second


SECRET = "hunter2!"


@pytest.fixture
def secretive(place, monkeypatch):
    """Write a configuration whose tracker has a secret in it, and whose files lie in a folder that a variable names."""
    for name, value in {"SECRET": SECRET, "STORE": "store"}.items():
        monkeypatch.setenv(name, value)
    (place / "store").mkdir()
    for name in ("graph", "model.safetensors"):
        (place / name).rename(place / "store" / name)
    (place / "c.yaml").write_text(
        "dataset: ${STORE}/graph\n"
        "models:\n  a: &a {path: '${STORE}/model.safetensors'}\n  b: *a\n"
        "tracker: {kind: csv, path: 'told-${SECRET}.csv'}\n"
        "evaluation: {split: '${SPLIT:-test}'}\nseed: ${SEED}\n"
    )
    return place / "c.yaml"


def written_under(*folders):
    """All that is written in some folders, as one text; names of files too."""
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert files
    return "".join(
        str(path.relative_to(path.parents[1])) + path.read_bytes().decode(errors="replace") for path in files
    )


@pytest.mark.parametrize("divided", [False, True])
def test_no_file_of_a_run_holds_a_secret_of_its_tracker_and_paths_are_written_as_they_were(secretive, place, divided):
    pytest.importorskip("altair", reason="a page needs the extra [report]")
    settings = load_config(secretive, ["report=true", "tracker.path='other-${SECRET}.csv'"])
    if divided:
        for number in (1, 2):
            run_shard(settings, place / "run", number, 2)
        assert SECRET not in written_under(place / "run")
        merge(place / "run")
    else:
        run(settings, place / "run")
    text = written_under(place / "run")
    assert SECRET not in text
    assert "other-${SECRET}.csv" in text
    told = (place / f"other-{SECRET}-a.csv").read_text()
    assert SECRET not in told
    config = yaml.safe_load((place / "run/a/config.yaml").read_text())
    assert (config["model"]["path"], config["dataset"]["path"]) == ("${STORE}/model.safetensors", "${STORE}/graph")
    assert (config["seed"], config["evaluation"]["split"]) == (7, "test")  # a run is read without its environment
    inputs = json.loads((place / "run/a/manifest.json").read_text())["sha256"]
    assert {"${STORE}/model.safetensors", "${STORE}/graph/test.txt"} <= {*inputs}


def test_wherever_a_path_or_a_service_has_a_variable_it_is_written_again(config, monkeypatch):
    """In blocks that others refer to or merge, in overrides, and as a number or a short text of a tracker."""
    for name, value in {"SPARE": "spare", "PORT": "0470", "KEY": "7", "NAME": "graph"}.items():
        monkeypatch.setenv(name, value)
    content = (
        "dataset: ${NAME}\ntracker: {kind: csv, path: a.csv, port: ${PORT}, key: '${KEY}'}\nseed: ${SEED}\nmodels:\n"
        "  a: &a {path: '${SPARE}/other.safetensors'}\n  b: {<<: *a, format: native}\n  c: *a\n"
    )
    document = load_config(config(content), ["models.d=${SPARE}/other.safetensors"]).document
    written = document.write(document.content)
    assert written["tracker"] == {"kind": "csv", "path": "a.csv", "port": "${PORT}", "key": "${KEY}"}
    assert (written["seed"], written["dataset"]) == (7, "graph")
    assert [written["models"][name]["path"] for name in "abc"] == ["${SPARE}/other.safetensors"] * 3
    assert written["models"]["d"] == "${SPARE}/other.safetensors"
    again = read_yaml(dump_yaml(written), ExpandingLoader)
    assert again == document.content  # a key that is a number stays the text that it was in quotes


def test_the_path_of_each_seed_and_dataset_is_written_with_its_variable(place, config, monkeypatch):
    monkeypatch.setenv("STORE", "store")
    for seed in (0, 1):
        (place / "store/graph").mkdir(parents=True, exist_ok=True)
        shutil.copy(place / "model.safetensors", place / f"store/graph/{seed}.safetensors")
    content = "datasets: [graph]\nseeds: [0, 1]\nmodels: {a: '${STORE}/{dataset}/{seed}.safetensors'}\n"
    (grid,) = load_configs([config(content)], [], []).values()
    written = grid.document.write(grid.document.content)["models"]
    assert [written[f"a/{seed}"]["path"] for seed in (0, 1)] == [
        f"${{STORE}}/graph/{seed}.safetensors" for seed in (0, 1)
    ]


KEPT = {
    "a word in the variable": ("models: {a: '${NAMED}'}\nseeds: [0, 1]\n", {"a/0": "store/0.safetensors"}),
    "two spellings": (
        "models: {a: '${STORE}/0.safetensors', b: '${OTHER}/0.safetensors'}\n",
        {"b": "store/0.safetensors"},
    ),
    "a merged key": (
        "models: {a: &a {path: '${STORE}/0.safetensors'}, b: {<<: *a, '${KEY}': '${STORE}/1.safetensors'}}\n",
        {"a": "${STORE}/0.safetensors", "b": "store/1.safetensors"},
    ),
}


@pytest.mark.parametrize(("text", "paths"), KEPT.values(), ids=[*KEPT])
def test_a_path_is_stored_so_that_it_is_read_again_as_it_was(place, config, monkeypatch, text, paths):
    """Where what was written would be another path, the path itself is stored."""
    for name, value in {"NAMED": "store/{seed}.safetensors", "STORE": "store", "OTHER": "store", "KEY": "path"}.items():
        monkeypatch.setenv(name, value)
    (place / "store").mkdir()
    for seed in (0, 1):
        shutil.copy(place / "model.safetensors", place / f"store/{seed}.safetensors")
    (part,) = load_configs([config(f"dataset: '${{HERE:-./graph}}'\n{text}")], [], []).values()
    written = part.document.write(part.document.content)
    assert {name: _path(written["models"][name]) for name in paths} == paths
    again = read_yaml(dump_yaml(written), ExpandingLoader)
    before = part.document.content["models"]
    assert {name: _path(block) for name, block in again["models"].items()} == {
        name: _path(block) for name, block in before.items()
    }


def _path(block):
    return block["path"] if isinstance(block, dict) else block


def test_files_below_the_folder_of_a_variable_keep_their_names(place, config, monkeypatch):
    monkeypatch.setenv("HERE", ".")
    (outcome,) = run(
        load_config(config("dataset: '${HERE}/graph'\nmodel: '${HERE}/model.safetensors'\n")), place / "run"
    )
    manifest = json.loads((place / "run/manifest.json").read_text())
    assert {"${HERE}/model.safetensors", "${HERE}/graph/test.txt"} <= {*manifest["sha256"]}
    assert manifest["model"]["files"] == ["${HERE}/model.safetensors"]
    assert read_stored_model(place / "run")[1].num_entities == 9
    assert outcome.ranks is not None


def test_empty_and_long_texts_are_stored_as_they_are(config, monkeypatch):
    monkeypatch.setenv("HERE", ".")
    document = load_config(config("dataset: '${HERE}/graph'\nmodel: '${HERE}/model.safetensors'\n")).document
    document.paths["."] = "${HERE}/"
    long = "x ${PORT:-a default of so many words that it would take a second line where lines end at eighty columns}"
    stored = document.write({"empty": "", "long": QuotedText(long)})
    assert stored["empty"] == ""
    assert read_yaml(dump_yaml({"long": QuotedText(long)}), WrittenLoader) == {"long": long}


def test_an_override_goes_into_a_block_whose_short_form_is_a_variable(config, monkeypatch):
    monkeypatch.setenv("ERR", "0.1")
    text = "dataset: graph\nmodel: model.safetensors\nevaluation:\n  estimate: ${ERR}\n"
    settings = load_config(config(text), ["evaluation.estimate.seed=3"])
    assert (settings.evaluation.estimate.error, settings.evaluation.estimate.seed) == (0.1, 3)


def test_groups_of_a_stored_run_are_read_where_their_variable_says(place, config, monkeypatch):
    monkeypatch.setenv("TYPES", "types")
    (place / "types").mkdir()
    entities = sorted(
        {label for line in (place / "graph/train.txt").read_text().splitlines() for label in line.split()[::2]}
    )
    (place / "types/all.tsv").write_text("entity\ttype\n" + "".join(f"{label}\tthing\n" for label in entities))
    text = "dataset: graph\nmodel: model.safetensors\nby: [kind]\ngroups: {kind: {types: '${TYPES}/all.tsv'}}\n"
    run(load_config(config(text)), place / "run")
    (place / "types").rename(place / "moved")
    monkeypatch.setenv("TYPES", "moved")
    (again,) = run(load_config(config(text)), place / "run")
    assert again.stored


def test_a_stored_configuration_is_run_again_where_its_variables_are_set(secretive, place, monkeypatch):
    first, _ = run(load_config(secretive), place / "run")
    again = load_config(place / "run/a/config.yaml")
    assert again.model.path == "store/model.safetensors"
    (repeated,) = run(again, place / "again")
    assert repeated.summary.to_dict()["metrics"] == first.summary.to_dict()["metrics"]
    (place / "store").rename(place / "elsewhere")
    monkeypatch.setenv("STORE", "elsewhere")
    assert read_stored_model(place / "run/a")[1].num_entities == 9
    monkeypatch.delenv("STORE")
    with pytest.raises(ConfigError, match=r"the environment variable STORE is not set \(config lines .*\)\. Set it"):
        load_config(place / "run/a/config.yaml")


def test_another_value_of_a_variable_is_noticed_by_what_it_changes(secretive, place, monkeypatch):
    def refusal():
        with pytest.raises(InputError) as error:
            run(load_config(secretive), place / "run")
        return str(error.value)

    run(load_config(secretive), place / "run")
    (place / "store").rename(place / "elsewhere")
    monkeypatch.setenv("STORE", "elsewhere")
    assert all(outcome.stored for outcome in run(load_config(secretive), place / "run"))  # it is the same content
    monkeypatch.setenv("SPLIT", "valid")
    assert "evaluation.split is test there, and valid now" in refusal()
    monkeypatch.delenv("SPLIT")
    shutil.copy(place / "spare/other.safetensors", place / "elsewhere/model.safetensors")
    assert "${STORE}/model.safetensors has changed" in refusal()


def test_another_value_of_an_option_is_noticed(place, config, monkeypatch):
    content = {"kind": "pykeen", "model": "DistMult", "training_kwargs": {"num_epochs": 0}}
    content |= {"model_kwargs": {"embedding_dim": 2, "entity_constrainer": "${HOW}"}}
    monkeypatch.setenv("HOW", "normalize")
    run(load_config(config(models={"a": content}, model=None)), place / "run")
    monkeypatch.setenv("HOW", "clamp_norm")
    with pytest.raises(InputError, match="entity_constrainer is normalize there, and clamp_norm now"):
        run(load_config(config(models={"a": content}, model=None)), place / "run")


@pytest.mark.parametrize(
    ("tracker", "message"),
    [
        ({"kind": "${LONG}"}, "tracker.kind: PyKEEN has no"),
        ({"kind": "${NUMBER}"}, "tracker.kind"),
        ({"kind": "${OCTAL}"}, "tracker.kind"),
        ({"kind": "${QUOTED}"}, "tracker.kind"),
        (
            {"kind": "x ${SECRET:-a default of so many words that a dumped text of it takes more than one line}"},
            "tracker.kind",
        ),
        ({"kind": "csv", "path": "a.csv", "token": "${SECRET}", "${SECRET}": 1}, "could not be started"),
        ({"kind": "csv", "path": "${SECRET}/a/b/c.csv"}, "${SECRET}"),
        ({"kind": "${SECRET}"}, "tracker.kind"),
    ],
)
def test_no_error_shows_a_secret_of_the_tracker(place, config, monkeypatch, tracker, message):
    secrets = {"SECRET": SECRET, "LONG": "k" + "0123456789abcdef" * 20, "NUMBER": "12345678", "OCTAL": "0123456"}
    secrets["QUOTED"] = "it's\\ba\"d\n"
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    (place / SECRET).write_text("a file, so that no folder can be made of it")
    with pytest.raises(InputError) as error:
        run(load_config(config(tracker=tracker)), place / "run")
    assert message in str(error.value)
    shown = [*secrets.values(), str(0o123456), repr(secrets["QUOTED"])[1:-1]]
    assert not any(value[:20] in str(error.value) for value in shown)
