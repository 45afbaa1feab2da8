/* SPDX-License-Identifier: Apache-2.0 */
/* Draws and their totals, at the level of the processor. */
#include "resampling.h"

#include "draws.h"
#include "levels.h"

EACH_LEVEL(int, epi_draw_labels, (const uint64_t *, int64_t, uint64_t, const uint64_t *, uint8_t *, int64_t))
EACH_LEVEL(int, epi_count_rows, (const uint64_t *, int64_t, uint64_t, int32_t *, int64_t))
EACH_LEVEL(int, epi_draw_bits, (const uint64_t *, int64_t, uint64_t, int64_t, const uint64_t *, int64_t, uint8_t *, int64_t))
EACH_LEVEL(int, epi_count_bytes,
           (const uint64_t *, int64_t, uint64_t, int64_t, uint8_t *, int64_t, uint8_t *, int64_t, int64_t))
EACH_LEVEL(int, epi_count_totals, (const uint8_t *, int64_t, int64_t, const int32_t *, int64_t, const int64_t *, int64_t,
                                   const int16_t *, int64_t, int64_t *, int64_t))
EACH_LEVEL(int, epi_bit_totals, (const uint8_t *, int64_t, int64_t, const int32_t *, int64_t, const int64_t *, int64_t,
                                 const int16_t *, int64_t, int64_t *, int64_t))
EACH_LEVEL(int, epi_weighed_totals, (const int32_t *, int64_t, const int32_t *, int64_t, const int64_t *, int64_t,
                                     const int32_t *, int64_t, int64_t *, int64_t))

static inline int64_t number_at(const int32_t *high, const int32_t *low, int64_t bits, int64_t i) {
    return low ? (int64_t)high[i] * (INT64_C(1) << bits) + low[i] : high[i];
}

int epi_number_ends(const int32_t *high, const int32_t *low, int64_t bits, int64_t n, int64_t *ends, int64_t n_ends) {
    if (n < 0 || bits < 0 || bits > 31 || n_ends != 2) return -1;
    int64_t least = n ? number_at(high, low, bits, 0) : 0, most = least;
    for (int64_t i = 1; i < n; i++) {
        const int64_t number = number_at(high, low, bits, i);
        least = number < least ? number : least;
        most = number > most ? number : most;
    }
    ends[0] = least;
    ends[1] = most;
    return 0;
}

int epi_number_limbs(const int32_t *high, const int32_t *low, int64_t bits, int64_t n, int64_t width, int64_t n_limbs, int16_t *limbs,
                     int64_t room) {
    if (n < 0 || bits < 0 || bits > 31 || width < 1 || width > 15 || n_limbs < 1 || n_limbs > 63 / width) return -1;
    if (n > INT64_MAX / n_limbs || room != n_limbs * n) return -1;
    const int64_t mask = (INT64_C(1) << width) - 1;
    for (int64_t l = 0; l < n_limbs; l++) {
        int16_t *limb = limbs + l * n;
        const int64_t shift = l * width, kept = l + 1 < n_limbs ? mask : -1; /* the highest keeps the sign */
        for (int64_t i = 0; i < n; i++) limb[i] = (int16_t)(number_at(high, low, bits, i) >> shift & kept);
    }
    return 0;
}

int epi_draw_labels(const uint64_t *generator, int64_t n_words, uint64_t skip, const uint64_t *bound, uint8_t *label, int64_t n) {
    return CHOOSE(epi_draw_labels)(generator, n_words, skip, bound, label, n);
}

int epi_count_rows(const uint64_t *generator, int64_t n_words, uint64_t skip, int32_t *count, int64_t n) {
    return CHOOSE(epi_count_rows)(generator, n_words, skip, count, n);
}

int epi_draw_bits(const uint64_t *generator, int64_t n_words, uint64_t first, int64_t replicates, const uint64_t *bound,
                  int64_t n_bounds, uint8_t *bits, int64_t n) {
    return CHOOSE(epi_draw_bits)(generator, n_words, first, replicates, bound, n_bounds, bits, n);
}

int epi_count_bytes(const uint64_t *generator, int64_t n_words, uint64_t first, int64_t replicates, uint8_t *counts,
                    int64_t n_counts, uint8_t *sides, int64_t n_sides, int64_t n) {
    return CHOOSE(epi_count_bytes)(generator, n_words, first, replicates, counts, n_counts, sides, n_sides, n);
}

int epi_count_totals(const uint8_t *counts, int64_t n, int64_t replicates, const int32_t *order, int64_t n_order,
                     const int64_t *start, int64_t n_start, const int16_t *limbs, int64_t n_limbs, int64_t *totals, int64_t n_totals) {
    return CHOOSE(epi_count_totals)(counts, n, replicates, order, n_order, start, n_start, limbs, n_limbs, totals, n_totals);
}

int epi_bit_totals(const uint8_t *bits, int64_t n, int64_t replicates, const int32_t *order, int64_t n_order,
                   const int64_t *start, int64_t n_start, const int16_t *limbs, int64_t n_limbs, int64_t *totals, int64_t n_totals) {
    return CHOOSE(epi_bit_totals)(bits, n, replicates, order, n_order, start, n_start, limbs, n_limbs, totals, n_totals);
}

int epi_weighed_totals(const int32_t *counts, int64_t n, const int32_t *order, int64_t n_order, const int64_t *start,
                       int64_t n_start, const int32_t *columns, int64_t n_columns, int64_t *totals, int64_t n_totals) {
    return CHOOSE(epi_weighed_totals)(counts, n, order, n_order, start, n_start, columns, n_columns, totals, n_totals);
}
