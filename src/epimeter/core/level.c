/* SPDX-License-Identifier: Apache-2.0 */
/* What the processor can do. Asked of the processor itself: the compilers' own question does not link under zig. */
#include "level.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdint.h>

static uint64_t saved_by_the_system(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static int able(void) {
    unsigned a, b, c, d, b7, e;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
    const unsigned needed = 1u << 12 | 1u << 22 | 1u << 23 | 1u << 27 | 1u << 28 | 1u << 29; /* fma movbe popcnt osxsave avx f16c */
    if ((c & needed) != needed) return 1;
    const uint64_t saved = saved_by_the_system();
    if ((saved & 0x06) != 0x06) return 1;
    if (!__get_cpuid_count(7, 0, &a, &b7, &e, &d)) return 1;
    const unsigned second = 1u << 3 | 1u << 5 | 1u << 8; /* bmi avx2 bmi2 */
    if ((b7 & second) != second) return 1;
    if (!__get_cpuid(0x80000001u, &a, &b, &c, &d) || !(c & 1u << 5)) return 1; /* lzcnt */
    const unsigned wide = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; /* avx512 f dq cd bw vl */
    if ((b7 & wide) != wide || (saved & 0xe6) != 0xe6) return 3;
    return b7 & 1u << 21 ? 5 : 4; /* avx512 ifma */
}
#else
static int able(void) { return 1; }
#endif

static int highest_asked = 5;
static int found = 0; /* two threads that ask at once find the same */

int epi_level(void) {
    if (!found) found = able();
    return found < highest_asked ? found : highest_asked;
}

int epi_limit_level(int highest) {
    highest_asked = highest < 3 ? 1 : highest < 5 ? highest : 5;
    return epi_level();
}
