"""The model families: each class is a formula, and its fields are the arrays and options that the formula needs.

Their base classes are in ``kgeval/models/family.py``. To add a family, declare a class in one of these files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.base.first_use import on_first_use

if TYPE_CHECKING:
    from kgeval.models.families.bilinear import CP as CP
    from kgeval.models.families.bilinear import RESCAL as RESCAL
    from kgeval.models.families.bilinear import AutoSF as AutoSF
    from kgeval.models.families.bilinear import ClampedDistMult as ClampedDistMult
    from kgeval.models.families.bilinear import DistMA as DistMA
    from kgeval.models.families.bilinear import DistMult as DistMult
    from kgeval.models.families.bilinear import HolE as HolE
    from kgeval.models.families.bilinear import MultiLinearTucker as MultiLinearTucker
    from kgeval.models.families.bilinear import SimplE as SimplE
    from kgeval.models.families.bilinear import TuckER as TuckER
    from kgeval.models.families.complex import ComplEx as ComplEx
    from kgeval.models.families.complex import PRotatE as PRotatE
    from kgeval.models.families.complex import RotatE as RotatE
    from kgeval.models.families.complex import TComplEx as TComplEx
    from kgeval.models.families.complex import TNTComplEx as TNTComplEx
    from kgeval.models.families.convolutions import AConEx as AConEx
    from kgeval.models.families.convolutions import ConEx as ConEx
    from kgeval.models.families.convolutions import ConvE as ConvE
    from kgeval.models.families.convolutions import ConvKB as ConvKB
    from kgeval.models.families.hypercomplex import Keci as Keci
    from kgeval.models.families.hypercomplex import LFMult as LFMult
    from kgeval.models.families.hypercomplex import QuatE as QuatE
    from kgeval.models.families.networks import ERMLP as ERMLP
    from kgeval.models.families.networks import ERMLPE as ERMLPE
    from kgeval.models.families.networks import NTN as NTN
    from kgeval.models.families.networks import CrossE as CrossE
    from kgeval.models.families.networks import ProjE as ProjE
    from kgeval.models.families.networks import Transformer as Transformer
    from kgeval.models.families.projections import BigGraph as BigGraph
    from kgeval.models.families.projections import TransD as TransD
    from kgeval.models.families.projections import TransH as TransH
    from kgeval.models.families.projections import TransR as TransR
    from kgeval.models.families.regions import KG2E as KG2E
    from kgeval.models.families.regions import BoxE as BoxE
    from kgeval.models.families.translations import SE as SE
    from kgeval.models.families.translations import LineaRE as LineaRE
    from kgeval.models.families.translations import MariusTransE as MariusTransE
    from kgeval.models.families.translations import MuRE as MuRE
    from kgeval.models.families.translations import PairRE as PairRE
    from kgeval.models.families.translations import TorusE as TorusE
    from kgeval.models.families.translations import TransE as TransE
    from kgeval.models.families.translations import TransF as TransF

__getattr__, __dir__, __all__ = on_first_use(__name__)
