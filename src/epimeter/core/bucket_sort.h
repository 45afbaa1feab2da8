/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting the keys of one bucket, written once for keys of any kind: KEY is their type, FIRST(k) the integer that decides first, AFTER(a, b)
 * whether a comes after b, NAMED(x) the name of a function for this kind. No guard: sorting.c includes this for each kind. */

/* `keys` in increasing order, through `room` of the same length: stretches of 1, 2, 4, … are merged. */
static void NAMED(merge_sort)(KEY *keys, KEY *room, int64_t n) {
    int64_t i = 1;
    while (i < n && !AFTER(keys[i - 1], keys[i])) i++;
    if (i >= n) return;
    KEY *from = keys, *to = room;
    for (int64_t size = 1; size < n; size *= 2) {
        for (int64_t start = 0; start < n; start += 2 * size) {
            const int64_t middle = start + size < n ? start + size : n;
            const int64_t stop = start + 2 * size < n ? start + 2 * size : n;
            int64_t a = start, b = middle;
            for (int64_t k = start; k < stop; k++) {
                if (a < middle && (b >= stop || !AFTER(from[a], from[b]))) to[k] = from[a++];
                else to[k] = from[b++];
            }
        }
        KEY *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys) memcpy(keys, from, (size_t)n * sizeof *keys);
}

static void NAMED(sort_bucket)(KEY *bucket, int64_t n, KEY *room, int64_t *end) {
    int64_t low = FIRST(bucket[0]), high = low;
    for (int64_t i = 1; i < n; i++) {
        low = FIRST(bucket[i]) < low ? FIRST(bucket[i]) : low;
        high = FIRST(bucket[i]) > high ? FIRST(bucket[i]) : high;
    }
    const int64_t cells = n / CELL + 1, last = cells - 1;
    const double scale = (double)cells / ((double)(high - low) + 1.0);
    memset(end, 0, (size_t)(cells + 1) * sizeof *end);
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = (int64_t)((double)(FIRST(bucket[i]) - low) * scale);
        end[(c < last ? c : last) + 1]++;
    }
    for (int64_t c = 0; c < cells; c++) end[c + 1] += end[c];
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = (int64_t)((double)(FIRST(bucket[i]) - low) * scale);
        room[end[c < last ? c : last]++] = bucket[i];
    }
    int64_t start = 0;
    for (int64_t c = 0; c < cells; c++) {
        if (end[c] - start > CROWDED) NAMED(merge_sort)(room + start, bucket + start, end[c] - start);
        start = end[c];
    }
    bucket[0] = room[0];
    for (int64_t i = 1; i < n; i++) {
        const KEY key = room[i];
        int64_t j = i - 1;
        for (; j >= 0 && AFTER(bucket[j], key); j--) bucket[j + 1] = bucket[j];
        bucket[j + 1] = key;
    }
}

#undef KEY
#undef FIRST
#undef AFTER
#undef NAMED
