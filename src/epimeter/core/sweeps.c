/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps over sorted confidences. */
#include "sweeps.h"

#include <math.h>

enum { BLOCK = 64 };

/* Integral of |residual sum| of one bin while it slides by its width: some rows leave, others enter. */
static double one_bin(const double *part, const double *residual, int64_t leave, int64_t left, int64_t enter, int64_t entered) {
    double total = 0.0, area = 0.0, last = 0.0;
    for (int64_t i = leave; i < left; i++) total += residual[i];
    while (leave < left || enter < entered) {
        double at, change;
        if (enter >= entered || (leave < left && part[leave] <= part[enter])) {
            at = part[leave];
            change = -residual[leave++];
        } else {
            at = part[enter];
            change = residual[enter++];
        }
        area += (at - last) * fabs(total);
        total += change;
        last = at;
    }
    return area + (1.0 - last) * fabs(total);
}

/* Neighbouring bins are merged by two pointers, nothing is sorted. */
int epi_shifted_error(const int64_t *home, const double *part, const double *residual, int64_t n, double *area) {
    if (n < 0) return -1;
    double total = 0.0;
    int64_t start = 0, before = n ? home[0] - 2 : 0;
    while (start < n) {
        int64_t end = start;
        while (end < n && home[end] == home[start]) end++;
        int64_t after = end;
        while (after < n && home[after] == home[start] + 1) after++;
        if (before != home[start] - 1) total += one_bin(part, residual, 0, 0, start, end); /* the bin below began empty */
        total += one_bin(part, residual, start, end, end, after);
        before = home[start];
        start = end;
    }
    *area = total;
    return 0;
}

static inline double smaller(double a, double b) { return b < a ? b : a; }
static inline double larger(double a, double b) { return b > a ? b : a; }

/* Dynamic programming; whole blocks of candidates are passed over by their lower bound. */
int epi_cheapest_partition(const double *prob, const double *weight, const double *residual, int64_t n, double *room,
                           int64_t n_room, double *cost_of_all) {
    const int64_t n_blocks = n / BLOCK + 1;
    if (n < 0 || n > INT64_MAX / 16 || n_room < 3 * (n + 1) + 2 * n_blocks) return -1;
    double *mass = room, *drift = mass + n + 1, *cost = drift + n + 1;
    double *least_plus = cost + n + 1, *least_minus = least_plus + n_blocks;
    mass[0] = drift[0] = cost[0] = 0.0;
    for (int64_t j = 0; j < n; j++) {
        mass[j + 1] = mass[j] + weight[j];
        drift[j + 1] = drift[j] + residual[j];
    }
    for (int64_t b = 0; b < n_blocks; b++) least_plus[b] = least_minus[b] = INFINITY;
    for (int64_t j = 1; j <= n; j++) {
        const int64_t done = (j - 1) / BLOCK;
        least_plus[done] = smaller(least_plus[done], cost[j - 1] + drift[j - 1]);
        least_minus[done] = smaller(least_minus[done], cost[j - 1] - drift[j - 1]);
        double best = INFINITY;
        for (int64_t block = done; block >= 0; block--) {
            const int64_t low = block * BLOCK, high = j < low + BLOCK ? j : low + BLOCK;
            const double narrowest = (mass[j] - mass[high - 1]) * (prob[j - 1] - prob[high - 1]);
            const double bound = larger(least_plus[block] - drift[j], least_minus[block] + drift[j]) + narrowest;
            if (bound < best) {
                for (int64_t l = high - 1; l >= low; l--) {
                    const double width = (mass[j] - mass[l]) * (prob[j - 1] - prob[l]);
                    best = smaller(best, cost[l] + fabs(drift[j] - drift[l]) + width);
                }
            }
            if (low > 0) {
                const double width = (mass[j] - mass[low - 1]) * (prob[j - 1] - prob[low - 1]);
                if (cost[low] - fabs(drift[j] - drift[low]) + width >= best) break;
            }
        }
        cost[j] = best;
    }
    *cost_of_all = cost[n];
    return 0;
}

/* Matsubara et al. 2023, algorithm 1: neighbours are pooled until monotone, between a least and a largest size. */
int64_t epi_pooled_sizes(const int64_t *run_ones, const int64_t *run_sizes, int64_t n, int64_t min_count, int64_t max_count,
                         int64_t *ones, int64_t *sizes, int64_t n_room) {
    if (n < 0 || n_room < n + 1 || max_count > INT32_MAX) return -1;
    int64_t total = 0, rest = 0, top = 0;
    for (int64_t i = 0; i < n; i++) {
        if (run_sizes[i] < 0 || run_ones[i] < 0 || run_ones[i] > run_sizes[i] || run_sizes[i] > INT32_MAX - total) return -1;
        total += run_sizes[i];
    }
    while (n > 0 && rest < min_count) rest += run_sizes[--n];
    for (int64_t i = 0; i < n; i++) {
        ones[top] = run_ones[i];
        sizes[top++] = run_sizes[i];
        while (top > 1) {
            const int64_t a = ones[top - 2], v = sizes[top - 2], b = ones[top - 1], w = sizes[top - 1];
            if (!(v + w <= min_count || (v + w <= max_count && a * w >= b * v))) break;
            ones[top - 2] = a + b;
            sizes[top - 2] = v + w;
            top--;
        }
    }
    if (top > 0 && sizes[top - 1] + rest <= max_count) sizes[top - 1] += rest;
    else sizes[top++] = rest;
    return top;
}
