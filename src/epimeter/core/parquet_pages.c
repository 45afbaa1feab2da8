/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet pages: headers, Snappy, levels and values.
 *
 * Formats: Thrift's compact protocol for the headers, https://github.com/google/snappy/blob/main/format_description.txt,
 * https://parquet.apache.org/docs/file-format/data-pages/encodings/. What makes no sense ends a call with EPI_BROKEN, what is not
 * plain with EPI_NOT_PLAIN; a reader that knows everything then has the last word.
 */
#include "parquet_pages.h"

#include <string.h>

#include "thrift.h"

enum { DATA, INDEX, DICTIONARY, DATA_2 };
enum { PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, RLE_DICTIONARY = 8 };

/* Bytes that Snappy packs at a time, none of which refers to those before: the unit in which a page flows; and the most that
 * they are packed to. */
enum { BLOCK = 1 << 16, PACKED_BLOCK = 32 + BLOCK + BLOCK / 6 };
enum { LONGEST_HEADER = 1 << 16, LARGEST_PAGE = 1 << 30 };

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t epi_parquet_page_header(const uint8_t *data, int64_t n, epi_page_header *header) {
    memset(header, 0, sizeof *header);
    header->compressed = 1;
    if (n < 0) return -1;
    thrift t = {data, n, 0, 1};
    int64_t number = 0, outer = 0;
    while (t.ok) {
        const int kind = thrift_field(&t, &number);
        if (!t.ok) return -1;
        if (kind == THRIFT_STOP) {
            if (outer == 0) return t.at;
            number = outer; /* back from a data page (5), a dictionary page (7), a newer data page (8) */
            outer = 0;
        } else if (kind == THRIFT_STRUCT && outer == 0 && (number == 5 || number == 7 || number == 8)) {
            outer = number;
            number = 0;
        } else if (kind == THRIFT_I32) {
            const int64_t value = thrift_signed(&t);
            if (!t.ok) return -1;
            if (outer == 0) {
                if (number == 1) header->kind = value;
                if (number == 2) header->size = value;
                if (number == 3) header->compressed_size = value;
                if (number == 4) {
                    header->crc = value;
                    header->has_crc = 1;
                }
            } else if (outer == 8) {
                if (number == 1) header->values = value;
                if (number == 2) header->nulls = value;
                if (number == 4) header->encoding = value;
                if (number == 5) header->definition = value;
                if (number == 6) header->repetition = value;
            } else {
                if (number == 1) header->values = value;
                if (number == 2) header->encoding = value;
            }
        } else if (kind == THRIFT_TRUE || kind == THRIFT_FALSE) {
            if (outer == 8 && number == 7) header->compressed = kind == THRIFT_TRUE;
        } else {
            thrift_skip(&t, kind, 0);
        }
    }
    return -1;
}

/* Unpack elements from place `at` on until there are `size` bytes; the place after them, -1 when that is not possible. */
static int64_t unpack_elements(const uint8_t *data, int64_t n, int64_t at, uint8_t *out, int64_t size) {
    int64_t done = 0;
    while (done < size) {
        if (at >= n) return -1;
        const int tag = data[at++], kind = tag & 3;
        int64_t count;
        if (kind == 0) { /* a stretch as it stands */
            count = (tag >> 2) + 1;
            if (count > 60) {
                const int64_t wide = count - 60;
                if (wide > n - at) return -1;
                count = 0;
                for (int64_t i = 0; i < wide; i++) count |= (int64_t)data[at + i] << (8 * i);
                count += 1;
                at += wide;
            }
            if (count > n - at || count > size - done) return -1;
            memcpy(out + done, data + at, (size_t)count);
            at += count;
        } else { /* a copy of what came before */
            const int64_t wide = kind == 1 ? 1 : kind == 2 ? 2 : 4;
            if (wide > n - at) return -1;
            count = kind == 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
            int64_t back = kind == 1 ? (int64_t)(tag >> 5) << 8 : 0;
            for (int64_t i = 0; i < wide; i++) back |= (int64_t)data[at + i] << (8 * i);
            at += wide;
            if (back <= 0 || back > done || count > size - done) return -1;
            if (back >= count) {
                memcpy(out + done, out + done - back, (size_t)count);
            } else {
                for (int64_t i = 0; i < count; i++) out[done + i] = out[done + i - back]; /* a copy may overlap itself */
            }
        }
        done += count;
    }
    return at;
}

int epi_snappy(const uint8_t *data, int64_t n, uint8_t *out, int64_t size) {
    if (n < 0 || size < 0) return 0;
    thrift t = {data, n, 0, 1};
    const int64_t length = thrift_varint(&t); /* the same kind of number */
    return t.ok && length == size && unpack_elements(data, n, t.at, out, size) == n;
}

int64_t epi_hybrid(const uint8_t *data, int64_t n_data, int64_t width, int64_t n, int32_t *out) {
    if (n_data < 0 || width < 0 || width > 31 || n < 0) return -1;
    if (width == 0) {
        memset(out, 0, (size_t)n * sizeof *out);
        return n;
    }
    thrift t = {data, n_data, 0, 1};
    const int64_t wide = (width + 7) / 8;
    const uint64_t mask = ((uint64_t)1 << width) - 1;
    int64_t done = 0;
    while (done < n) {
        const int64_t head = thrift_varint(&t);
        if (!t.ok) return done;
        int64_t count;
        if (head & 1) { /* groups of eight, bit-packed */
            if (head >> 1 == 0 || head >> 1 > n_data) return done;
            count = least((head >> 1) * 8, n - done);
            if ((count * width + 7) / 8 > n_data - t.at) return done;
            /* Of the last group the end may be cut off behind the values; whole groups that are not there are damage. */
            if ((head >> 1) * width > n_data - t.at && (head >> 1) * 8 - count >= 8) return done;
            const uint8_t *from = data + t.at;
            int32_t *to = out + done;
            const int64_t readable = n_data - t.at;
            int64_t i = 0;
            if (width <= 25) {
                for (; i < count && (i * width >> 3) + 4 <= readable; i++) {
                    const uint8_t *b = from + (i * width >> 3);
                    const uint32_t word = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
                    to[i] = (int32_t)(word >> (i * width & 7) & mask);
                }
            }
            for (; i < count; i++) {
                uint64_t held = 0;
                const int64_t first = i * width, byte = first >> 3, bytes = (first - 8 * byte + width + 7) >> 3;
                for (int64_t k = 0; k < bytes; k++) held |= (uint64_t)from[byte + k] << (8 * k);
                to[i] = (int32_t)(held >> (first & 7) & mask);
            }
            if ((head >> 1) * width > readable) t.at = n_data;
            else t.at += (head >> 1) * width;
        } else {
            count = least(head >> 1, n - done);
            if (count <= 0 || wide > n_data - t.at) return done;
            uint32_t value = 0;
            for (int64_t i = 0; i < wide; i++) value |= (uint32_t)data[t.at + i] << (8 * i);
            for (int64_t i = 0; i < count; i++) out[done + i] = (int32_t)value;
            t.at += wide;
        }
        done += count;
    }
    return done;
}

/* Whether n levels of one bit are all 1, so that nothing is missing: 1, 0, or -1 when the data end. */
static int all_present(const uint8_t *data, int64_t n_data, int64_t n) {
    thrift t = {data, n_data, 0, 1};
    int64_t done = 0;
    while (done < n) {
        const int64_t head = thrift_varint(&t);
        if (!t.ok) return -1;
        int64_t count;
        if (head & 1) {
            if (head >> 1 > n_data) return -1;
            count = least((head >> 1) * 8, n - done);
            if ((count + 7) / 8 > n_data - t.at) return -1;
            for (int64_t i = 0; i < count; i++)
                if (!(data[t.at + (i >> 3)] >> (i & 7) & 1)) return 0;
            t.at += least(head >> 1, n_data - t.at);
        } else {
            count = least(head >> 1, n - done);
            if (count <= 0 || t.at >= n_data) return -1;
            if (data[t.at] != 1) return 0;
            t.at += 1;
        }
        done += count;
    }
    return 1;
}

/* A length of four bytes. */
static int64_t length_at(const uint8_t *b) {
    return (int64_t)b[0] | (int64_t)b[1] << 8 | (int64_t)b[2] << 16 | (int64_t)b[3] << 24;
}

/* Where the values begin behind the levels of a page of the first version; -1 unless these say that nothing is missing. */
static int64_t after_levels(const uint8_t *page, int64_t size, int64_t n) {
    if (size < 4) return -1;
    const int64_t levels = length_at(page);
    if (levels > size - 4 || all_present(page + 4, levels, n) < 1) return -1;
    return 4 + levels;
}

/* All buffers of a call. */
typedef struct {
    const uint8_t *window;
    uint8_t *page;
    int64_t n_page;
    int32_t *codes;
    int64_t n_codes;
    uint8_t *entries;
    int64_t n_entries;
    uint8_t *out;
    int64_t width;
} room;

/* The next block of a page, unpacked to `into`, which holds `size` bytes. */
static int unpack_block(epi_parquet_column *c, const uint8_t *window, uint8_t *into, int64_t size) {
    const int64_t wanted = least(c->packed, PACKED_BLOCK);
    if (c->end - c->at < wanted) {
        c->need = wanted;
        return c->whole ? EPI_BROKEN : EPI_MORE;
    }
    const int64_t used = size ? unpack_elements(window + c->at, wanted, 0, into, size) : -1;
    if (used < 0) return EPI_NOT_PLAIN; /* damaged, or packed in another way than in blocks */
    c->unread -= size;
    c->at += used;
    c->packed -= used;
    return EPI_DONE;
}

/* The next block of a page that flows: unpacked to `page`, or where it lies in the window. */
static int next_block(epi_parquet_column *c, const room *r) {
    if (c->flows == 1) {
        const int64_t used = least(c->end - c->at, c->packed);
        if (used <= 0) {
            c->need = 1;
            return c->whole || c->packed <= 0 ? EPI_BROKEN : EPI_MORE;
        }
        c->start = c->at;
        c->cursor = c->at + used;
        c->at += used;
        c->packed -= used;
        return EPI_DONE;
    }
    const int64_t size = least(c->unread, BLOCK);
    if (size > r->n_page) {
        c->need = BLOCK;
        return EPI_GROW_PAGE;
    }
    const int ended = unpack_block(c, r->window, r->page, size);
    if (ended == EPI_DONE) {
        c->start = 0;
        c->cursor = size;
    }
    return ended;
}

/* Values of the present block, and the next block when it is used up. */
static int flow(epi_parquet_column *c, const room *r, int64_t want) {
    const int64_t begin = c->filled * r->width + c->part;
    const int64_t space = least(want * r->width - begin, c->page * r->width - c->part);
    int64_t count;
    if (c->start < c->cursor) {
        count = least(c->cursor - c->start, space);
        memcpy(r->out + begin, (c->flows == 2 ? r->page : r->window) + c->start, (size_t)count);
        c->start += count;
    } else {
        count = least(c->unread, BLOCK);
        if (c->flows == 1 || count > space) return next_block(c, r);
        const int ended = unpack_block(c, r->window, r->out + begin, count); /* straight to where it belongs */
        if (ended != EPI_DONE) return ended;
    }
    const int64_t part = c->part + count;
    c->filled += part / r->width;
    c->page -= part / r->width;
    c->part = part % r->width;
    if (c->page == 0) { /* what a page has beyond its values is passed over */
        if (c->packed > c->end - c->at) {
            c->need = 0;
            if (c->whole) return EPI_BROKEN;
        }
        c->at += c->packed;
        c->packed = 0;
        c->flows = 0;
        if (c->at > c->end) return EPI_NOT_PLAIN;
    }
    return EPI_DONE;
}

/* Begin a page of plain numbers: its first block is unpacked, its levels are passed over. */
static int begin_flow(epi_parquet_column *c, const room *r, const epi_page_header *h, int64_t used) {
    const int64_t n = h->values, before = h->kind == DATA_2 ? h->definition : 0;
    if (before < 0 || before > h->compressed_size || before > h->size || n <= 0 || n > c->left) return EPI_BROKEN;
    const int unpack = c->compressed && (h->kind != DATA_2 || h->compressed);
    if (!unpack && h->compressed_size != h->size) return EPI_BROKEN;
    const int64_t body = c->at + used;
    if (before > c->end - body) return EPI_NOT_PLAIN;
    if (h->kind == DATA_2 && (c->nullable ? all_present(r->window + body, before, n) < 1 : before != 0)) return EPI_NOT_PLAIN;
    int64_t begin = body + before;
    if (unpack) {
        thrift t = {r->window + begin, least(c->end, body + h->compressed_size) - begin, 0, 1};
        const int64_t stated = thrift_varint(&t);
        if (!t.ok || stated != h->size - before) return c->whole || begin < c->end ? EPI_BROKEN : EPI_NOT_PLAIN;
        begin += t.at;
    }
    if (n > (h->size - before) / r->width) return EPI_NOT_PLAIN;
    epi_parquet_column next = *c;
    next.at = begin;
    next.packed = h->compressed_size - (begin - body);
    next.unread = h->size - before;
    next.flows = unpack ? 2 : 1;
    next.start = next.cursor = next.part = 0;
    int ended = next_block(&next, r);
    if (ended != EPI_DONE) {
        c->need = next.need;
        return ended == EPI_MORE ? EPI_NOT_PLAIN : ended;
    }
    int64_t skip = 0;
    if (h->kind == DATA && c->nullable) {
        skip = after_levels((unpack ? r->page : r->window) + next.start, next.cursor - next.start, n);
        if (skip < 0) return EPI_NOT_PLAIN;
    }
    if (n * r->width > h->size - before - skip) return EPI_NOT_PLAIN;
    next.start += skip;
    next.page = n;
    next.coded = 0;
    next.left -= n;
    *c = next;
    return EPI_DONE;
}

/* Unpack the next page; nothing is consumed unless it ends with EPI_DONE. */
static int open_page(epi_parquet_column *c, const room *r) {
    epi_page_header h;
    const int64_t at = c->at, end = c->end;
    const int64_t used = epi_parquet_page_header(r->window + at, least(end - at, LONGEST_HEADER), &h);
    if (used <= 0) {
        c->need = least(2 * (end - at) + 64, LONGEST_HEADER);
        return c->whole || end - at >= LONGEST_HEADER ? EPI_BROKEN : EPI_MORE;
    }
    const int64_t length = h.compressed_size, n = h.values;
    if (h.size < 0 || h.size > LARGEST_PAGE || length < 0 || length > LARGEST_PAGE || n < 0 || n > LARGEST_PAGE) return EPI_BROKEN;
    if (h.size > c->largest) return EPI_NOT_PLAIN;
    const int flows = (h.kind == DATA || h.kind == DATA_2) && h.encoding == PLAIN && !c->boolean && !c->words;
    const int64_t wanted = flows ? least(length, 2 * PACKED_BLOCK) : length;
    if (wanted > end - at - used) {
        c->need = used + wanted;
        return c->whole ? EPI_BROKEN : EPI_MORE;
    }
    if (h.has_crc || h.kind < 0 || h.kind > DATA_2 || h.nulls || h.repetition) return EPI_NOT_PLAIN;
    if (flows) return begin_flow(c, r, &h, used);
    const uint8_t *raw = r->window + at + used;
    if (h.kind == INDEX) {
        c->at = at + used + length;
        return EPI_DONE;
    }
    if (h.size > r->n_page) {
        c->need = h.size;
        return EPI_GROW_PAGE;
    }
    const int64_t before = h.kind == DATA_2 ? h.definition : 0;
    if (before < 0 || before > length || before > h.size) return EPI_BROKEN;
    if (h.kind == DATA_2 && (c->nullable ? all_present(raw, before, n) < 1 : before != 0)) return EPI_NOT_PLAIN;
    const int64_t size = h.size - before;
    if (c->compressed && (h.kind != DATA_2 || h.compressed)) {
        if (size > 0 && !epi_snappy(raw + before, length - before, r->page, size)) return EPI_BROKEN;
    } else {
        if (length != h.size) return EPI_BROKEN;
        memcpy(r->page, raw + before, (size_t)size);
    }
    if (h.kind == DICTIONARY) {
        if (c->boolean || (h.encoding != PLAIN && h.encoding != PLAIN_DICTIONARY)) return EPI_NOT_PLAIN;
        if (n > size || (!c->words && n > size / r->width)) return EPI_BROKEN;
        const int64_t octets = c->words ? size : n * r->width;
        if (octets > r->n_entries) {
            c->need = octets;
            return EPI_GROW_DICTIONARY;
        }
        memcpy(r->entries, r->page, (size_t)octets);
        c->entries = n;
        c->octets = octets;
        c->at = at + used + length;
        return EPI_DONE;
    }
    if (n <= 0 || n > c->left) return EPI_BROKEN;
    int64_t start = 0, coded = 0;
    if (h.kind == DATA && c->nullable) {
        start = after_levels(r->page, size, n);
        if (start < 0) return EPI_NOT_PLAIN;
    }
    if (h.encoding == PLAIN && c->boolean) {
        if ((n + 7) / 8 > size - start) return EPI_BROKEN;
    } else if ((h.encoding == RLE && c->boolean) ||
               ((h.encoding == PLAIN_DICTIONARY || h.encoding == RLE_DICTIONARY) && !c->boolean && c->entries >= 0)) {
        if (n > r->n_codes) {
            c->need = n;
            return EPI_GROW_CODES;
        }
        const int64_t skip = c->boolean ? 4 : 1; /* the length of the runs, or the width of a code */
        if (skip > size - start) return EPI_BROKEN;
        const int64_t bits = c->boolean ? 1 : r->page[start];
        const int64_t runs = c->boolean ? length_at(r->page + start) : size - start - skip;
        if (bits > 31 || runs > size - start - skip) return EPI_BROKEN;
        if (epi_hybrid(r->page + start + skip, runs, bits, n, r->codes) != n) return EPI_BROKEN;
        if (!c->boolean) {
            int32_t low = 0, high = -1;
            for (int64_t i = 0; i < n; i++) { /* without a way out, so that many are looked at at once */
                low = r->codes[i] < low ? r->codes[i] : low;
                high = r->codes[i] > high ? r->codes[i] : high;
            }
            if (low < 0 || high >= c->entries) return EPI_BROKEN;
        }
        coded = 1;
    } else {
        return EPI_NOT_PLAIN;
    }
    c->page = n;
    c->cursor = 0;
    c->coded = coded;
    c->start = start;
    c->left -= n;
    c->at = at + used + length;
    return EPI_DONE;
}

/* Bits from bit `first` on, one a byte. */
static void unpack_bits(const uint8_t *data, int64_t first, uint8_t *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = data[(first + i) >> 3] >> ((first + i) & 7) & 1;
}

static void look_up(const int32_t *codes, const uint8_t *entries, uint8_t *out, int64_t n, int64_t width) {
    if (width == 8) {
        for (int64_t i = 0; i < n; i++) memcpy(out + 8 * i, entries + 8 * (int64_t)codes[i], 8);
    } else if (width == 4) {
        for (int64_t i = 0; i < n; i++) memcpy(out + 4 * i, entries + 4 * (int64_t)codes[i], 4);
    } else {
        for (int64_t i = 0; i < n; i++) memcpy(out + width * i, entries + width * (int64_t)codes[i], (size_t)width);
    }
}

int epi_parquet_fill(epi_parquet_column *column, const uint8_t *window, int64_t n_window, uint8_t *page, int64_t n_page,
                     int32_t *codes, int64_t n_codes, uint8_t *entries, int64_t n_entries, uint8_t *out, int64_t n_out,
                     int64_t width, int64_t want) {
    epi_parquet_column *c = column;
    if (width < 1 || width > 8 || want < 0 || want > n_out / width || n_window < 0 || n_page < 0 || n_codes < 0) return EPI_UNFIT;
    if (c->at < 0 || c->at > c->end || c->end > n_window || c->left < 0 || c->page < 0 || c->filled < 0) return EPI_UNFIT;
    if (c->start < 0 || c->cursor < 0 || c->part < 0 || c->part >= width || c->packed < 0 || c->unread < 0) return EPI_UNFIT;
    if (c->words ? width != 4 : c->boolean && width != 1) return EPI_UNFIT;
    if (c->flows && (c->start > c->cursor || c->cursor > (c->flows == 2 ? n_page : n_window))) return EPI_UNFIT;
    if (!c->flows && c->page && c->coded && c->cursor + c->page > n_codes) return EPI_UNFIT;
    if (!c->flows && c->page && !c->coded && c->start + (c->cursor + c->page + 7) / 8 > n_page) return EPI_UNFIT;
    if (c->entries > 0 && !c->words && c->entries > n_entries / width) return EPI_UNFIT;
    const room r = {window, page, n_page, codes, n_codes, entries, n_entries, out, width};
    while (c->filled < want) {
        if (c->page == 0) {
            if (c->left <= 0) return EPI_DONE;
            const int ended = open_page(c, &r);
            if (ended != EPI_DONE) return ended;
            continue;
        }
        if (c->flows) {
            const int ended = flow(c, &r, want);
            if (ended != EPI_DONE) return ended;
            continue;
        }
        const int64_t count = least(want - c->filled, c->page);
        const int32_t *some = codes + c->cursor;
        uint8_t *to = out + c->filled * width;
        if (c->coded && c->boolean) {
            for (int64_t i = 0; i < count; i++) to[i] = (uint8_t)(some[i] & 1);
        } else if (c->words) {
            memcpy(to, some, (size_t)count * 4);
        } else if (c->coded) {
            look_up(some, entries, to, count, width);
        } else {
            unpack_bits(page + c->start, c->cursor, to, count);
        }
        c->filled += count;
        c->cursor += count;
        c->page -= count;
    }
    return EPI_DONE;
}

int64_t epi_parquet_longest_entry(const uint8_t *data, int64_t n, int64_t entries) {
    int64_t longest = 0, at = 0;
    for (int64_t i = 0; i < entries; i++) {
        if (n - at < 4) return -1;
        const int64_t size = (int64_t)data[at] | (int64_t)data[at + 1] << 8 | (int64_t)data[at + 2] << 16 | (int64_t)data[at + 3] << 24;
        if (size > n - at - 4) return -1;
        at += 4 + size;
        longest = size > longest ? size : longest;
    }
    return longest;
}
