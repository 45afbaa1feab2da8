/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of a JSON array, found by their brackets and quotes alone: RFC 8259 has no others. */
#include "elements.h"
#include <string.h>

static int is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static int64_t past_spaces(const uint8_t *text, int64_t size, int64_t at) {
    while (at < size && is_space(text[at])) at++;
    return at;
}

/* The byte after the string that begins at `at`; -1 where the text ends in it. */
static int64_t past_string(const uint8_t *text, int64_t size, int64_t at) {
    at++;
    for (;;) {
        const uint8_t *quote = memchr(text + at, '"', (size_t)(size - at));
        if (!quote) return -1;
        int64_t end = quote - text, slashes = 0;
        while (end - 1 - slashes >= at && text[end - 1 - slashes] == '\\') slashes++;
        at = end + 1;
        if (slashes % 2 == 0) return at;
    }
}

int64_t epi_json_past(const uint8_t *text, int64_t size, int64_t at) {
    int64_t depth = 0;
    while (at < size) {
        uint8_t c = text[at];
        if (c == '"') {
            at = past_string(text, size, at);
            if (at < 0) return -1;
            if (depth == 0) return at;
            continue;
        }
        if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (depth == 0) return at; /* the end of a number, and of the array around it */
            if (--depth == 0) return at + 1;
        } else if (depth == 0 && (c == ',' || is_space(c))) {
            return at;
        }
        at++;
    }
    return -1;
}

int64_t epi_json_elements(const uint8_t *text, int64_t size, int64_t *borders, int64_t most, int64_t *place, int64_t *state) {
    int64_t count = 0, at = 0;
    *state = 0;
    *place = 0;
    while (count < most) {
        int64_t start = past_spaces(text, size, at);
        if (start >= size) break;
        if (text[start] == ']') {
            *place = start + 1;
            *state = 1;
            break;
        }
        int64_t end = epi_json_past(text, size, start);
        if (end < 0) break;
        int64_t after = past_spaces(text, size, end);
        if (after >= size) break; /* what parts it from the next has not come yet */
        if (end == start || (text[after] != ',' && text[after] != ']')) {
            *place = start;
            *state = 2;
            break;
        }
        borders[2 * count] = start;
        borders[2 * count + 1] = end;
        count++;
        at = after + (text[after] == ',');
        *place = at;
    }
    return count;
}
