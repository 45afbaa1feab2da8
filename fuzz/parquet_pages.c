/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer over everything that foreign Parquet bytes reach: footers, page headers, Snappy, runs, whole columns.
 *
 *     make fuzz SECONDS=600
 *
 * The first byte chooses what is tried and how the column is written; the buffers begin small and grow as the decoder asks, each
 * exactly as long as it says, so that AddressSanitizer sees the first byte beyond.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "parquet_pages.h"

static void *room(int64_t size) {
    void *made = calloc(size > 0 ? (size_t)size : 1, 1);
    if (!made) abort();
    return made;
}

static uint8_t *grown(uint8_t *old, int64_t *size, int64_t need, int64_t unit) {
    if (need <= *size / unit || need > 1 << 24) abort(); /* it asked for what it had, or for more than it may */
    free(old);
    *size = need * unit;
    return room(*size);
}

static void column(const uint8_t *data, int64_t n, unsigned how) {
    const int64_t widths[4] = {8, 4, 1, 4};
    const int64_t width = widths[how & 3], want = 1 + (how >> 6) * 37;
    epi_parquet_column c;
    memset(&c, 0, sizeof c);
    c.left = 5000;
    c.entries = -1;
    c.largest = 1 << 20;
    c.compressed = how >> 2 & 1;
    c.nullable = how >> 3 & 1;
    c.boolean = (how & 3) == 2;
    c.words = (how & 3) == 3;
    int64_t n_page = 16, n_codes = 16, n_entries = 16, read = 0, n_window = n < 64 ? n : 64;
    uint8_t *page = room(n_page), *entries = room(n_entries), *window = room(n_window), *out = room(want * width);
    int32_t *codes = (int32_t *)(void *)room(n_codes * 4);
    memcpy(window, data, (size_t)n_window);
    c.end = n_window;
    c.whole = n_window == n;
    for (int turn = 0; turn < 400; turn++) {
        if (c.filled >= want) c.filled = 0;
        const int ended = epi_parquet_fill(&c, window, n_window, page, n_page, codes, n_codes, entries, n_entries, out,
                                           want * width, width, want);
        if (ended == EPI_UNFIT) abort(); /* a decoder must not spoil its own state */
        if (ended == EPI_DONE) {
            if (!c.filled) break;
            continue;
        }
        if (ended == EPI_MORE) {
            read += c.at;
            const int64_t left = n - read;
            if (c.whole || left < 0) abort();
            int64_t size = c.need > 64 ? c.need : 64;
            size = size < left ? size : left;
            free(window);
            window = room(size);
            memcpy(window, data + read, (size_t)size);
            n_window = c.end = size;
            c.at = 0;
            c.whole = size == left;
        } else if (ended == EPI_GROW_PAGE) {
            page = grown(page, &n_page, c.need, 1);
        } else if (ended == EPI_GROW_CODES) {
            codes = (int32_t *)(void *)grown((uint8_t *)codes, &n_codes, c.need * 4, 1);
            n_codes /= 4;
        } else if (ended == EPI_GROW_DICTIONARY) {
            entries = grown(entries, &n_entries, c.need, 1);
        } else {
            break;
        }
    }
    free(page);
    free(entries);
    free(window);
    free(out);
    free(codes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    const unsigned kind = data[0] % 5, how = data[1];
    const int64_t n = (int64_t)size - 2;
    uint8_t *exact = room(n);
    memcpy(exact, data + 2, (size_t)n);
    if (kind == 0) {
        int64_t counts[2], *table = (int64_t *)(void *)room(how * 56);
        epi_parquet_footer_fault(exact, n, (int64_t)1 << (how & 31), table, how * 7, counts, 2);
        free(table);
    } else if (kind == 1) {
        epi_page_header header;
        if (epi_parquet_page_header(exact, n, &header) > n) abort();
        epi_parquet_longest_entry(exact, n, how);
    } else if (kind == 2) {
        uint8_t *out = room(how * 16);
        epi_snappy(exact, n, out, how * 16);
        free(out);
    } else if (kind == 3) {
        int32_t *out = (int32_t *)(void *)room(how * 4);
        if (epi_hybrid(exact, n, how & 31, how, out) > how) abort();
        free(out);
    } else {
        column(exact, n, how);
    }
    free(exact);
    return 0;
}
