/* SPDX-License-Identifier: Apache-2.0 */
/* Sums under kernels. */
#include "kernels.h"

#include <math.h>

int epi_decayed(const double *points, const double *values, int64_t n, double width, double *reached) {
    if (n < 1) return -1;
    double carried = 0.0, last = points[0];
    for (int64_t i = 0; i < n; i++) {
        carried = values[i] + exp((last - points[i]) / width) * carried;
        last = points[i];
        reached[i] = carried;
    }
    return 0;
}

int epi_laplace_form(const double *points, const double *values, int64_t n, double width, double *total) {
    if (n < 1) return -1;
    double sum = 0.0, carried = 0.0, last = points[0];
    for (int64_t i = 0; i < n; i++) {
        carried *= exp((last - points[i]) / width);
        last = points[i];
        sum += values[i] * (2.0 * carried + values[i]);
        carried += values[i];
    }
    *total = sum;
    return 0;
}

int epi_block_sums(const double *values, const uint8_t *fresh, int64_t rows, int64_t columns, double *running, int64_t n_running) {
    if (rows < 0 || columns < 0 || (columns && rows > INT64_MAX / columns) || rows * columns != n_running) return -1;
    for (int64_t row = 0; row < rows; row++) {
        const double *from = values + row * columns;
        double *to = running + row * columns, carried = 0.0;
        for (int64_t i = 0; i < columns; i++) {
            if (fresh[i]) carried = 0.0;
            carried += from[i];
            to[i] = carried;
        }
    }
    return 0;
}

int epi_cell_moments(const uint8_t *true_, const double *prob, int64_t n, int64_t cells, double scale, int64_t *moments,
                     int64_t n_moments) {
    if (n < 0 || cells < 1 || cells > INT64_MAX / 4 || n_moments != 4 * cells || !(scale > 0.0 && scale <= 0x1p62)) return -1;
    for (int64_t i = 0; i < n; i++) {
        const double p = prob[i], place = p * (double)cells;
        if (!(p >= 0.0 && p <= 1.0)) return -1;
        const int64_t home = (int64_t)place, cell = home < cells - 1 ? home : cells - 1;
        const double s = place - (double)cell - 0.5;
        double part = ((double)(true_[i] & 1) - p) * scale;
        int64_t *sums = moments + 4 * cell;
        sums[0] += (int64_t)part;
        part *= s;
        sums[1] += (int64_t)part;
        part *= s;
        sums[2] += (int64_t)part;
        part *= s;
        sums[3] += (int64_t)part;
    }
    return 0;
}

/* A set of ranks: bit r of level 0 says whether r is in it, bit w of a level whether word w of the level below has a bit. */
typedef struct {
    uint64_t *words;
    const int64_t *offset;
    int64_t levels;
} ranks;

static void include_rank(ranks set, int64_t rank) {
    for (int64_t level = 0; level < set.levels; level++) {
        uint64_t *word = set.words + set.offset[level] + (rank >> 6);
        const uint64_t before = *word;
        *word = before | (uint64_t)1 << (rank & 63);
        if (before) return;
        rank >>= 6;
    }
}

static void exclude_rank(ranks set, int64_t rank) {
    for (int64_t level = 0; level < set.levels; level++) {
        uint64_t *word = set.words + set.offset[level] + (rank >> 6);
        *word &= ~((uint64_t)1 << (rank & 63));
        if (*word) return;
        rank >>= 6;
    }
}

static int lowest_bit(uint64_t word) {
    int bit = 0;
    for (int width = 32; width; width >>= 1) {
        if (!(word & (((uint64_t)1 << width) - 1))) {
            word >>= width;
            bit += width;
        }
    }
    return bit;
}

static int highest_bit(uint64_t word) {
    int bit = 0;
    for (int width = 32; width; width >>= 1) {
        if (word >> width) {
            word >>= width;
            bit += width;
        }
    }
    return bit;
}

/* The least rank of a set that is not empty, or the greatest. */
static int64_t end_of(ranks set, int greatest) {
    int64_t rank = 0;
    for (int64_t level = set.levels - 1; level >= 0; level--) {
        const uint64_t word = set.words[set.offset[level] + rank];
        rank = rank * 64 + (greatest ? highest_bit(word) : lowest_bit(word));
    }
    return rank;
}

/* Shorten the slope at one end by `left`, breakpoint by breakpoint. */
static void shorten(ranks set, double *jump, double left, int64_t *here, int64_t other, int greatest) {
    while (left > 0.0) {
        const double taken = jump[*here] < left ? jump[*here] : left;
        left -= taken;
        jump[*here] -= taken;
        if (jump[*here] <= 0.0) {
            if (*here == other) { /* rounding alone may empty the set; its total jump is 2 */
                jump[*here] = 2.0;
                return;
            }
            exclude_rank(set, *here);
            *here = end_of(set, greatest);
        }
    }
}

int epi_best_bet(const double *running, const double *gap, const int64_t *rank, int64_t steps, const double *where,
                 double *jump, int64_t *low, int64_t *high, uint64_t *tree, const int64_t *offset, int64_t n_offsets, double *cost) {
    if (steps < 1 || n_offsets < 2 || offset[0] != 0) return -1;
    int64_t held = steps + 1; /* running, rank, where, jump hold as many; each level of the tree a 64th of the one below */
    for (int64_t level = 0; level + 1 < n_offsets; level++) {
        held = (held + 63) >> 6;
        if (offset[level + 1] - offset[level] != held) return -1;
    }
    if (held != 1) return -1;
    for (int64_t i = 0; i <= steps; i++) {
        if (rank[i] < 0 || rank[i] > steps) return -1;
        jump[i] = 0.0;
    }
    for (int64_t i = 0; i < offset[n_offsets - 1]; i++) tree[i] = 0;
    const ranks set = {tree, offset, n_offsets - 1};
    int64_t first = rank[steps], last = first;
    jump[first] = 2.0;
    include_rank(set, first);
    for (int64_t i = 0; i < steps; i++) {
        const int64_t here = rank[i];
        jump[here] = 2.0 * gap[i];
        include_rank(set, here);
        first = here < first ? here : first;
        last = here > last ? here : last;
        shorten(set, jump, gap[i], &first, last, 0);
        shorten(set, jump, gap[i], &last, first, 1);
        low[i] = first;
        high[i] = last;
    }
    double later = -running[steps], total = 0.0;
    for (int64_t i = steps - 1; i >= 0; i--) {
        const double least = where[low[i]], most = where[high[i]], above = later > least ? later : least;
        const double here = above < most ? above : most;
        total += fabs(later - here) + gap[i] * fabs(here + running[i]);
        later = here;
    }
    *cost = total + fabs(later);
    return 0;
}

enum { STRIP = 64 };

/* Every sum goes through the coordinates in their order, whatever the processor: a strip of points is added up side by side. */
int epi_distances(const double *left, int64_t n_left, const double *turned, int64_t n_right, int64_t coordinates,
                  int squared, double *gaps, int64_t n_gaps) {
    if (n_left < 0 || n_right < 0 || coordinates < 0 || (n_right && n_left > INT64_MAX / n_right) || n_left * n_right != n_gaps) return -1;
    for (int64_t begin = 0; begin < n_right; begin += STRIP) {
        const int64_t size = n_right - begin < STRIP ? n_right - begin : STRIP;
        for (int64_t i = 0; i < n_left; i++) {
            double sum[STRIP] = {0.0};
            for (int64_t k = 0; k < coordinates; k++) {
                const double x = left[i * coordinates + k], *y = turned + k * n_right + begin;
                if (squared)
                    for (int64_t j = 0; j < size; j++) sum[j] += (x - y[j]) * (x - y[j]);
                else
                    for (int64_t j = 0; j < size; j++) sum[j] += fabs(x - y[j]);
            }
            for (int64_t j = 0; j < size; j++) gaps[i * n_right + begin + j] = sum[j];
        }
    }
    return 0;
}

int epi_count_gaps(const double *gaps, int64_t rows, int64_t columns, int64_t skipped, double low, double high,
                   double *held, int64_t n_held, int64_t *tally, int64_t n_tally) {
    if (rows < 0 || columns < 0 || skipped < 0 || n_tally != 2) return -1;
    int64_t below = 0, inside = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = skipped + i; j < columns; j++) {
            const double gap = gaps[i * columns + j];
            if (gap < low) {
                below++;
            } else if (gap <= high) {
                if (inside < n_held) held[inside] = gap;
                inside++;
            }
        }
    }
    tally[0] = below;
    tally[1] = inside;
    return 0;
}

int epi_answered(const int64_t *near, int64_t n, int64_t k, uint8_t *answered) {
    for (int64_t e = 0; e < n * k; e++)
        if (near[e] < 0 || near[e] >= n) return -1;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < k; j++) {
            const int64_t *back = near + near[i * k + j] * k;
            uint8_t found = 0;
            for (int64_t m = 0; m < k; m++) found |= back[m] == i;
            answered[i * k + j] = found;
        }
    }
    return 0;
}

/* Whether (gap, row) comes after the one given. */
static inline int after(double gap, int64_t row, double other, int64_t other_row) {
    return gap > other || (gap == other && row > other_row);
}

int epi_nearest_on_line(const double *points, const int64_t *rows, const int64_t *place, int64_t n, const double *candidates,
                        const int64_t *candidate_rows, int64_t m, int64_t k, double scale, double *gap, int64_t *near, int64_t n_near) {
    if (n < 0 || m < 0 || k < 1 || k > INT64_MAX / 8 || n > INT64_MAX / k || n_near != n * k) return -1;
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] < 0 || rows[i] >= n || place[i] < 0 || place[i] >= m) return -1;
        const int64_t from = place[i] > 2 * k + 2 ? place[i] - (2 * k + 2) : 0;
        const int64_t to = m - place[i] > 3 * k + 3 ? place[i] + 3 * k + 3 : m;
        int64_t *best = near + rows[i] * k, held = 0;
        for (int64_t c = from; c < to; c++) {
            const int64_t row = candidate_rows[c];
            if (row == rows[i]) continue;
            const double apart = rint(fabs(candidates[c] - points[i]) * scale);
            if (held == k && !after(gap[k - 1], best[k - 1], apart, row)) continue;
            int64_t at = held < k ? held++ : k - 1;
            for (; at > 0 && after(gap[at - 1], best[at - 1], apart, row); at--) gap[at] = gap[at - 1], best[at] = best[at - 1];
            gap[at] = apart, best[at] = row;
        }
        if (held < k) return -1;
    }
    return 0;
}

enum { MOST_TERMS = 8 };

int epi_window_moments(const double *running, int64_t columns, int64_t terms, int64_t n, const double *home, const int64_t *starts,
                       int64_t n_blocks, const int64_t *low, const int64_t *high, const double *at, int64_t queries, double width,
                       double *moments, int64_t n_moments) {
    if (columns < 0 || terms < 1 || terms > MOST_TERMS || n < 0 || n_blocks < 0 || queries < 0 || !(width > 0.0)) return -1;
    if (columns && queries && terms > INT64_MAX / columns / queries) return -1;
    if (n_moments != columns * terms * queries || (n_blocks && (starts[0] != 0 || starts[n_blocks] != n))) return -1;
    for (int64_t b = 0; b < n_blocks; b++)
        if (starts[b] >= starts[b + 1]) return -1;
    for (int64_t i = 0; i < n_moments; i++) moments[i] = 0.0;
    for (int64_t q = 0; q < queries; q++) {
        if (low[q] < 0 || high[q] > n) return -1;
        const double block = floor(at[q] / width);
        int64_t first = 0, last = n_blocks; /* the first block that is not before the one before the query's */
        while (first < last) {
            const int64_t middle = first + (last - first) / 2;
            if (home[middle] < block - 1.0)
                first = middle + 1;
            else
                last = middle;
        }
        for (int64_t b = first; b < n_blocks && home[b] <= block + 1.0; b++) {
            const int64_t begin = low[q] > starts[b] ? low[q] : starts[b], end = high[q] < starts[b + 1] ? high[q] : starts[b + 1];
            if (begin >= end) continue;
            const double shift = home[b] + 0.5 - at[q] / width;
            double power[MOST_TERMS] = {1.0};
            for (int64_t d = 1; d < terms; d++) power[d] = power[d - 1] * shift;
            for (int64_t c = 0; c < columns; c++) {
                const double *sums = running + c * terms * n;
                double *to = moments + c * terms * queries + q, inside[MOST_TERMS];
                for (int64_t d = 0; d < terms; d++)
                    inside[d] = sums[d * n + end - 1] - (begin > starts[b] ? sums[d * n + begin - 1] : 0.0);
                for (int64_t d = 0; d < terms; d++) {
                    double choose = 1.0; /* d over k */
                    for (int64_t k = 0; k <= d; k++) {
                        to[d * queries] += choose * power[d - k] * inside[k];
                        choose = choose * (double)(d - k) / (double)(k + 1);
                    }
                }
            }
        }
    }
    return 0;
}
