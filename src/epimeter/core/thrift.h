/* SPDX-License-Identifier: Apache-2.0 */
/* Thrift's compact protocol: numbers and fields, and what is skipped. */
#pragma once
#include <stdint.h>

enum { THRIFT_STOP, THRIFT_TRUE, THRIFT_FALSE, THRIFT_BYTE, THRIFT_I16, THRIFT_I32, THRIFT_I64, THRIFT_DOUBLE, THRIFT_BINARY,
       THRIFT_LIST, THRIFT_SET, THRIFT_MAP, THRIFT_STRUCT };

/* Bytes that are read from the front; `ok` becomes 0 when they end too early or make no sense, and stays so. */
typedef struct {
    const uint8_t *data;
    int64_t n, at;
    int ok;
} thrift;

/* An unsigned number of at most 63 bits. */
static inline int64_t thrift_varint(thrift *t) {
    uint64_t value = 0;
    for (int shift = 0; shift < 63 && t->at < t->n; shift += 7) {
        const uint8_t byte = t->data[t->at++];
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 128) return (int64_t)(value & INT64_MAX);
    }
    t->ok = 0;
    return 0;
}

/* A signed number, zigzag. A number of 64 bits takes ten bytes. */
static inline int64_t thrift_signed(thrift *t) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && t->at < t->n; shift += 7) {
        const uint8_t byte = t->data[t->at++];
        if (shift == 63 && byte > 1) break;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 128) return (int64_t)(value >> 1 ^ (0 - (value & 1)));
    }
    t->ok = 0;
    return 0;
}

/* The kind of the next field, its number beside it; THRIFT_STOP ends a struct. */
static inline int thrift_field(thrift *t, int64_t *number) {
    if (!t->ok || t->at >= t->n) {
        t->ok = 0;
        return THRIFT_STOP;
    }
    const uint8_t byte = t->data[t->at++];
    const int kind = byte & 15;
    if (byte == 0) return THRIFT_STOP;
    if (kind < THRIFT_TRUE || kind > THRIFT_STRUCT) {
        t->ok = 0;
        return THRIFT_STOP;
    }
    if (byte >> 4) {
        *number += byte >> 4;
    } else {
        *number = thrift_signed(t);
    }
    if (*number < 0 || *number > 32767) t->ok = 0;
    return t->ok ? kind : THRIFT_STOP;
}

/* The number and the kind of the things in a list or set, never more than bytes are left. */
static inline int64_t thrift_list(thrift *t, int *kind) {
    if (!t->ok || t->at >= t->n) {
        t->ok = 0;
        return 0;
    }
    const uint8_t byte = t->data[t->at++];
    *kind = byte & 15;
    const int64_t size = byte >> 4 == 15 ? thrift_varint(t) : byte >> 4;
    if (*kind < THRIFT_TRUE || *kind > THRIFT_STRUCT || size > t->n - t->at) t->ok = 0;
    return t->ok ? size : 0;
}

/* Bytes or text: how many, the place being moved behind them. */
static inline int64_t thrift_binary(thrift *t) {
    const int64_t size = thrift_varint(t);
    if (!t->ok || size > t->n - t->at) {
        t->ok = 0;
        return 0;
    }
    t->at += size;
    return size;
}

static inline void thrift_skip(thrift *t, int kind, int depth) {
    if (depth > 32) t->ok = 0;
    if (!t->ok) return;
    if (kind == THRIFT_BYTE) {
        t->at += 1;
    } else if (kind == THRIFT_DOUBLE) {
        t->at += 8;
    } else if (kind >= THRIFT_I16 && kind <= THRIFT_I64) {
        thrift_signed(t);
    } else if (kind == THRIFT_BINARY) {
        thrift_binary(t);
    } else if (kind == THRIFT_LIST || kind == THRIFT_SET) {
        int inner = 0;
        const int64_t size = thrift_list(t, &inner);
        for (int64_t i = 0; i < size && t->ok; i++) {
            if (inner == THRIFT_TRUE || inner == THRIFT_FALSE) t->at += 1;
            else thrift_skip(t, inner, depth + 1);
        }
    } else if (kind == THRIFT_STRUCT) {
        int64_t number = 0;
        for (int field = thrift_field(t, &number); field != THRIFT_STOP; field = thrift_field(t, &number))
            thrift_skip(t, field, depth + 1);
    } else if (kind == THRIFT_MAP) {
        t->ok = 0; /* nothing in Parquet is a map */
    }
    if (t->at > t->n) t->ok = 0;
}
