/* SPDX-License-Identifier: Apache-2.0 */
/* Rows sorted by confidence and outcome with hardly any comparison.
 *
 * The confidences go into buckets by where they lie between the least and the greatest; each bucket, small enough for
 * the cache, goes into cells of about four keys by where its keys lie between its own least and greatest; what is still
 * out of order inside a cell moves a few places. A key is the confidence's bits, shifted left, with the outcome last; where rows have
 * weights, two integers a row: the key, then the weight's bits.
 */
#include "sorting.h"

#include <string.h>

#define CELL 4 /* keys meant for a cell */
#define CROWDED 48 /* a cell with more keys, because they lie unevenly, is sorted by merging */

/* The least and the greatest confidence; refuses what is not a probability. */
int epi_extremes(const double *prob, int64_t n, double *ends, int64_t n_ends) {
    if (n < 0 || n_ends != 2) return -1;
    double low = 1.0, high = 0.0;
    int bad = 0;
    for (int64_t i = 0; i < n; i++) {
        const double p = prob[i];
        bad |= !(p >= 0.0 && p <= 1.0);
        low = p < low ? p : low;
        high = p > high ? p : high;
    }
    ends[0] = low;
    ends[1] = high;
    return bad ? -1 : 0;
}

static inline int64_t bucket_of(double p, double low, double scale, int64_t last) {
    const double place = (p - low) * scale;
    if (!(place >= 0.0)) return 0;
    return place >= (double)last ? last : (int64_t)place;
}

int epi_count_buckets(const double *prob, int64_t n, double low, double scale, int64_t *count, int64_t n_buckets) {
    if (n < 0 || n_buckets < 1) return -1;
    for (int64_t i = 0; i < n; i++) count[bucket_of(prob[i], low, scale, n_buckets - 1)]++;
    return 0;
}

/* Each row to the next place of its bucket. */
int epi_distribute(const uint8_t *true_, const double *prob, const double *weight, int64_t n, double low, double scale,
                   int64_t *place, int64_t n_buckets, int64_t *keys, int64_t n_keys) {
    if (n < 0 || n_buckets < 1) return -1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t b = bucket_of(prob[i], low, scale, n_buckets - 1), at = place[b];
        if (at < 0 || at >= n_keys) return -1;
        uint64_t bits;
        memcpy(&bits, &prob[i], sizeof bits);
        /* The shift drops the sign of -0.0. */
        const int64_t key = (int64_t)(bits << 1 | (uint64_t)(true_[i] & 1));
        if (weight) {
            const double mass = weight[i] + 0.0; /* -0.0 becomes 0.0; the bits of other weights are ordered as they are */
            keys[2 * at] = key;
            memcpy(&keys[2 * at + 1], &mass, sizeof mass);
        } else {
            keys[at] = key;
        }
        place[b] = at + 1;
    }
    return 0;
}

#define KEY int64_t
#define FIRST(k) (k)
#define AFTER(a, b) ((a) > (b))
#define NAMED(name) name
#include "bucket_sort.h"

typedef struct weighted {
    int64_t key, weight;
} weighted;

#define KEY weighted
#define FIRST(k) ((k).key)
#define AFTER(a, b) ((a).key > (b).key || ((a).key == (b).key && (a).weight > (b).weight))
#define NAMED(name) name##_weighted
#include "bucket_sort.h"

/* Sort the buckets from `first` to `last`; bucket b owns the keys from begin[b] to begin[b + 1]. `room` is for n_room keys. */
int epi_sort_buckets(int64_t *keys, int64_t n_keys, int has_weight, const int64_t *begin, int64_t n_begin, int64_t first,
                     int64_t last, int64_t *room, int64_t n_room, int64_t *end, int64_t n_end) {
    if (first < 0 || last >= n_begin) return -1;
    for (int64_t b = first; b < last; b++) {
        const int64_t n = begin[b + 1] - begin[b];
        if (begin[b] < 0 || n < 0 || begin[b + 1] > n_keys || n > n_room || n / CELL + 2 > n_end) return -1;
        if (n < 2) continue;
        if (has_weight) sort_bucket_weighted((weighted *)(void *)keys + begin[b], n, (weighted *)(void *)room, end);
        else sort_bucket(keys + begin[b], n, room, end);
    }
    return 0;
}

int epi_unpack_rows(int64_t *keys, uint8_t *outcome, int64_t n) {
    if (n < 0) return -1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t key = keys[i];
        outcome[i] = (uint8_t)(key & 1);
        keys[i] = key >> 1;
    }
    return 0;
}

int epi_unpack_weighed(const int64_t *keys, double *prob, uint8_t *outcome, double *weight, int64_t n) {
    if (n < 0) return -1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t key = keys[2 * i], bits = key >> 1;
        memcpy(&prob[i], &bits, sizeof bits);
        outcome[i] = (uint8_t)(key & 1);
        memcpy(&weight[i], &keys[2 * i + 1], sizeof *weight);
    }
    return 0;
}
