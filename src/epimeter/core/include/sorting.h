/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

int epi_extremes(const double *prob, int64_t n, double *ends, int64_t n_ends);
int epi_count_buckets(const double *prob, int64_t n, double low, double scale, int64_t *count, int64_t n_buckets);
int epi_distribute(const uint8_t *true_, const double *prob, const double *weight, int64_t n, double low, double scale,
                   int64_t *place, int64_t n_buckets, int64_t *keys, int64_t n_keys);
int epi_sort_buckets(int64_t *keys, int64_t n_keys, int has_weight, const int64_t *begin, int64_t n_begin, int64_t first,
                     int64_t last, int64_t *room, int64_t n_room, int64_t *end, int64_t n_end);

/* Keys without weights become the bits of their confidences where they lie, so that no further memory is touched; the outcomes apart. */
int epi_unpack_rows(int64_t *keys, uint8_t *outcome, int64_t n);
int epi_unpack_weighed(const int64_t *keys, double *prob, uint8_t *outcome, double *weight, int64_t n);
