"""The model families: each class is a formula, and its fields are the arrays and options that the formula needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgeval.base.first_use import on_first_use

if TYPE_CHECKING:
    from kgeval.scorers.families.bilinear import CP as CP
    from kgeval.scorers.families.bilinear import RESCAL as RESCAL
    from kgeval.scorers.families.bilinear import AutoSF as AutoSF
    from kgeval.scorers.families.bilinear import ClampedDistMult as ClampedDistMult
    from kgeval.scorers.families.bilinear import DistMA as DistMA
    from kgeval.scorers.families.bilinear import DistMult as DistMult
    from kgeval.scorers.families.bilinear import HolE as HolE
    from kgeval.scorers.families.bilinear import MultiLinearTucker as MultiLinearTucker
    from kgeval.scorers.families.bilinear import SimplE as SimplE
    from kgeval.scorers.families.bilinear import TuckER as TuckER
    from kgeval.scorers.families.complex import ComplEx as ComplEx
    from kgeval.scorers.families.complex import PRotatE as PRotatE
    from kgeval.scorers.families.complex import RotatE as RotatE
    from kgeval.scorers.families.complex import TComplEx as TComplEx
    from kgeval.scorers.families.complex import TNTComplEx as TNTComplEx
    from kgeval.scorers.families.convolutions import AConEx as AConEx
    from kgeval.scorers.families.convolutions import ConEx as ConEx
    from kgeval.scorers.families.convolutions import ConvE as ConvE
    from kgeval.scorers.families.convolutions import ConvKB as ConvKB
    from kgeval.scorers.families.hypercomplex import Keci as Keci
    from kgeval.scorers.families.hypercomplex import LFMult as LFMult
    from kgeval.scorers.families.hypercomplex import QuatE as QuatE
    from kgeval.scorers.families.networks import ERMLP as ERMLP
    from kgeval.scorers.families.networks import ERMLPE as ERMLPE
    from kgeval.scorers.families.networks import NTN as NTN
    from kgeval.scorers.families.networks import CrossE as CrossE
    from kgeval.scorers.families.networks import ProjE as ProjE
    from kgeval.scorers.families.networks import Transformer as Transformer
    from kgeval.scorers.families.projections import BigGraph as BigGraph
    from kgeval.scorers.families.projections import TransD as TransD
    from kgeval.scorers.families.projections import TransH as TransH
    from kgeval.scorers.families.projections import TransR as TransR
    from kgeval.scorers.families.regions import KG2E as KG2E
    from kgeval.scorers.families.regions import BoxE as BoxE
    from kgeval.scorers.families.translations import SE as SE
    from kgeval.scorers.families.translations import LineaRE as LineaRE
    from kgeval.scorers.families.translations import MariusTransE as MariusTransE
    from kgeval.scorers.families.translations import MuRE as MuRE
    from kgeval.scorers.families.translations import PairRE as PairRE
    from kgeval.scorers.families.translations import TorusE as TorusE
    from kgeval.scorers.families.translations import TransE as TransE
    from kgeval.scorers.families.translations import TransF as TransF

__getattr__, __dir__, __all__ = on_first_use(__name__)
