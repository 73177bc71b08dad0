"""Variables of the environment in configurations: their values are values, whatever they hold."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kgeval.errors import ConfigError
from kgeval.files.yaml_text import read_yaml
from kgeval.runs.config.environment_variables import ExpandingLoader, escaped
from kgeval.runs.config.load import load_config
from kgeval.runs.config.yaml_document import read_document
from kgeval.runs.runner import run


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


def test_a_variable_that_is_not_set_is_told_with_its_line(place):
    (place / "c.yaml").write_text("dataset: ${DATA}\nmodel:\n  path: ${UNSET}/model\n")
    with pytest.raises(ConfigError, match=r"c\.yaml: the environment has no variable UNSET \(config line 3\)\. Set it"):
        read_document(place / "c.yaml")


def test_a_configuration_and_overrides_take_variables(config, place):
    path = config("dataset: {path: ${DATA}}\nmodel: ${UNSET:-model.safetensors}\nseed: ${SEED}\n")
    settings = load_config(path, ["evaluation.split=${UNSET:-valid}"])
    assert (settings.dataset.path, settings.seed, settings.evaluation.split) == ("graph", 7, "valid")
    with pytest.raises(ConfigError, match=r"--set 'seed=\$\{UNSET\}': the environment has no variable UNSET\."):
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
    assert "the environment has no variable KC (config lines 1, 3, 4, 6). Set it" in first
    assert "the environment has no variable UNSET (config line 4). Set it" in second
