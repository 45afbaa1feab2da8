/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of resampled rows.
 *
 * A tile of rows is laid out by replicate and multiplied with each limb: products of 16 bits, of which every processor adds many
 * at once. A tile of 256 rows, a count of a byte and a limb of 15 bits keep a sum below 2^31.
 */
#include "levels.h"

#include <stdint.h>

enum { LANES = 8, TILE = 256 };

static int32_t dot(const int16_t *a, const int16_t *b, int64_t n) {
    int32_t sum = 0;
    for (int64_t j = 0; j < n; j++) sum += (int32_t)a[j] * (int32_t)b[j];
    return sum;
}

/* 0 if the layout fits n rows; without an order every row has one place, its own. Every place and every row that is read later lies
 * inside. */
static int unfit(int64_t n, int64_t replicates, const int32_t *order, int64_t n_order, const int64_t *start, int64_t n_start,
                 int64_t width, int64_t n_totals) {
    if (n < 0 || n > INT32_MAX || replicates < 0 || replicates > LANES || n_start < 1 || width < 0 || width > INT32_MAX) return 1;
    if (n_order < 0 || n_order > INT32_MAX) return 1;
    if (start[0] != 0 || start[n_start - 1] != (n_order ? n_order : n)) return 1;
    for (int64_t c = 0; c + 1 < n_start; c++)
        if (start[c] > start[c + 1]) return 1;
    uint32_t highest = 0;
    for (int64_t j = 0; j < n_order; j++) highest = (uint32_t)order[j] > highest ? (uint32_t)order[j] : highest;
    if (n_order && highest >= (uint32_t)n) return 1;
    const int64_t cells = n_start - 1;
    return width && cells > INT64_MAX / LANES / width ? 1 : n_totals != replicates * cells * width;
}

static void add_tile(int16_t tile[LANES][TILE], int64_t size, int64_t replicates, const int16_t *limbs, int64_t n,
                     int64_t n_limbs, int64_t *into, int64_t stride) {
    for (int64_t l = 0; l < n_limbs; l++)
        for (int64_t r = 0; r < replicates; r++) into[r * stride + l] += dot(tile[r], limbs + l * n, size);
}

/* The counts of rows that lie apart: each place is looked up once for all replicates. */
static void gather(const uint8_t *counts, int64_t n, int64_t replicates, const int32_t *order, int64_t size,
                   int16_t tile[LANES][TILE]) {
    if (replicates < LANES) {
        for (int64_t r = 0; r < replicates; r++)
            for (int64_t j = 0; j < size; j++) tile[r][j] = counts[r * n + order[j]];
        return;
    }
    for (int64_t j = 0; j < size; j++) {
        const uint8_t *count = counts + order[j];
        for (int r = 0; r < LANES; r++, count += n) tile[r][j] = *count;
    }
}

int AT_LEVEL(epi_count_totals)(const uint8_t *counts, int64_t n, int64_t replicates, const int32_t *order, int64_t n_order,
                               const int64_t *start, int64_t n_start, const int16_t *limbs, int64_t n_limbs, int64_t *totals,
                               int64_t n_totals) {
    if (unfit(n, replicates, order, n_order, start, n_start, n_limbs, n_totals)) return -1;
    int16_t tile[LANES][TILE];
    const int64_t cells = n_start - 1, places = n_order ? n_order : n;
    for (int64_t c = 0; c < cells; c++) {
        for (int64_t at = start[c]; at < start[c + 1]; at += TILE) {
            const int64_t size = start[c + 1] - at < TILE ? start[c + 1] - at : TILE;
            if (n_order)
                gather(counts, n, replicates, order + at, size, tile);
            else
                for (int64_t r = 0; r < replicates; r++)
                    for (int64_t j = 0; j < size; j++) tile[r][j] = counts[r * n + at + j];
            add_tile(tile, size, replicates, limbs + at, places, n_limbs, totals + c * n_limbs, cells * n_limbs);
        }
    }
    return 0;
}

int AT_LEVEL(epi_bit_totals)(const uint8_t *bits, int64_t n, int64_t replicates, const int32_t *order, int64_t n_order,
                             const int64_t *start, int64_t n_start, const int16_t *limbs, int64_t n_limbs, int64_t *totals,
                             int64_t n_totals) {
    if (unfit(n, replicates, order, n_order, start, n_start, n_limbs, n_totals)) return -1;
    int16_t tile[LANES][TILE], byte[TILE];
    const int64_t cells = n_start - 1, places = n_order ? n_order : n;
    for (int64_t c = 0; c < cells; c++) {
        for (int64_t at = start[c]; at < start[c + 1]; at += TILE) {
            const int64_t size = start[c + 1] - at < TILE ? start[c + 1] - at : TILE;
            for (int64_t j = 0; j < size; j++) byte[j] = bits[n_order ? order[at + j] : at + j];
            for (int64_t r = 0; r < replicates; r++)
                for (int64_t j = 0; j < size; j++) tile[r][j] = (int16_t)(byte[j] >> r & 1);
            add_tile(tile, size, replicates, limbs + at, places, n_limbs, totals + c * n_limbs, cells * n_limbs);
        }
    }
    return 0;
}

int AT_LEVEL(epi_weighed_totals)(const int32_t *counts, int64_t n, const int32_t *order, int64_t n_order, const int64_t *start,
                                 int64_t n_start, const int32_t *columns, int64_t n_columns, int64_t *totals, int64_t n_totals) {
    if (unfit(n, 1, order, n_order, start, n_start, n_columns, n_totals)) return -1;
    int32_t tile[TILE];
    const int64_t places = n_order ? n_order : n;
    for (int64_t c = 0; c + 1 < n_start; c++) {
        for (int64_t at = start[c]; at < start[c + 1]; at += TILE) {
            const int64_t size = start[c + 1] - at < TILE ? start[c + 1] - at : TILE;
            for (int64_t j = 0; j < size; j++) tile[j] = counts[n_order ? order[at + j] : at + j];
            for (int64_t k = 0; k < n_columns; k++) {
                const int32_t *column = columns + k * places + at;
                int64_t sum = 0;
                for (int64_t j = 0; j < size; j++) sum += (int64_t)tile[j] * column[j];
                totals[c * n_columns + k] += sum;
            }
        }
    }
    return 0;
}
