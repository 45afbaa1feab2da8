/* SPDX-License-Identifier: Apache-2.0 */
/* LOESS in O(N log N).
 *
 * Every node of the tree holds sums of powers of its samples about its own middle. Inside a window and on one side of the
 * centre the tricube weight is a polynomial of degree 9; written about the middle of a node it turns those sums into the
 * node's share of the moments, exactly. Written that way small weights stay relatively accurate; shifted sums of powers
 * about the centre would cancel. Only the ends of a window and the leaf of its centre are added up sample by sample.
 */
#include "loess.h"

#include <math.h>

enum { LEAF = 64, MASS_POWERS = 14, OUTCOME_POWERS = 12, MOMENTS = 8, DEPTH = 128 };

/* Nodes of a larger radius, in units of h, are opened: the weights at their far end may be too small for their sums. */
static const double WIDE = 0.125;

int epi_loess_tree(const double *prob, const double *weight, const double *true_, int64_t n, int64_t leaves,
                   double *middle, double *radius, double *mass, double *outcome, int64_t n_nodes) {
    if (n < 1 || leaves < 1 || leaves > INT64_MAX / LEAF || leaves * LEAF < n || n_nodes != 2 * leaves) return -1;
    for (int64_t node = 0; node < n_nodes; node++) {
        middle[node] = 0.0;
        radius[node] = 1.0;
        for (int k = 0; k < MASS_POWERS; k++) mass[node * MASS_POWERS + k] = 0.0;
        for (int k = 0; k < OUTCOME_POWERS; k++) outcome[node * OUTCOME_POWERS + k] = 0.0;
    }
    int64_t size = LEAF;
    for (int64_t first = leaves; first >= 1; first /= 2, size *= 2) {
        for (int64_t node = first; node < 2 * first; node++) {
            const int64_t start = (node - first) * size, end = n - start < size ? n : start + size;
            if (start >= n) break;
            const double centre = 0.5 * (prob[start] + prob[end - 1]), half = 0.5 * (prob[end - 1] - prob[start]);
            const double reach = half > 0 ? half : 1e-300;
            double *m = mass + node * MASS_POWERS, *o = outcome + node * OUTCOME_POWERS;
            middle[node] = centre;
            radius[node] = reach;
            for (int64_t i = start; i < end; i++) {
                const double v = (prob[i] - centre) / reach;
                double power = 1.0;
                for (int k = 0; k < OUTCOME_POWERS; k++) {
                    m[k] += weight[i] * power;
                    o[k] += true_[i] * power;
                    power *= v;
                }
                for (int k = OUTCOME_POWERS; k < MASS_POWERS; k++) {
                    m[k] += weight[i] * power;
                    power *= v;
                }
            }
        }
    }
    return 0;
}

static void add_samples(const double *prob, const double *weight, const double *true_, int64_t start, int64_t end,
                        double x, double h, double *out) {
    for (int64_t i = start; i < end; i++) {
        const double u = (prob[i] - x) / h;
        double g = 1.0 - fabs(u * u * u);
        if (g > 0) {
            g = g * g * g;
            const double w = weight[i] * g, y = true_[i] * g;
            out[0] += w;
            out[1] += w * u;
            out[2] += w * u * u;
            out[3] += w * u * u * u;
            out[4] += w * u * u * u * u;
            out[5] += y;
            out[6] += y * u;
            out[7] += y * u * u;
        }
    }
}

/* Add the moments of one node that lies in the window, on one side of the centre. */
static void add_node(double middle, double radius, const double *mass, const double *outcome, double x, double h,
                     double *out) {
    const double d = (middle - x) / h, r = radius / h, s = d >= 0 ? 1.0 : -1.0;
    const double e = s * d; /* |u| = e + s r v, with v in [-1, 1] */
    /* 1 - |u|^3 as a cubic in v; its constant term without cancellation */
    const double cubic[4] = {(1.0 - e) * (1.0 + e + e * e), -3.0 * e * e * s * r, -3.0 * e * r * r, -s * r * r * r};
    double g[10] = {0.0}, part[5];
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < 4; b++) {
            const double ab = cubic[a] * cubic[b];
            for (int c = 0; c < 4; c++) g[a + b + c] += ab * cubic[c];
        }
    }
    /* part[i]: sum of w v^i; then u = d + r v gives the powers of u */
    for (int i = 0; i < 5; i++) {
        double total = 0.0;
        for (int k = 0; k < 10; k++) total += g[k] * mass[i + k];
        part[i] = total;
    }
    const double r2 = r * r, d2 = d * d, d3 = d * d * d, d4 = d2 * d2;
    out[0] += part[0];
    out[1] += d * part[0] + r * part[1];
    out[2] += d2 * part[0] + 2 * d * r * part[1] + r2 * part[2];
    out[3] += d3 * part[0] + 3 * d * d * r * part[1] + 3 * d * r2 * part[2] + r2 * r * part[3];
    out[4] += d4 * part[0] + 4 * d3 * r * part[1] + 6 * d * d * r2 * part[2] + 4 * d * r2 * r * part[3] + r2 * r2 * part[4];
    for (int i = 0; i < 3; i++) {
        double total = 0.0;
        for (int k = 0; k < 10; k++) total += g[k] * outcome[i + k];
        part[i] = total;
    }
    out[5] += part[0];
    out[6] += d * part[0] + r * part[1];
    out[7] += d2 * part[0] + 2 * d * r * part[1] + r2 * part[2];
}

int epi_loess_windows(const double *prob, const double *weight, const double *true_, int64_t n, int64_t leaves,
                      const double *middle, const double *radius, const double *mass, const double *outcome,
                      int64_t n_nodes, const double *at, const double *reach, const int64_t *low, const int64_t *centre,
                      const int64_t *high, double *out, int64_t n_windows) {
    if (n < 1 || leaves < 1 || leaves > INT64_MAX / LEAF || leaves * LEAF < n || n_nodes != 2 * leaves || n_windows < 0) return -1;
    int64_t stack[DEPTH];
    for (int64_t t = 0; t < n_windows; t++) {
        const double x = at[t], h = reach[t];
        if (low[t] < 0 || low[t] > centre[t] || centre[t] > high[t] || high[t] > n) return -1;
        double *sums = out + t * MOMENTS;
        for (int side = 0; side < 2; side++) {
            const int64_t start = side == 0 ? low[t] : centre[t], end = side == 0 ? centre[t] : high[t];
            int64_t left = (start + LEAF - 1) / LEAF, right = end / LEAF;
            if (left >= right) {
                add_samples(prob, weight, true_, start, end, x, h, sums);
                continue;
            }
            add_samples(prob, weight, true_, start, left * LEAF, x, h, sums);
            add_samples(prob, weight, true_, right * LEAF, end, x, h, sums);
            /* The nodes that make up the leaves from left to right: at most two a level, and two more for each opened. */
            int waiting = 0;
            for (left += leaves, right += leaves; left < right; left /= 2, right /= 2) {
                if (waiting > DEPTH - 4) return -1;
                if (left & 1) stack[waiting++] = left++;
                if (right & 1) stack[waiting++] = --right;
            }
            while (waiting > 0) {
                const int64_t node = stack[--waiting];
                if (radius[node] <= WIDE * h) {
                    add_node(middle[node], radius[node], mass + node * MASS_POWERS, outcome + node * OUTCOME_POWERS, x, h, sums);
                } else if (node < leaves) {
                    if (waiting > DEPTH - 2) return -1;
                    stack[waiting++] = 2 * node;
                    stack[waiting++] = 2 * node + 1;
                } else {
                    const int64_t first = (node - leaves) * LEAF;
                    add_samples(prob, weight, true_, first, n - first < LEAF ? n : first + LEAF, x, h, sums);
                }
            }
        }
    }
    return 0;
}
