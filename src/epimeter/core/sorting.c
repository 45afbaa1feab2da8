/* SPDX-License-Identifier: Apache-2.0 */
/* Rows sorted by confidence and outcome with hardly any comparison.
 *
 * The confidences go into buckets by where they lie between the least and the greatest; each bucket, small enough for
 * the cache, goes into cells of about four keys by where its keys lie between its own least and greatest; what is still
 * out of order inside a cell moves a few places. A key is the confidence's bits, shifted left, with the outcome last.
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
int epi_distribute(const uint8_t *true_, const double *prob, int64_t n, double low, double scale, int64_t *place,
                   int64_t n_buckets, int64_t *keys, int64_t n_keys) {
    if (n < 0 || n_buckets < 1) return -1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t b = bucket_of(prob[i], low, scale, n_buckets - 1), at = place[b];
        if (at < 0 || at >= n_keys) return -1;
        uint64_t bits;
        memcpy(&bits, &prob[i], sizeof bits);
 /* The shift drops the sign of -0.0. */
        keys[at] = (int64_t)(bits << 1 | (uint64_t)(true_[i] & 1));
        place[b] = at + 1;
    }
    return 0;
}

/* `keys` in increasing order, through `room` of the same length: stretches of 1, 2, 4, … are merged. */
static void merge_sort(int64_t *keys, int64_t *room, int64_t n) {
    int64_t i = 1;
    while (i < n && keys[i - 1] <= keys[i]) i++;
    if (i >= n) return;
    int64_t *from = keys, *to = room;
    for (int64_t size = 1; size < n; size *= 2) {
        for (int64_t start = 0; start < n; start += 2 * size) {
            const int64_t middle = start + size < n ? start + size : n;
            const int64_t stop = start + 2 * size < n ? start + 2 * size : n;
            int64_t a = start, b = middle;
            for (int64_t k = start; k < stop; k++) {
                if (a < middle && (b >= stop || from[a] <= from[b])) to[k] = from[a++];
                else to[k] = from[b++];
            }
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys) memcpy(keys, from, (size_t)n * sizeof *keys);
}

static void sort_bucket(int64_t *bucket, int64_t n, int64_t *room, int64_t *end) {
    int64_t low = bucket[0], high = bucket[0];
    for (int64_t i = 1; i < n; i++) {
        low = bucket[i] < low ? bucket[i] : low;
        high = bucket[i] > high ? bucket[i] : high;
    }
    const int64_t cells = n / CELL + 1, last = cells - 1;
    const double scale = (double)cells / ((double)(high - low) + 1.0);
    memset(end, 0, (size_t)(cells + 1) * sizeof *end);
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = (int64_t)((double)(bucket[i] - low) * scale);
        end[(c < last ? c : last) + 1]++;
    }
    for (int64_t c = 0; c < cells; c++) end[c + 1] += end[c];
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = (int64_t)((double)(bucket[i] - low) * scale);
        room[end[c < last ? c : last]++] = bucket[i];
    }
    int64_t start = 0;
    for (int64_t c = 0; c < cells; c++) {
        if (end[c] - start > CROWDED) merge_sort(room + start, bucket + start, end[c] - start);
        start = end[c];
    }
    bucket[0] = room[0];
    for (int64_t i = 1; i < n; i++) {
        const int64_t key = room[i];
        int64_t j = i - 1;
        for (; j >= 0 && bucket[j] > key; j--) bucket[j + 1] = bucket[j];
        bucket[j + 1] = key;
    }
}

/* Sort the buckets from `first` to `last`; bucket b owns the keys from begin[b] to begin[b + 1]. */
int epi_sort_buckets(int64_t *keys, int64_t n_keys, const int64_t *begin, int64_t n_begin, int64_t first, int64_t last,
                     int64_t *room, int64_t n_room, int64_t *end, int64_t n_end) {
    if (first < 0 || last >= n_begin) return -1;
    for (int64_t b = first; b < last; b++) {
        const int64_t n = begin[b + 1] - begin[b];
        if (begin[b] < 0 || n < 0 || begin[b + 1] > n_keys || n > n_room || n / CELL + 2 > n_end) return -1;
        if (n > 1) sort_bucket(keys + begin[b], n, room, end);
    }
    return 0;
}

int epi_unpack_keys(const int64_t *keys, double *prob, double *true_, int64_t n) {
    if (n < 0) return -1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t bits = keys[i] >> 1;
        memcpy(&prob[i], &bits, sizeof bits);
        true_[i] = (double)(keys[i] & 1);
    }
    return 0;
}
