"""YAML: read as PyYAML reads it, and refused where it unfolds beyond what settings are."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kgeval import load_checkpoint, load_dataset
from kgeval.base.errors import ConfigError, KgevalError
from kgeval.base.settings_text import read_yaml
from kgeval.runs.config.load import load_config
from tests.models.checkpoints.memory import at_most

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(PLAIN)
def test_it_is_read_as_the_library_reads_it(content):
    text = yaml.safe_dump([content, content], allow_unicode=True)
    assert read_yaml(text) == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text", ["", "# nothing", "1", "a: &a {b: 1}\nc: {<<: *a}", "a: [&x 1, *x]", "? 2020-01-02\n: 3"]
)
def test_aliases_and_odd_keys_are_read(text):
    assert read_yaml(text) == yaml.safe_load(text)


def nested(levels, opening, closing, alias="{}"):
    rows = [f"l{n + 1}: &l{n + 1} {opening}{', '.join([alias.format(f'*l{n}')] * 9)}{closing}" for n in range(levels)]
    first = "l0: &l0 {a: 1}" if "<<" in opening else f"l0: &l0 {opening}x{closing}"
    return "\n".join([first, *rows])


BOMBS = {
    "aliases": nested(30, "[", "]"),
    "merge keys": nested(30, "{<<: [", "]}"),
    "aliases as keys": "\n".join(
        ["l0: &l0 {x: 1}", *(f"l{n + 1}: &l{n + 1} {{a: *l{n}, b: *l{n}}}" for n in range(40))]
    ),
    "itself": "a: &a [*a]",
    "itself as a key": "&a\n? *a\n: 1",
    "many": "[" + "1," * 20_000 + "1]",
    "long": "a: " + "1:" + "1:" * 60_000 + "1",
    "large keys": "\n".join(f"{index * (2**61 - 1)}: 1" for index in range(1, 50)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_unfolds_without_end_is_refused(name):
    why = r"expand|contains itself|more than 20000 values|is too long|a key is a number"
    with at_most(64), pytest.raises(ValueError, match=why):
        read_yaml(BOMBS[name])


@pytest.mark.parametrize("name", BOMBS)
def test_everywhere_it_is_read(tmp_path, name):
    for file in ("dataset.yaml", "full_config.yaml", "config.yaml"):
        (tmp_path / file).write_text(BOMBS[name])
    (tmp_path / "train.del").write_text("0\t0\t1\n")
    with pytest.raises(ConfigError, match="not readable YAML"):
        load_config(tmp_path / "config.yaml")
    for layout in ("libkge", "marius"):
        with pytest.raises(KgevalError, match=r"dataset\.yaml: cannot be read as YAML"):
            load_dataset(tmp_path, layout=layout)
    with pytest.raises(KgevalError, match=r"full_config\.yaml: not a readable configuration of Marius"):
        load_checkpoint(tmp_path, format="marius")


def test_a_configuration_of_many_mistakes_tells_some(tmp_path):
    keys = ", ".join(f"k{index}: 1" for index in range(300))
    (tmp_path / "config.yaml").write_text(f"dataset: {{path: graph}}\nmodel: {{path: m, {keys}}}\n")
    with pytest.raises(ConfigError) as refusal:
        load_config(tmp_path / "config.yaml")
    assert "more problems" in str(refusal.value)
    assert len(str(refusal.value).splitlines()) < 110


@pytest.mark.parametrize("size", [10**15, True, 0, "many", 10**400])
@pytest.mark.parametrize("layout", ["libkge", "marius"])
def test_a_number_of_entities_is_one_that_there_can_be(tmp_path, layout, size):
    from tests.data import stored_layouts

    getattr(stored_layouts, layout)(tmp_path)
    for labels in ("entity_ids.del", "nodes/node_mapping.txt"):
        (tmp_path / labels).unlink(missing_ok=True)
    content = yaml.safe_load((tmp_path / "dataset.yaml").read_text())
    content.get("dataset", content)["num_entities" if layout == "libkge" else "num_nodes"] = size
    (tmp_path / "dataset.yaml").write_text(yaml.safe_dump(content))
    with at_most(8), pytest.raises(KgevalError, match=r"must say num_|do not fit into memory|as YAML"):
        load_dataset(tmp_path)


@pytest.mark.parametrize("number", ["1" + ":1" * 100, "1" + ":1" * 100 + ".5", "9" * 101])
def test_a_number_has_a_bounded_length(number):
    """YAML 1.1 counts in base 60 too, which takes the square of their length."""
    with pytest.raises(ValueError, match="characters is too long"):
        read_yaml(f"a: {number}")
    assert read_yaml(f"a: '{number}'") == {"a": number}
    assert read_yaml("a: 1:30\nb: 2001-12-14t21:59:43.10-05:00")["a"] == 90
