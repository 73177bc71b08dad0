"""The comparison that Triton fuses behind the product: under its interpreter, and as programs of GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgeval.ranking.kernels.device.device_vectors import DIM_MULTIPLE

triton = pytest.importorskip("triton", reason="needs Triton, which is not installed")

ROOT = Path(__file__).parents[2]
INTERPRETED = "own_band or encloses or equal_rows or one_at_a_time or protocols"
"""the tests of ``test_device`` that half an hour is enough for, where a program's every step is one of numpy's"""


def test_the_tests_of_a_device_pass_with_the_fused_comparison():
    """In a process of its own, since Triton reads the variable once."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/ranking/test_device.py"]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command += ["-k", INTERPRETED]
    run = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    assert " passed" in run.stdout


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="the interpreter compiles nothing")
@pytest.mark.parametrize(("kind", "rows", "columns"), [(0, 64, 128), (0, 32, 32), (1, 32, 32), (2, 32, 32)])
@pytest.mark.parametrize("capability", [80, 90])
def test_it_compiles_for_gpus_that_are_not_there(capability, kind, rows, columns):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from kgeval.ranking.kernels.device.fused import _compare_tile

    names = _compare_tile.arg_names
    types = {"queries": "*fp32" if kind else "*fp16", **dict.fromkeys(("above", "unsure", "words"), "*i32")}
    types["entities"] = types["queries"]
    types |= dict.fromkeys(("number", "width", "dim", "num_words"), "i32")
    constants = {"KIND": kind, "ROWS": rows, "COLUMNS": columns, "DEPTH": DIM_MULTIPLE}
    signature = {name: "constexpr" if name in constants else types.get(name, "*fp32") for name in names}
    aligned = {(names.index(name),): [["tt.divisibility", 16]] for name in names if signature[name][0] == "*"}
    source = ASTSource(fn=_compare_tile, signature=signature, constexprs=constants, attrs=aligned)
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})
    # Products of float16 on tensor cores, added up in float32.
    hopper = capability == 90 and rows == 64
    product = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16" if hopper else "m16n8k16.row.col.f32.f16.f16"
    assert (product in made.asm["ptx"]) == (kind == 0)


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="the interpreter compiles nothing")
@pytest.mark.parametrize("kind", range(4))
def test_sums_of_pairs_compile_in_float64(kind):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from kgeval.ranking.kernels.device.fused import DEPTH, PAIRS, _sum_pairs

    types = {"queries": "*fp64", "entities": "*fp32", "owners": "*i64", "candidates": "*i64", "found": "*fp64"}
    constants = {"KIND": kind, "PAIRS": PAIRS, "DEPTH": DEPTH}
    signature = {name: "constexpr" if name in constants else types.get(name, "i32") for name in _sum_pairs.arg_names}
    source = ASTSource(fn=_sum_pairs, signature=signature, constexprs=constants)
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    assert "add.f64" in made or "add.rn.f64" in made
    assert ("sqrt.rn.f64" in made) == (kind == 3)
