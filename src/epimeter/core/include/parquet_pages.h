/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a Parquet column into values, and the footer of a file checked before anybody trusts it. Every length that a file
 * states is held against what is there before anything is read or written. */
#pragma once
#include <stdint.h>

/* How a call ended: all that was wanted; a longer window is needed; a buffer is too small; not plain, left to another reader;
 * damaged; called with lengths that do not fit. */
enum { EPI_DONE, EPI_MORE, EPI_GROW_PAGE, EPI_GROW_CODES, EPI_GROW_DICTIONARY, EPI_NOT_PLAIN, EPI_BROKEN, EPI_UNFIT };

/* A column between calls. A page of plain numbers flows block by block, so that it never leaves the cache. */
typedef struct {
    int64_t at, end;       /* what is unread in the window */
    int64_t whole;         /* whether the window reaches the end of the column */
    int64_t left;          /* values in pages not begun */
    int64_t page, cursor;  /* values left in the present page, and where they begin: in codes, bits, or bytes of a block */
    int64_t coded;         /* whether the present page holds codes */
    int64_t start;         /* where its values begin in the page; in a page that flows, the next byte of the block */
    int64_t need;          /* how much a buffer must hold, after EPI_MORE and EPI_GROW_… */
    int64_t entries;       /* of the dictionary; -1 before there is one */
    int64_t octets;        /* bytes of the dictionary */
    int64_t filled;        /* values given by this call */
    int64_t flows;         /* 1: a page of plain numbers as it stands in the window; 2: one that is unpacked by blocks */
    int64_t packed;        /* bytes of it that are still in the file */
    int64_t unread;        /* bytes of it that are not yet unpacked */
    int64_t part;          /* bytes of a number whose rest comes with the next block */
    int64_t compressed, nullable, boolean, words; /* how the column is written; of words the codes are given */
    int64_t largest;       /* bytes that a page may unpack to */
} epi_parquet_column;

/* The next values of a column, of `width` bytes each, into `out`, at most `want`. `page`, `codes` and `entries` are room. */
int epi_parquet_fill(epi_parquet_column *column, const uint8_t *window, int64_t n_window, uint8_t *page, int64_t n_page,
                     int32_t *codes, int64_t n_codes, uint8_t *entries, int64_t n_entries, uint8_t *out, int64_t n_out,
                     int64_t width, int64_t want);

/* What the header of a page says; absent numbers are 0. */
typedef struct {
    int64_t kind, size, compressed_size, crc, has_crc, values, encoding, nulls, definition, repetition, compressed;
} epi_page_header;

/* Read the header of a page; its length, or -1 when it makes no sense or goes on beyond the data. */
int64_t epi_parquet_page_header(const uint8_t *data, int64_t n, epi_page_header *header);

/* Unpack Snappy data; 0 unless it gives exactly `size` bytes. */
int epi_snappy(const uint8_t *data, int64_t n, uint8_t *out, int64_t size);

/* Runs and bit-packed groups of integers of `width` bits; how many of n there were. */
int64_t epi_hybrid(const uint8_t *data, int64_t n_data, int64_t width, int64_t n, int32_t *out);

/* What is wrong with the footer of a file whose columns end before byte `end`: 0 nothing; 1 it makes no sense or ends too early;
 * 2 its schema is no tree of columns; 3 a row group has other columns than the schema; 4 a column has other rows than its group;
 * 5 a column lies outside the file; 6 the groups have other rows than the file. `counts` are the groups and the columns of each;
 * `columns`, where there is room, is for each column of each group: type, codec, values, first byte, bytes, bytes unpacked, rows. */
enum { EPI_COLUMN_NUMBERS = 7 };
int epi_parquet_footer_fault(const uint8_t *footer, int64_t n, int64_t end, int64_t *columns, int64_t n_columns, int64_t *counts,
                             int64_t n_counts);

/* The longest of the texts of a dictionary; -1 when they go on beyond the data. */
int64_t epi_parquet_longest_entry(const uint8_t *data, int64_t n, int64_t entries);
