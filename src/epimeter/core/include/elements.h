/* SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of a JSON array stand in its text; whether each is JSON is its reader's question. */
#pragma once
#include <stdint.h>

/* The byte after the value that begins at `at`; -1 where the text ends in it, or may. */
int64_t epi_json_past(const uint8_t *text, int64_t size, int64_t at);

/* The elements of an array.
 *
 * `text` begins between two elements, or before the first. Begin and end of each whole element go into `borders`, two numbers an
 * element, at most `most` elements; `*place` becomes the byte after the last of them and its comma. The answer is their number.
 * `*state` becomes 0 where text ended within or before an element, 1 where the array ended at `*place`, 2 where neither an
 * element nor an end stands at `*place`.
 */
int64_t epi_json_elements(const uint8_t *text, int64_t size, int64_t *borders, int64_t most, int64_t *place, int64_t *state);
