/* SPDX-License-Identifier: Apache-2.0 */
/* The footer of a Parquet file, checked before a library that trusts it sees it.
 *
 * https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift names the fields. What is checked is what
 * readers rely on without asking: that the schema is a tree, that every row group has its columns, of its types and names, with
 * as many values as rows, inside the file.
 */
#include <string.h>

#include "parquet_pages.h"
#include "thrift.h"

enum { NONSENSE = 1, NO_TREE, OTHER_COLUMNS, OTHER_ROWS, OUTSIDE, OTHER_TOTAL };
enum { DEEPEST = 64, LARGEST_COUNT = 1 << 24 };
enum { TYPES = 8, CODECS = 8, ENCODINGS = 10, CONVERTED = 22 };

/* Remember that a field was seen; a second time is nonsense: two readers could take different ones. */
static void once(thrift *t, uint32_t *seen, int64_t number) {
    if (number >= 1 && number < 32) {
        if (*seen >> number & 1) t->ok = 0;
        *seen |= (uint32_t)1 << number;
    }
}

static int has(uint32_t seen, int number) { return seen >> number & 1; }

/* A field's number, of the kind it must have. */
static int64_t number_of(thrift *t, int kind, int wanted) {
    if (kind != wanted) t->ok = 0;
    return t->ok ? thrift_signed(t) : 0;
}

typedef struct {
    int64_t type, repetition, children;
    const uint8_t *name;
    int64_t name_size;
    uint32_t seen;
} element;

static element schema_element(thrift *t) {
    element e = {0};
    int64_t number = 0;
    for (int kind = thrift_field(t, &number); kind != THRIFT_STOP; kind = thrift_field(t, &number)) {
        once(t, &e.seen, number);
        if (number == 1) {
            e.type = number_of(t, kind, THRIFT_I32);
            if (e.type < 0 || e.type >= TYPES) t->ok = 0;
        } else if (number == 2 || number == 7 || number == 8 || number == 9) {
            const int64_t value = number_of(t, kind, THRIFT_I32);
            if (number != 9 && value < 0) t->ok = 0;
        } else if (number == 3) {
            e.repetition = number_of(t, kind, THRIFT_I32);
            if (e.repetition < 0 || e.repetition > 2) t->ok = 0;
        } else if (number == 4) {
            if (kind != THRIFT_BINARY) t->ok = 0;
            e.name_size = t->ok ? thrift_binary(t) : 0;
            e.name = t->data + t->at - e.name_size;
        } else if (number == 5) {
            e.children = number_of(t, kind, THRIFT_I32);
            if (e.children < 0 || e.children > LARGEST_COUNT) t->ok = 0;
        } else if (number == 6) {
            const int64_t value = number_of(t, kind, THRIFT_I32);
            if (value < 0 || value >= CONVERTED) t->ok = 0;
        } else {
            thrift_skip(t, kind, 0);
        }
    }
    if (!has(e.seen, 4)) t->ok = 0;
    return e;
}

/* A walk through the leaves of a schema. */
typedef struct {
    thrift at;
    int64_t size, read;
    int64_t left[DEEPEST];    /* children not yet begun, by depth */
    int repeated[DEEPEST];    /* whether this depth or one above it is repeated */
    const uint8_t *name[DEEPEST];
    int64_t name_size[DEEPEST];
    int depth;
    int64_t type;
} walk;

/* 1 and the next leaf, 0 at the end, -1 when it is no tree. */
static int next_leaf(walk *w) {
    for (;;) {
        while (w->depth > 0 && w->left[w->depth - 1] == 0) w->depth--;
        if (w->depth == 0 && w->read) return w->read == w->size ? 0 : -1;
        if (w->read >= w->size) return -1;
        const element e = schema_element(&w->at);
        w->read++;
        if (!w->at.ok) return -1;
        const int root = w->depth == 0;
        if (!root) w->left[w->depth - 1]--;
        if (w->depth >= DEEPEST || (!root && !has(e.seen, 3))) return -1;
        if (root && e.seen & (uint32_t)1 << 1) return -1;
        w->repeated[w->depth] = (w->depth > 0 && w->repeated[w->depth - 1]) || (!root && e.repetition == 2);
        w->name[w->depth] = e.name;
        w->name_size[w->depth] = e.name_size;
        if (root || (has(e.seen, 5) && e.children > 0)) {
            if (has(e.seen, 1) || e.children < 1) return -1; /* a group has no type, and something in it */
            w->left[w->depth++] = e.children;
            continue;
        }
        if (!has(e.seen, 1)) return -1;
        w->type = e.type;
        return 1;
    }
}

/* A list of encodings, each one that exists. */
static void encodings(thrift *t, int kind) {
    int inner = 0;
    if (kind != THRIFT_LIST) t->ok = 0;
    const int64_t size = thrift_list(t, &inner);
    for (int64_t i = 0; i < size && t->ok; i++) {
        const int64_t value = number_of(t, inner, THRIFT_I32);
        if (value < 0 || value >= ENCODINGS) t->ok = 0;
    }
}

/* Whether a list of names is the path of the leaf where the walk stands. */
static int path_fits(thrift *t, int kind, const walk *w) {
    int inner = 0;
    if (kind != THRIFT_LIST) t->ok = 0;
    const int64_t size = thrift_list(t, &inner);
    int fits = size == w->depth;
    for (int64_t i = 0; i < size && t->ok; i++) {
        if (inner != THRIFT_BINARY) t->ok = 0;
        const int64_t length = t->ok ? thrift_binary(t) : 0;
        /* the names of a path begin below the root */
        if (fits && t->ok && (length != w->name_size[i + 1] || memcmp(t->data + t->at - length, w->name[i + 1], (size_t)length)))
            fits = 0;
    }
    return fits;
}

/* Where the numbers of each column of each group go, in order. */
typedef struct {
    int64_t *row;
    int64_t n, used;
} table;

static int column_fault(thrift *t, const walk *w, int64_t rows, int64_t end, table *out) {
    uint32_t seen = 0;
    int64_t number = 0, values = -1, size = -1, unpacked = -1, data = -1, dictionary = 0, codec = -1;
    int fits = 1;
    for (int kind = thrift_field(t, &number); kind != THRIFT_STOP; kind = thrift_field(t, &number)) {
        once(t, &seen, number);
        if (number == 1) {
            if (number_of(t, kind, THRIFT_I32) != w->type) fits = 0;
        } else if (number == 2) {
            encodings(t, kind);
        } else if (number == 3) {
            if (!path_fits(t, kind, w)) fits = 0;
        } else if (number == 4) {
            codec = number_of(t, kind, THRIFT_I32);
            if (codec < 0 || codec >= CODECS) t->ok = 0;
        } else if (number == 5) {
            values = number_of(t, kind, THRIFT_I64);
        } else if (number == 6) {
            unpacked = number_of(t, kind, THRIFT_I64);
        } else if (number == 7) {
            size = number_of(t, kind, THRIFT_I64);
        } else if (number == 9) {
            data = number_of(t, kind, THRIFT_I64);
        } else if (number == 11) {
            dictionary = number_of(t, kind, THRIFT_I64);
        } else {
            thrift_skip(t, kind, 0);
        }
    }
    for (int needed = 1; needed <= 9; needed++)
        if (needed != 8 && !has(seen, needed)) t->ok = 0;
    if (!t->ok) return NONSENSE;
    if (!fits) return OTHER_COLUMNS;
    if (values < 0 || (w->repeated[w->depth] ? 0 : values != rows)) return OTHER_ROWS;
    if (unpacked < 0 || size < 0 || data < 0 || dictionary < 0) return OUTSIDE;
    const int64_t begin = dictionary > 0 && dictionary < data ? dictionary : data;
    if (data > end || size > end - begin) return OUTSIDE;
    if (out->n - out->used >= EPI_COLUMN_NUMBERS) {
        const int64_t numbers[EPI_COLUMN_NUMBERS] = {w->type, codec, values, begin, size, unpacked, rows};
        memcpy(out->row + out->used, numbers, sizeof numbers);
    }
    out->used += EPI_COLUMN_NUMBERS;
    return 0;
}

static int chunk_fault(thrift *t, const walk *w, int64_t rows, int64_t end, table *out) {
    uint32_t seen = 0;
    int64_t number = 0;
    int fault = 0;
    for (int kind = thrift_field(t, &number); kind != THRIFT_STOP; kind = thrift_field(t, &number)) {
        once(t, &seen, number);
        if (number == 3) {
            if (kind != THRIFT_STRUCT) t->ok = 0;
            if (t->ok) fault = column_fault(t, w, rows, end, out);
        } else {
            thrift_skip(t, kind, 0);
        }
        if (fault) return fault;
    }
    /* Columns in other files, and columns that are encrypted, are not read here. */
    return !t->ok || !has(seen, 3) ? NONSENSE : has(seen, 1) ? OUTSIDE : 0;
}

/* The rows of a group stand behind its columns: they are read first. */
static int64_t rows_of_group(thrift t) {
    int64_t number = 0, rows = -1;
    for (int kind = thrift_field(&t, &number); kind != THRIFT_STOP; kind = thrift_field(&t, &number)) {
        if (number == 3 && kind == THRIFT_I64) rows = thrift_signed(&t);
        else thrift_skip(&t, kind, 0);
    }
    return t.ok ? rows : -1;
}

static int group_fault(thrift *t, walk w, int64_t end, int64_t *rows, table *out) {
    uint32_t seen = 0;
    int64_t number = 0;
    *rows = rows_of_group(*t);
    if (*rows < 0) return NONSENSE;
    for (int kind = thrift_field(t, &number); kind != THRIFT_STOP; kind = thrift_field(t, &number)) {
        once(t, &seen, number);
        if (number != 1) {
            if (number == 2 && kind != THRIFT_I64) t->ok = 0;
            thrift_skip(t, kind, 0);
            continue;
        }
        int inner = 0;
        if (kind != THRIFT_LIST) t->ok = 0;
        const int64_t size = thrift_list(t, &inner);
        if (!t->ok || inner != THRIFT_STRUCT) return NONSENSE;
        for (int64_t i = 0; i < size; i++) {
            if (next_leaf(&w) != 1) return OTHER_COLUMNS;
            const int fault = chunk_fault(t, &w, *rows, end, out);
            if (fault) return fault;
        }
        if (next_leaf(&w) != 0) return OTHER_COLUMNS;
    }
    return !t->ok || !has(seen, 1) || !has(seen, 2) || !has(seen, 3) ? NONSENSE : 0;
}

int epi_parquet_footer_fault(const uint8_t *footer, int64_t n, int64_t end, int64_t *columns, int64_t n_columns, int64_t *counts,
                             int64_t n_counts) {
    if (n < 0 || end < 0 || n_columns < 0 || n_counts != 2) return NONSENSE;
    table out = {columns, n_columns, 0};
    counts[0] = counts[1] = 0;
    thrift t = {footer, n, 0, 1}, groups = t;
    walk schema = {0};
    uint32_t seen = 0;
    int64_t number = 0, total = -1, n_groups = 0;
    for (int kind = thrift_field(&t, &number); kind != THRIFT_STOP; kind = thrift_field(&t, &number)) {
        once(&t, &seen, number);
        int inner = 0;
        if (number == 2 || number == 4) {
            if (kind != THRIFT_LIST) return NONSENSE;
            thrift list = t;
            const int64_t size = thrift_list(&list, &inner);
            if (!list.ok || (size && inner != THRIFT_STRUCT)) return NONSENSE;
            if (number == 2) {
                schema.at = list;
                schema.size = size;
            } else {
                groups = list;
                n_groups = size;
            }
        }
        if (number == 3) total = number_of(&t, kind, THRIFT_I64);
        else thrift_skip(&t, kind, 0);
    }
    if (!t.ok || !has(seen, 1) || !has(seen, 2) || !has(seen, 3) || !has(seen, 4) || total < 0) return NONSENSE;
    walk leaves = schema;
    int found = next_leaf(&leaves);
    for (; found == 1; found = next_leaf(&leaves)) counts[1]++;
    if (found < 0 || !counts[1]) return NO_TREE;
    counts[0] = n_groups;
    int64_t rows = 0;
    for (int64_t i = 0; i < n_groups; i++) {
        int64_t here = 0;
        const int fault = group_fault(&groups, schema, end, &here, &out);
        if (fault) return fault;
        if (here > total - rows) return OTHER_TOTAL;
        rows += here;
    }
    return rows == total ? 0 : OTHER_TOTAL;
}
