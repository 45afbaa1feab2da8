/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdint.h>

int epi_extremes(const double *prob, int64_t n, double *ends, int64_t n_ends);
int epi_count_buckets(const double *prob, int64_t n, double low, double scale, int64_t *count, int64_t n_buckets);
int epi_distribute(const uint8_t *true_, const double *prob, const double *weight, int64_t n, double low, double scale,
                   int64_t *place, int64_t n_buckets, int64_t *keys, int64_t n_keys);
int epi_sort_buckets(int64_t *keys, int64_t n_keys, int has_weight, const int64_t *begin, int64_t n_begin, int64_t first,
                     int64_t last, int64_t *room, int64_t n_room, int64_t *end, int64_t n_end);
int epi_unpack_keys(const int64_t *keys, double *prob, double *true_, double *weight, int64_t n);
