"""How well Gaussian distributions agree, compiled: sums from the first dimension to the last, logarithms of products.

Queries are float64[query, dim], others float64[dim, other], ``out`` is float64[query, other].
"""

from __future__ import annotations

import math

import numpy as np

from kgeval.compiling import njit

FACTORS = 32
"""variances that are multiplied before a logarithm is taken: within 1e-6 and 3e9 each, their product is a number"""


@njit(cache=True, nogil=True)
def divergences(means, variances, weights, other_means, other_variances, out):  # type: ignore[no-untyped-def]
    """Write Σ w (v + v' + (m − m')²) − Σ log (v + v') of each query (m, v, w) and each other (m', v')."""
    products = np.ones(out.shape[1])
    for row in range(len(means)):
        total = out[row]
        total[:] = 0.0
        for k in range(len(other_means)):
            mean, variance, weight = means[row, k], variances[row, k], weights[row, k]
            other_mean, other_variance = other_means[k], other_variances[k]
            for column in range(len(total)):
                apart, joint = mean - other_mean[column], variance + other_variance[column]
                products[column] *= joint
                total[column] += weight * (joint + apart * apart)
            if (k + 1) % FACTORS == 0 or k + 1 == len(other_means):
                _add_logarithms(total, products, -1.0)


@njit(cache=True, nogil=True)
def likelihoods(means, variances, other_means, other_variances, out):  # type: ignore[no-untyped-def]
    """Write Σ (m − m')² / (v + v') + Σ log (v + v') of each query (m, v) and each other (m', v')."""
    products = np.ones(out.shape[1])
    for row in range(len(means)):
        total = out[row]
        total[:] = 0.0
        for k in range(len(other_means)):
            mean, variance = means[row, k], variances[row, k]
            other_mean, other_variance = other_means[k], other_variances[k]
            for column in range(len(total)):
                apart, joint = mean - other_mean[column], variance + other_variance[column]
                products[column] *= joint
                total[column] += apart * apart / joint
            if (k + 1) % FACTORS == 0 or k + 1 == len(other_means):
                _add_logarithms(total, products, 1.0)


@njit(cache=True)
def _add_logarithms(total, products, sign):  # type: ignore[no-untyped-def]
    """Add the logarithms of products to sums, and begin new products."""
    for column in range(len(total)):
        total[column] += sign * math.log(products[column])
        products[column] = 1.0
