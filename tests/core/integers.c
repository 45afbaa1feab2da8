/* SPDX-License-Identifier: Apache-2.0 */
/* Integers of the loops that need no Python: the same line on every machine. Built for another processor, it runs under an emulator. */
#include "draws.h"
#include "level.h"
#include "resampling.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 5003, REPLICATES = 6, CELLS = 7, LIMBS = 3 };

static uint64_t digest = 14695981039346656037u; /* FNV-1a */

static void add(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) digest = (digest ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

int main(void) {
    static uint64_t bound[N];
    static uint8_t counts[REPLICATES * N], sides[N], bits[N];
    static int32_t order[N];
    static int16_t limbs[LIMBS * N];
    const uint64_t generator[4] = {0x853c49e6748fea9bu, 0xda3e39cb94b95bdbu, 0x5851f42d4c957f2du, 0x14057b7ef767814fu};
    int64_t start[CELLS + 1], totals[REPLICATES * CELLS * LIMBS] = {0}, chosen[REPLICATES * CELLS * LIMBS] = {0};
    for (int64_t i = 0; i < N; i++) {
        bound[i] = (uint64_t)i * 1800359843907u;
        order[i] = (int32_t)(i * 1009 % N);
        for (int l = 0; l < LIMBS; l++) limbs[l * N + i] = (int16_t)(i * 7919 % 32749 - (l == 2 ? 16000 : 0));
    }
    for (int c = 0; c <= CELLS; c++) start[c] = (int64_t)c * N / CELLS;
    if (epi_count_bytes(generator, 4, 3, REPLICATES, counts, sizeof counts, sides, N, N)) return 1;
    if (epi_draw_bits(generator, 4, 3, REPLICATES, bound, N, bits, N)) return 2;
    if (epi_count_totals(counts, N, REPLICATES, order, N, start, CELLS + 1, limbs, LIMBS, totals, sizeof totals / 8)) return 3;
    if (epi_bit_totals(bits, N, REPLICATES, order, N, start, CELLS + 1, limbs, LIMBS, chosen, sizeof chosen / 8)) return 4;
    add(counts, sizeof counts), add(sides, sizeof sides), add(bits, sizeof bits);
    add(totals, sizeof totals), add(chosen, sizeof chosen);
    printf("%016" PRIx64 "\n", digest);
    return 0;
}
