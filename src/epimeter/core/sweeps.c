/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps over sorted confidences. */
#include "sweeps.h"
#include "steps.h"
#include "stretch.h"

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

static inline double lesser(double a, double b) { return b < a ? b : a; }
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
        least_plus[done] = lesser(least_plus[done], cost[j - 1] + drift[j - 1]);
        least_minus[done] = lesser(least_minus[done], cost[j - 1] - drift[j - 1]);
        double best = INFINITY;
        for (int64_t block = done; block >= 0; block--) {
            const int64_t low = block * BLOCK, high = j < low + BLOCK ? j : low + BLOCK;
            const double narrowest = (mass[j] - mass[high - 1]) * (prob[j - 1] - prob[high - 1]);
            const double bound = larger(least_plus[block] - drift[j], least_minus[block] + drift[j]) + narrowest;
            if (bound < best) {
                for (int64_t l = high - 1; l >= low; l--) {
                    const double width = (mass[j] - mass[l]) * (prob[j - 1] - prob[l]);
                    best = lesser(best, cost[l] + fabs(drift[j] - drift[l]) + width);
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

/* A block behind the others; those whose frequency is not below its own join it. How many there are then. */
static int64_t pool(int64_t size, int64_t ones, int64_t levels, int64_t *weight, int64_t *true_, int64_t *of_levels, int64_t top) {
    while (top > 0 && (__int128)true_[top - 1] * size >= (__int128)ones * weight[top - 1]) {
        top--;
        size += weight[top];
        ones += true_[top];
        levels += of_levels[top];
    }
    weight[top] = size;
    true_[top] = ones;
    of_levels[top] = levels;
    return top + 1;
}

int64_t epi_isotonic_blocks(const double *weight, const double *true_, int64_t n, int64_t *block_weight, int64_t *block_true,
                            int64_t *block_levels, int64_t room) {
    if (n < 0 || room < n) return -1;
    int64_t top = 0, i = 0;
    while (i < n) {
        int64_t size = 0, ones = 0, levels = 0, last_size = 0, last_ones = 1;
        for (; i < n; i++, levels++) { /* levels that fall or stay belong together: they are taken at once */
            if (!(weight[i] > 0.0 && weight[i] < 0x1p53 && true_[i] >= 0.0 && true_[i] <= weight[i])) return -1;
            const int64_t w = (int64_t)weight[i], t = (int64_t)true_[i];
            if ((__int128)t * last_size > (__int128)last_ones * w) break;
            last_size = w;
            last_ones = t;
            size += w;
            ones += t;
        }
        top = pool(size, ones, levels, block_weight, block_true, block_levels, top);
    }
    return top;
}

int64_t epi_isotonic_rows(const uint8_t *outcome, int64_t n, int64_t *block_weight, int64_t *block_true, int64_t *block_levels,
                          int64_t room) {
    if (n < 0 || room < n) return -1;
    int64_t top = 0, i = 0;
    while (i < n) { /* rows that came true, then those that did not, fall */
        const int64_t start = i;
        while (i < n && outcome[i]) i++;
        const int64_t ones = i - start;
        while (i < n && !outcome[i]) i++;
        top = pool(i - start, ones, i - start, block_weight, block_true, block_levels, top);
    }
    return top;
}

int64_t epi_isotonic_weighed(const double *weight, const double *true_, int64_t n, double *block_weight, double *block_true,
                             int64_t *block_levels, int64_t room) {
    if (n < 0 || room < n) return -1;
    int64_t top = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(weight[i] > 0.0)) return -1;
        double size = weight[i], ones = true_[i];
        int64_t levels = 1;
        while (top > 0 && block_true[top - 1] / block_weight[top - 1] >= ones / size) {
            top--;
            size = block_weight[top] + size;
            ones = block_true[top] + ones;
            levels += block_levels[top];
        }
        block_weight[top] = size;
        block_true[top] = ones;
        block_levels[top++] = levels;
    }
    return top;
}

int epi_distinct(const double *prob, int64_t n) {
    for (int64_t start = 0; start + 1 < n; start += EPI_BLOCK) { /* most rows that are equal are found soon */
        const int64_t stop = smaller(start + EPI_BLOCK, n - 1);
        int64_t equal = 0;
        for (int64_t i = start; i < stop; i++) equal += prob[i] == prob[i + 1];
        if (equal) return 0;
    }
    return 1;
}

static int64_t count_true(const uint8_t *outcome, int64_t first, int64_t last) {
    int64_t sum = 0;
    for (int64_t i = first; i < last; i++) sum += outcome[i];
    return sum;
}

int epi_running_outcomes(const uint8_t *outcome, int64_t n, int64_t *total, int64_t n_total) {
    if (n < 0 || n_total != n / EPI_STRETCH + 1) return -1;
    total[0] = 0;
    for (int64_t k = 1; k < n_total; k++)
        total[k] = total[k - 1] + count_true(outcome, (k - 1) * EPI_STRETCH, k * EPI_STRETCH);
    return 0;
}

int epi_true_before(const uint8_t *outcome, int64_t n, const int64_t *total, int64_t n_total, const int64_t *place, int64_t n_places,
                    int64_t *found) {
    if (n < 0 || n_total != n / EPI_STRETCH + 1 || n_places < 0) return -1;
    int64_t at = 0, sum = 0; /* so many came true before this place */
    for (int64_t k = 0; k < n_places; k++) {
        if (place[k] < 0 || place[k] > n) return -1;
        const int64_t stretch = place[k] / EPI_STRETCH;
        if (place[k] < at || stretch * EPI_STRETCH > at) {
            at = stretch * EPI_STRETCH;
            sum = total[stretch];
        }
        found[k] = sum += count_true(outcome, at, place[k]);
        at = place[k];
    }
    return 0;
}

int epi_segment_totals(const double *prob, const uint8_t *outcome, int64_t n, const int64_t *border, int64_t bins, int64_t *totals) {
    if (n < 0 || bins < 1) return -1;
    for (int64_t k = 0; k < bins; k++) {
        if (border[k] < 0 || border[k + 1] < border[k] || border[k + 1] > n) return -1;
        int64_t *total = totals + 3 * k;
        for (int64_t first = border[k]; first < border[k + 1]; first += EPI_BLOCK) {
            const int64_t last = first + EPI_BLOCK < border[k + 1] ? first + EPI_BLOCK : border[k + 1];
            uint64_t sum = 0;
            int64_t ones = 0;
            for (int64_t i = first; i < last; i++) {
                sum += steps_of(prob[i]);
                ones += outcome[i];
            }
            total[0] += ones;
            carry((int64_t)(sum - (uint64_t)(last - first) * EPI_STEP_BITS), total + 1);
        }
    }
    return 0;
}
