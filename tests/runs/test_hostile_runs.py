"""Run directories that others made: nothing outside of them is read, cleared or taken for a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgeval.base.errors import FileError, InputError
from kgeval.runs.config.load import load_config
from kgeval.runs.runner import run
from kgeval.runs.stored import read_outcomes
from kgeval.stored.contents import STAGE, read_json
from kgeval.stored.folders import Place
from kgeval.stored.stored_run import StoredRun
from tests.runs.test_several_models import MODELS

OUTSIDE = ["/etc/hostname", "../secret", "a/b", "..", ".", "", "a\0b", "a" * 5000, "a\\b"]
"""names that lead out of a folder, or are none"""


def make(config, **keys):
    run(load_config(config(**keys)), Path("run"))
    return Path("run")


def test_a_stage_that_is_a_link_is_refused_and_what_it_leads_to_is_kept(config, place):
    """What lies on a stage is cleared: behind a link that is somebody else's."""
    (place / "diary").mkdir()
    (place / "diary" / "page.txt").write_text("dear diary")
    (place / "run").mkdir()
    (place / "run" / STAGE).symlink_to(place / "diary")
    with pytest.raises(InputError, match="a link to another folder"):
        make(config)
    assert (place / "diary" / "page.txt").read_text() == "dear diary"
    assert (place / "run" / STAGE).is_symlink()


def test_a_link_on_the_stage_is_cleared_and_not_followed(config, place):
    (place / "diary").mkdir()
    (place / "diary" / "page.txt").write_text("dear diary")
    (place / "run" / STAGE).mkdir(parents=True)
    (place / "run" / STAGE / "model").symlink_to(place / "diary")
    assert (make(config) / "ranks.parquet").is_file()
    assert (place / "diary" / "page.txt").read_text() == "dear diary"


REMAINS = ["{}", '{"written": [1]}', '{"written": {"../x": "0"}}', '{"written": 3}', "[]", "{", '{"a": NaN}', "\udcff"]


@pytest.mark.parametrize("manifest", REMAINS)
def test_a_manifest_on_the_stage_that_no_run_wrote_is_cleared(config, place, manifest):
    (place / "run" / STAGE).mkdir(parents=True)
    (place / "run" / STAGE / "manifest.json").write_bytes(manifest.encode("utf-8", "surrogateescape"))
    (place / "run" / STAGE / "junk").write_text("junk")
    folder = make(config)
    assert StoredRun(folder).faults == {}
    assert not (folder / STAGE).exists()
    assert not (folder / "junk").exists()


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_manifest_names_files_beside_it_only(tmp_path, name):
    (tmp_path / "manifest.json").write_text(json.dumps({"written": {name: "0"}}))
    with pytest.raises(InputError, match="not the name of a file beside it"):
        _ = StoredRun(tmp_path).faults


def test_a_file_of_a_run_that_is_a_device_is_not_read(config):
    folder = make(config)
    (folder / "metrics.json").unlink()
    (folder / "metrics.json").symlink_to("/dev/zero")
    assert StoredRun(folder).faults == {"metrics.json": "is no file"}
    with pytest.raises(FileError, match="is a device"):
        read_json(folder / "metrics.json")


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_common_table_names_folders_beside_it_only(place, name):
    (place / "many").mkdir()
    (place / "many" / "metrics.json").write_text(json.dumps({"schema": 1, "models": {name: {}}}))
    with pytest.raises(InputError, match="not the name of a folder beside it"):
        read_outcomes(Place(place / "many"))


@pytest.mark.parametrize(
    "table", [{"models": {"a/b": {}}}, {"models": {}, "failed": []}, {"failed": {"": "no"}, "models": {}}]
)
def test_a_damaged_common_table_is_refused_and_that_of_another_program_left_aside(place, table):
    (place / "metrics.json").write_text(json.dumps(table))
    assert Place(place).table is None
    (place / "metrics.json").write_text(json.dumps({"schema": 1, **table}))
    with pytest.raises(InputError, match="is damaged"):
        _ = Place(place).table


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{here}: &{here} [{', '.join(['*' + before] * 10)}]\n" for before, here in zip("abcdefgh", "bcdefghi", strict=True)
)
"""a thousand million values"""


def test_a_stored_configuration_may_not_unfold(config, place):
    """Resuming compares every value of it."""
    run(load_config(config(model=None, models=MODELS)), Path("run"))
    name = next(iter(MODELS))
    (place / "run" / name / "config.yaml").write_text(LAUGHS)
    with pytest.raises(InputError, match=r"(?s)not the configuration of a run.*Add --force"):
        run(load_config(config(model=None, models=MODELS)), Path("run"))


def test_a_manifest_of_other_blocks_is_damaged(config, place):
    run(load_config(config(model=None, models=MODELS)), Path("run"))
    path = place / "run" / next(iter(MODELS)) / "manifest.json"
    path.write_text(json.dumps(read_json(path) | {"dataset": 3, "sha256": [], "versions": "x"}))
    with pytest.raises(InputError, match=r"manifest\.json' is damaged.*evaluate again with --force"):
        run(load_config(config(model=None, models=MODELS)), Path("run"))
