"""How well Gaussian distributions agree, compiled: sums and products from the first dimension to the last.

Queries are float64[query, dim], others float64[dim, other], ``sums`` and ``products`` float64[query, other]. Logarithms
are left to numpy: numba's may differ between the body of a loop and its end, where Intel's vector library is installed.
"""

from __future__ import annotations

from kgeval.compiling import njit


@njit(cache=True, nogil=True)
def divergences(means, variances, weights, other_means, other_variances, sums, products):  # type: ignore[no-untyped-def]
    """Add Σ w (v + v' + (m − m')²) of each query (m, v, w) and each other (m', v'), and write Π (v + v')."""
    for row in range(len(means)):
        total, product = sums[row], products[row]
        product[:] = 1.0
        for k in range(len(other_means)):
            mean, variance, weight = means[row, k], variances[row, k], weights[row, k]
            other_mean, other_variance = other_means[k], other_variances[k]
            for column in range(len(total)):
                apart, joint = mean - other_mean[column], variance + other_variance[column]
                product[column] *= joint
                total[column] += weight * (joint + apart * apart)


@njit(cache=True, nogil=True)
def likelihoods(means, variances, other_means, other_variances, sums, products):  # type: ignore[no-untyped-def]
    """Add Σ (m − m')² / (v + v') of each query (m, v) and each other (m', v'), and write Π (v + v')."""
    for row in range(len(means)):
        total, product = sums[row], products[row]
        product[:] = 1.0
        for k in range(len(other_means)):
            mean, variance = means[row, k], variances[row, k]
            other_mean, other_variance = other_means[k], other_variances[k]
            for column in range(len(total)):
                apart, joint = mean - other_mean[column], variance + other_variance[column]
                product[column] *= joint
                total[column] += apart * apart / joint
