/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over rows, one tile after another, so that every loop finds the rows in the cache.
 *
 * A tile holds its rows as doubles whose sign is the outcome: one array to read. Tiles are filled up with rows of p = 0 and y = 0 to whole
 * vectors; what those add is known and taken off, so that no loop has a slow end.
 */
#include "lanes.h"
#include "levels.h"
#include "logs.h"
#include "rows.h"
#include <math.h>

#define TILE 8192
#define VECTOR 8
#define WHOLE(n) (((n) + VECTOR - 1) / VECTOR * VECTOR)
#define JOINT 256 /* groups that one byte can tell apart */
#define SIGN (UINT64_C(1) << 63)
#define ONE_BITS UINT64_C(0x3ff0000000000000)
#define NEAR_NOTHING 0x1p-50 /* how near to 0, to a half and to an end a confidence must be to add a tiny number */
#define NEAR_HALF 0x1p-28
#define NEAR_END 0x1p-29

typedef struct tile {
    int64_t n;      /* rows */
    int64_t filled; /* rows with the filling */
    double low, high;
    double nearest; /* to 0, but not 0 */
    double beside;  /* distance from a half, but not 0 */
    double *row;    /* confidences, negative where the outcome is 1 */
} tile;

typedef struct scratch {
    double row[TILE + VECTOR];
    double grouped[TILE + JOINT * VECTOR];
    uint8_t key[TILE + VECTOR];
    uint64_t sums[JOINT][16];
    double least[JOINT];
    int64_t count[JOINT], place[JOINT];
} scratch;

static _Thread_local scratch own;

static inline double confidence(double row) { return double_of(bits_of(row) & ~SIGN); }
static inline uint64_t outcome(double row) { return bits_of(row) >> 63; }

/* Fill a tile with rows from `first` on; 0 when one of them is not sound. */
#define FILL(NAME, REAL)                                                                                       \
    static int NAME(tile *t, const uint8_t *came, const REAL *said, int64_t n) {                               \
        uint64_t *row = (uint64_t *)(void *)t->row;                                                            \
        int64_t low = INT64_MAX, high = INT64_MIN, nearest = ONE_BITS, beside = ONE_BITS;                      \
        uint8_t top = 0;                                                                                       \
        for (int64_t i = 0; i < n; i++) top |= came[i];                                                        \
        if (top > 1) return 0;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                      \
            const double p = (double)said[i] + 0.0; /* -0.0 becomes 0.0 */                                     \
            const int64_t bits = (int64_t)bits_of(p);                                                          \
            const int64_t away = (int64_t)(bits_of(p - 0.5) & ~SIGN);                                          \
            low = bits < low ? bits : low;                                                                     \
            high = bits > high ? bits : high;                                                                  \
            const int64_t above = bits > 0 ? bits : (int64_t)ONE_BITS;                                         \
            const int64_t apart = away > 0 ? away : (int64_t)ONE_BITS;                                         \
            nearest = above < nearest ? above : nearest;                                                       \
            beside = apart < beside ? apart : beside;                                                          \
            row[i] = (uint64_t)bits | (uint64_t)came[i] << 63;                                                 \
        }                                                                                                      \
        if (low < 0 || high > (int64_t)ONE_BITS) return 0;                                                     \
        t->n = n;                                                                                              \
        t->filled = WHOLE(n);                                                                                  \
        for (int64_t i = n; i < t->filled; i++) row[i] = 0;                                                    \
        t->low = double_of((uint64_t)low);                                                                     \
        t->high = double_of((uint64_t)high);                                                                   \
        t->nearest = double_of((uint64_t)nearest);                                                             \
        t->beside = double_of((uint64_t)beside);                                                               \
        return 1;                                                                                              \
    }
FILL(fill_doubles, double)
FILL(fill_singles, float)

static int fill(tile *t, const epi_rows *rows, int64_t first, int64_t n) {
    t->row = own.row;
    return rows->prob ? fill_doubles(t, rows->outcome + first, rows->prob + first, n)
                      : fill_singles(t, rows->outcome + first, rows->single + first, n);
}

#define SOUND(NAME, REAL)                                                                   \
    static int NAME(const uint8_t *came, const REAL *said, int64_t n) {                     \
        int64_t bad = 0;                                                                    \
        uint8_t top = 0;                                                                    \
        for (int64_t i = 0; i < n; i++) top |= came[i];                                     \
        for (int64_t i = 0; i < n; i++) bad += !((said[i] >= 0) & (said[i] <= 1));          \
        return top <= 1 && bad == 0;                                                        \
    }
SOUND(sound_doubles, double)
SOUND(sound_singles, float)

int AT_LEVEL(epi_sound)(const epi_rows *rows) {
    for (int64_t first = 0; first < rows->n; first += TILE) {
        const int64_t n = smaller(TILE, rows->n - first);
        if (!(rows->prob ? sound_doubles(rows->outcome + first, rows->prob + first, n)
                         : sound_singles(rows->outcome + first, rows->single + first, n)))
            return 0;
    }
    return 1;
}

/* ---- bins ---------------------------------------------------------------------------------------------------------------- */

typedef uint64_t pair __attribute__((vector_size(16)));

#define PART 512
#define SPREAD 4 /* neighbouring rows go to different tables, so that one addition need not wait for the last */
#define MOST_SPREAD 256

/* Rows + outcomes * 2^32, and the confidence in steps with the bits of 384, by bin; `tables` of them beside each other. */
static void add_width(const double *row, int64_t n, int64_t bins, pair *table, int64_t tables) {
    int32_t home[PART];
    uint64_t said[PART], came[PART];
    const double width = (double)bins;
    const int32_t last = (int32_t)(bins - 1);
    for (int64_t first = 0; first < n; first += PART) {
        const int64_t some = smaller(PART, n - first);
        const double *r = row + first;
        for (int64_t i = 0; i < some; i++) {
            const int32_t bin = (int32_t)(confidence(r[i]) * width);
            home[i] = bin < last ? bin : last;
        }
        for (int64_t i = 0; i < some; i++) {
            said[i] = steps_of(confidence(r[i]));
            came[i] = 1 + (outcome(r[i]) << 32);
        }
        if (tables == SPREAD) {
            int64_t i = 0;
            for (; i + 4 <= some; i += 4) {
                table[home[i]] += (pair){came[i], said[i]};
                (table + bins)[home[i + 1]] += (pair){came[i + 1], said[i + 1]};
                (table + 2 * bins)[home[i + 2]] += (pair){came[i + 2], said[i + 2]};
                (table + 3 * bins)[home[i + 3]] += (pair){came[i + 3], said[i + 3]};
            }
            for (; i < some; i++) table[home[i]] += (pair){came[i], said[i]};
        } else {
            for (int64_t i = 0; i < some; i++) table[home[i]] += (pair){came[i], said[i]};
        }
    }
}

static void settle_width(const pair *table, int64_t tables, int64_t bins, int64_t *totals) {
    for (int64_t k = 0; k < bins; k++) {
        pair sum = table[k];
        for (int64_t j = 1; j < tables; j++) sum += table[j * bins + k];
        const uint64_t n = sum[0] & 0xffffffff;
        if (!n) continue;
        totals[4 * k] += (int64_t)n;
        totals[4 * k + 1] += (int64_t)(sum[0] >> 32);
        carry((int64_t)(sum[1] - n * EPI_STEP_BITS), totals + 4 * k + 2);
    }
}

/* Many bins: each row straight into its totals. */
static void add_many_bins(const double *row, int64_t n, int64_t bins, int64_t *totals) {
    const double width = (double)bins;
    for (int64_t i = 0; i < n; i++) {
        const double p = confidence(row[i]);
        int64_t *total = totals + 4 * smaller((int64_t)(p * width), bins - 1);
        total[0] += 1;
        total[1] += (int64_t)outcome(row[i]);
        carry((int64_t)(steps_of(p) - EPI_STEP_BITS), total + 2);
    }
}

/* ---- moments ------------------------------------------------------------------------------------------------------------- */

/* Sums of the rows of one group, whole vectors of them: outcomes, then steps and rest of c, u^2, v, v^2, v^3, t, t^2 (MomentTotals). */
static void moment_sums(const double *row, int64_t n, uint64_t *sums) {
    word y1 = {0}, p1 = {0}, p2 = {0}, u1 = {0}, u2 = {0}, a1 = {0}, a2 = {0}, b1 = {0}, b2 = {0};
    word c1 = {0}, c2 = {0}, d1 = {0}, d2 = {0}, e1 = {0}, e2 = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        const vec r = load(row + i);
        const word came = (word)r >> 63;
        const vec p = (vec)((word)r & ~SIGN), y = (vec)(ONE_BITS & (0 - came));
        y1 += came;
        p1 += steps_in(p);
        p2 += rest_in(p);
        const vec u = y - p;
        const vec lost = (y - u) - p; /* what u was rounded by */
        const vec square = u * u;
        const vec whole = square + EPI_STEP;
        const vec part = (square - (whole - EPI_STEP)) * EPI_ONE + (square_errors(u, square) + 2.0 * u * lost) * EPI_ONE;
        u1 += (word)whole;
        u2 += (word)(part + EPI_STEP);
        const vec v = p * (1.0 - p), v2 = v * v, v3 = v * v2;
        a1 += steps_in(v);
        a2 += rest_in(v);
        b1 += steps_in(v2);
        b2 += rest_in(v2);
        c1 += steps_in(v3);
        c2 += rest_in(v3);
        const vec t = v * (1.0 - 2.0 * p), t2 = t * t;
        d1 += steps_in(t);
        d2 += rest_in(t);
        e1 += steps_in(t2);
        e2 += rest_in(t2);
    }
    const uint64_t less = (uint64_t)n * EPI_STEP_BITS;
    sums[1] += total_of(y1);
    const word all[14] = {p1, p2, u1, u2, a1, a2, b1, b2, c1, c2, d1, d2, e1, e2};
    for (int k = 0; k < 14; k++) sums[2 + k] += total_of(all[k]) - less;
}

static void settle_moments(const uint64_t *sums, int64_t *total) {
    total[0] += (int64_t)sums[0];
    total[1] += (int64_t)sums[1];
    for (int k = 2; k < 16; k++) carry((int64_t)sums[k], total + 2 * k - 2);
}

/* Bins and moments that together are at most JOINT: rows go into groups that lie in one bin of every kind, then every group is added up in
 * registers. As p grows so do the numbers of its bins, so their sum tells the groups apart. */
typedef struct joint {
    int n;
    int64_t groups;
    int64_t bins[8];
    int64_t *totals[8]; /* of slot 0 */
    int moments[8];
} joint;

static void start_groups(const joint *j, scratch *my) {
    memset(my->sums, 0, (size_t)j->groups * sizeof my->sums[0]);
}

static void group(const tile *t, const joint *j, scratch *my) {
    uint8_t *key = my->key;
    const double *row = t->row;
    memset(key, 0, (size_t)t->filled);
    for (int m = 0; m < j->n; m++) {
        const double width = (double)j->bins[m];
        const int32_t last = (int32_t)(j->bins[m] - 1);
        for (int64_t i = 0; i < t->filled; i++) {
            const int32_t bin = (int32_t)(confidence(row[i]) * width);
            key[i] = (uint8_t)(key[i] + (bin < last ? bin : last));
        }
    }
    uint32_t count[4][JOINT];
    for (int k = 0; k < 4; k++) memset(count[k], 0, (size_t)j->groups * sizeof count[k][0]);
    int64_t i = 0;
    for (; i + 4 <= t->n; i += 4) {
        count[0][key[i]]++;
        count[1][key[i + 1]]++;
        count[2][key[i + 2]]++;
        count[3][key[i + 3]]++;
    }
    for (; i < t->n; i++) count[0][key[i]]++;
    int64_t at = 0;
    for (int64_t k = 0; k < j->groups; k++) {
        const int64_t here = (int64_t)count[0][k] + count[1][k] + count[2][k] + count[3][k];
        my->count[k] = here;
        my->place[k] = at;
        for (int64_t f = here; f < WHOLE(here); f++) my->grouped[at + f] = 0.0;
        at += WHOLE(here);
    }
    for (i = 0; i < t->n; i++) my->grouped[my->place[key[i]]++] = row[i];
    at = 0;
    for (int64_t k = 0; k < j->groups; k++) {
        if (!my->count[k]) continue;
        my->least[k] = confidence(my->grouped[at]);
        moment_sums(my->grouped + at, WHOLE(my->count[k]), my->sums[k]);
        my->sums[k][0] += (uint64_t)my->count[k];
        at += WHOLE(my->count[k]);
    }
}

static void settle_groups(const joint *j, const scratch *my, int64_t slot) {
    for (int64_t k = 0; k < j->groups; k++) {
        const uint64_t *sums = my->sums[k];
        if (!sums[0]) continue;
        for (int m = 0; m < j->n; m++) {
            const int64_t bins = j->bins[m];
            const int64_t bin = smaller((int64_t)(my->least[k] * (double)bins), bins - 1);
            if (j->moments[m]) {
                settle_moments(sums, j->totals[m] + (slot * bins + bin) * 30);
            } else {
                int64_t *total = j->totals[m] + (slot * bins + bin) * 4;
                total[0] += (int64_t)sums[0];
                total[1] += (int64_t)sums[1];
                carry((int64_t)sums[2], total + 2);
            }
        }
    }
}

/* Many bins with moments: row by row. */
static void add_many_moments(const double *row, int64_t n, int64_t bins, int64_t *totals) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t sums[16] = {1};
        const double filled[VECTOR] = {row[i]};
        moment_sums(filled, VECTOR, sums);
        settle_moments(sums, totals + 30 * smaller((int64_t)(confidence(row[i]) * (double)bins), bins - 1));
    }
}

/* ---- scores -------------------------------------------------------------------------------------------------------------- */

static void settle_scores(const uint64_t (*sums)[2], int columns, int64_t *total) {
    for (int k = 0; k < columns; k++) {
        carry((int64_t)sums[k][0], total + 4 * k);
        carry((int64_t)sums[k][1], total + 4 * k + 2);
    }
}

/* Add up the lanes and take off the bits of 384. */
static void take(const word (*all)[2], int columns, int64_t n, uint64_t (*sums)[2]) {
    for (int k = 0; k < columns; k++)
        for (int part = 0; part < 2; part++) sums[k][part] += total_of(all[k][part]) - (uint64_t)n * EPI_STEP_BITS;
}

#define POWERS 15
#define SOME 1024 /* rows whose scores are kept while their products are added up */
typedef struct scores {
    double loss[SOME], entropic[SOME], variance[SOME], spherical[SOME], square[SOME];
} scores;

static inline void store(double *to, vec x) { memcpy(to, &x, sizeof x); }

static void plain_sums(const double *row, int64_t n, uint64_t (*sums)[2], double *kept) {
    word a1 = {0}, a2 = {0}, b1 = {0}, b2 = {0}, c1 = {0}, c2 = {0}, d1 = {0}, d2 = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        const vec r = load(row + i);
        const vec p = (vec)((word)r & ~SIGN), y = (vec)(ONE_BITS & (0 - ((word)r >> 63)));
        const vec x = p - y, square = 2.0 * (x * x);
        if (kept) store(kept + i, square);
        a1 += steps_in(square);
        a2 += rest_in(square);
        b1 += steps_in(p);
        b2 += rest_in(p);
        const vec slope = 1.0 - 2.0 * p, excess = (y - p) * slope, variance = slope * slope * p * (1.0 - p);
        c1 += steps_in(excess);
        c2 += rest_in(excess);
        d1 += steps_in(variance);
        d2 += rest_in(variance);
    }
    const word all[4][2] = {{a1, a2}, {b1, b2}, {c1, c2}, {d1, d2}};
    take(all, 4, n, sums);
}

/* Rows at 0 and at 1 count as rows of p = 1/2 and y = 0: the caller takes off what those add. */
static void log_sums(const double *row, int64_t n, uint64_t (*sums)[2], scores *kept) {
    word a1 = {0}, a2 = {0}, b1 = {0}, b2 = {0}, c1 = {0}, c2 = {0}, d1 = {0}, d2 = {0};
    const vec half = (vec){0} + 0.5;
    for (int64_t i = 0; i < n; i += LANES) {
        const vec r = load(row + i);
        const vec said = (vec)((word)r & ~SIGN);
        const word certain = (word)(said == 0.0) | (word)(said == 1.0);
        const vec p = choose(certain, half, said), q = 1.0 - p;
        const word came = (0 - ((word)r >> 63)) & ~certain;
        const vec lp = log_of(p), lq = log_of(q);
        const vec loss = -choose(came, lp, lq);
        a1 += steps_in(loss);
        a2 += rest_in(loss);
        const vec mean = q * lq + p * lp;
        const vec entropic = mean + loss;
        b1 += steps_in(entropic);
        b2 += rest_in(entropic);
        const vec left = mean - lq, right = mean - lp; /* q + p is 1 in floating point for every p in [0, 1] */
        const vec variance = q * (left * left) + p * (right * right);
        c1 += steps_in(variance);
        c2 += rest_in(variance);
        const vec spherical = choose(came, p, q) / root(q * q + p * p);
        d1 += steps_in(spherical);
        d2 += rest_in(spherical);
        if (kept) {
            store(kept->loss + i, loss);
            store(kept->entropic + i, entropic);
            store(kept->variance + i, variance);
            store(kept->spherical + i, spherical);
        }
    }
    const word all[4][2] = {{a1, a2}, {b1, b2}, {c1, c2}, {d1, d2}};
    take(all, 4, n, sums);
}

/* Square and cube of a score x, as x^2 / two and x^3 / three: powers of two that keep the products below 64. */
static void power_sums(const double *x, int64_t n, double two, double three, uint64_t (*sums)[2]) {
    word a1 = {0}, a2 = {0}, b1 = {0}, b2 = {0};
    const double half = 1.0 / two, third = 1.0 / three;
    for (int64_t i = 0; i < n; i += LANES) {
        const vec s = load(x + i), square = s * s, scaled = square * half, cube = square * s * third;
        a1 += steps_in(scaled);
        a2 += rest_in(scaled);
        b1 += steps_in(cube);
        b2 += rest_in(cube);
    }
    const word all[2][2] = {{a1, a2}, {b1, b2}};
    take(all, 2, n, sums);
}

static void outcome_powers(const double *row, int64_t n, uint64_t (*sums)[2]) {
    word a1 = {0}, a2 = {0}, b1 = {0}, b2 = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        const vec r = load(row + i), p = (vec)((word)r & ~SIGN), square = p * p;
        const vec came = (vec)((word)p & (0 - ((word)r >> 63)));
        a1 += steps_in(square);
        a2 += rest_in(square);
        b1 += steps_in(came);
        b2 += rest_in(came);
    }
    const word all[2][2] = {{a1, a2}, {b1, b2}};
    take(all, 2, n, sums);
}

static void joint_powers(const double *e, const double *v, int64_t n, uint64_t (*sums)[2]) {
    word a1 = {0}, a2 = {0}, b1 = {0}, b2 = {0}, c1 = {0}, c2 = {0}, d1 = {0}, d2 = {0}, f1 = {0}, f2 = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        const vec x = load(e + i), y = load(v + i), xy = x * y, yy = y * y, xxy = x * xy * 0.0625, xyy = x * yy, yyy = y * yy;
        a1 += steps_in(xy);
        a2 += rest_in(xy);
        b1 += steps_in(yy);
        b2 += rest_in(yy);
        c1 += steps_in(xxy);
        c2 += rest_in(xxy);
        d1 += steps_in(xyy);
        d2 += rest_in(xyy);
        f1 += steps_in(yyy);
        f2 += rest_in(yyy);
    }
    const word all[5][2] = {{a1, a2}, {b1, b2}, {c1, c2}, {d1, d2}, {f1, f2}};
    take(all, 5, n, sums);
}

/* The sums of the logarithmic scores, and where asked for the products of all scores. */
static void score_powers(const double *row, int64_t n, uint64_t (*logs)[2], uint64_t (*powers)[2]) {
    scores kept;
    for (int64_t first = 0; first < n; first += SOME) {
        const int64_t some = smaller(SOME, n - first);
        log_sums(row + first, some, logs, &kept);
        power_sums(kept.loss, some, 32.0, 1024.0, powers + 2);
        power_sums(kept.entropic, some, 32.0, 1024.0, powers + 4);
        power_sums(kept.spherical, some, 1.0, 1.0, powers + 6);
        joint_powers(kept.entropic, kept.variance, some, powers + 8);
    }
}

/* Without a branch, so that several rows are asked at a time. */
static inline int unusual(double p, double near_nothing, double near_one) {
    return ((p > 0.0) & (p < near_nothing)) | ((p != 0.5) & (fabs(p - 0.5) < NEAR_HALF)) | ((p < 1.0) & (1.0 - p < near_one));
}

#define ASKED 64 /* rows that are asked together */

/* Hand unusual rows back and blank them (p = 0, y = 0); how many, or -1 where there is no room. */
static int64_t set_aside(epi_pass *pass, tile *t, int64_t slot) {
    const double near_nothing = pass->near_ends ? NEAR_END : NEAR_NOTHING, near_one = pass->near_ends ? NEAR_END : 0.0;
    if (!(t->nearest < near_nothing || t->beside < NEAR_HALF || 1.0 - t->high < near_one)) return 0;
    int64_t found = 0;
    for (int64_t first = 0; first < t->n; first += ASKED) {
        const int64_t last = smaller(first + ASKED, t->n);
        int some = 0;
        for (int64_t i = first; i < last; i++) some |= unusual(confidence(t->row[i]), near_nothing, near_one);
        for (int64_t i = first; some && i < last; i++) {
            const double p = confidence(t->row[i]);
            if (!unusual(p, near_nothing, near_one)) continue;
            if (pass->unusual >= pass->unusual_room) return -1;
            pass->unusual_outcome[pass->unusual] = (uint8_t)outcome(t->row[i]);
            pass->unusual_prob[pass->unusual] = p;
            pass->unusual_slot[pass->unusual] = slot;
            pass->unusual++;
            t->row[i] = 0.0;
            found++;
        }
    }
    return found;
}

static int add_scores(epi_pass *pass, tile *t, int64_t slot) {
    const int64_t blank = set_aside(pass, t, slot);
    if (blank < 0) return 2;
    const int64_t n = t->n;
    const double *row = t->row;
    int64_t certain[4] = {0, 0, 0, 0};
    if (t->low == 0.0 || t->high == 1.0 || blank) {
        for (int64_t i = 0; i < n; i++) {
            const double p = confidence(row[i]);
            const int64_t y = (int64_t)outcome(row[i]), nothing = p == 0.0, one = p == 1.0;
            certain[0] += nothing & (1 - y);
            certain[1] += nothing & y;
            certain[2] += one & (1 - y);
            certain[3] += one & y;
        }
    }
    certain[0] -= blank;
    for (int k = 0; k < 4; k++) pass->certain[4 * slot + k] += certain[k];
    const int64_t inside = n - blank - certain[0] - certain[1] - certain[2] - certain[3];
    uint64_t powers[POWERS][2] = {{0}};
    if (pass->plain) {
        int64_t outcomes = 0, missed = 0, half = 0, half_true = 0;
        for (int64_t i = 0; i < n; i++) {
            const double p = confidence(row[i]);
            const int64_t y = (int64_t)outcome(row[i]), at_half = p == 0.5;
            outcomes += y;
            missed += (int64_t)(p > 0.5) ^ y;
            half += at_half;
            half_true += at_half & y;
        }
        int64_t *counts = pass->counts + 5 * slot;
        counts[0] += outcomes;
        counts[1] += n - blank - certain[0] - certain[1];
        counts[2] += certain[1] + certain[2];
        counts[3] += 2 * (n - blank - half - (missed - half_true)) + half;
        counts[4] += half;
        uint64_t sums[4][2] = {{0}};
        if (pass->powers) { /* rows of p = 0 and y = 0 add nothing to either */
            double kept[SOME];
            for (int64_t first = 0; first < t->filled; first += SOME) {
                const int64_t some = smaller(SOME, t->filled - first);
                plain_sums(row + first, some, sums, kept);
                power_sums(kept, some, 1.0, 1.0, powers);
                outcome_powers(row + first, some, powers + 13);
            }
        } else {
            plain_sums(row, t->filled, sums, 0);
        }
        settle_scores((const uint64_t (*)[2])sums, 4, pass->plain + 16 * slot);
        pass->rows[3 * slot + 1] += n - blank;
    }
    if (pass->logs) {
        uint64_t sums[4][2] = {{0}}, half_sums[4][2] = {{0}}, half_powers[POWERS][2] = {{0}};
        const double nothing[VECTOR] = {0}; /* rows that count as p = 1/2 */
        const uint64_t outside = (uint64_t)(t->filled - inside);
        if (pass->powers) {
            score_powers(nothing, VECTOR, half_sums, half_powers);
            score_powers(row, t->filled, sums, powers);
        } else {
            log_sums(nothing, VECTOR, half_sums, 0);
            log_sums(row, t->filled, sums, 0);
        }
        for (int part = 0; part < 2; part++) {
            for (int k = 0; k < 4; k++) sums[k][part] -= outside * (uint64_t)((int64_t)half_sums[k][part] / VECTOR);
            for (int k = 2; k < 13; k++) powers[k][part] -= outside * (uint64_t)((int64_t)half_powers[k][part] / VECTOR);
        }
        settle_scores((const uint64_t (*)[2])sums, 4, pass->logs + 16 * slot);
        pass->rows[3 * slot + 2] += inside;
    }
    if (pass->powers) settle_scores((const uint64_t (*)[2])powers, POWERS, pass->powers + 4 * POWERS * slot);
    return 0;
}

/* ---- the pass ------------------------------------------------------------------------------------------------------------ */

static joint joined(const epi_pass *pass, uint8_t *apart_bins, uint8_t *apart_moments) {
    joint j = {0};
    int64_t all = 0;
    for (int64_t m = 0; m < pass->n_moments; m++) {
        apart_moments[m] = j.n == 8 || all + pass->moments[m].bins > JOINT;
        if (apart_moments[m]) continue;
        all += pass->moments[m].bins;
        j.bins[j.n] = pass->moments[m].bins;
        j.totals[j.n] = pass->moments[m].totals;
        j.moments[j.n++] = 1;
    }
    for (int64_t m = 0; m < pass->n_bins; m++) {
        apart_bins[m] = !j.n || j.n == 8 || all + pass->bins[m].bins > JOINT; /* without moments nothing is grouped */
        if (apart_bins[m]) continue;
        all += pass->bins[m].bins;
        j.bins[j.n] = pass->bins[m].bins;
        j.totals[j.n++] = pass->bins[m].totals;
    }
    j.groups = all - (j.n ? j.n - 1 : 0);
    return j;
}

static void add_bins(const tile *t, int64_t bins, int64_t *totals) {
    pair table[SPREAD * MOST_SPREAD];
    if (bins > MOST_SPREAD) {
        add_many_bins(t->row, t->n, bins, totals);
        return;
    }
    const int64_t tables = t->n < 256 ? 1 : SPREAD;
    memset(table, 0, (size_t)(tables * bins) * sizeof table[0]);
    add_width(t->row, t->n, bins, table, tables);
    settle_width(table, tables, bins, totals);
}

#define MOST_SETS 64

int AT_LEVEL(epi_add_rows)(epi_pass *pass, const epi_rows *rows, int64_t runs, const int64_t *start, const int64_t *slot) {
    uint8_t apart_bins[MOST_SETS], apart_moments[MOST_SETS];
    const joint j = joined(pass, apart_bins, apart_moments);
    scratch *const my = &own; /* looked up once: in a shared library every mention of it is a call */
    tile t;
    for (int64_t g = 0; g < runs; g++) {
        const int64_t s = slot[g];
        int64_t open = 0; /* rows in the groups that are not settled */
        if (j.n) start_groups(&j, my);
        for (int64_t first = start[g]; first < start[g + 1]; first += TILE) {
            if (!fill(&t, rows, first, smaller(TILE, start[g + 1] - first))) return 1;
            if (j.n) {
                group(&t, &j, my);
                open += t.n;
                if (open + TILE > EPI_BLOCK) {
                    settle_groups(&j, my, s);
                    start_groups(&j, my);
                    open = 0;
                }
            }
            for (int64_t m = 0; m < pass->n_moments; m++)
                if (apart_moments[m]) add_many_moments(t.row, t.n, pass->moments[m].bins, pass->moments[m].totals + s * pass->moments[m].bins * 30);
            for (int64_t m = 0; m < pass->n_bins; m++)
                if (apart_bins[m]) add_bins(&t, pass->bins[m].bins, pass->bins[m].totals + s * pass->bins[m].bins * 4);
            pass->rows[3 * s] += t.n;
            if (t.low < pass->ends[2 * s]) pass->ends[2 * s] = t.low;
            if (t.high > pass->ends[2 * s + 1]) pass->ends[2 * s + 1] = t.high;
            if (pass->plain || pass->logs) {
                const int fault = add_scores(pass, &t, s);
                if (fault) return fault;
            }
        }
        if (j.n && open) settle_groups(&j, my, s);
    }
    return 0;
}

/* Bins alone need no tile: rows are checked and added where they lie. One word holds a group's rows above its confidence in steps, so
 * that a row is one addition; outcomes have groups of their own. A word holds 1,023 rows, and SPREAD of them share a block. */
#define COUNT_BITS 54
#define COUNT (UINT64_C(1) << COUNT_BITS)
#define ROWS_A_BLOCK (SPREAD * 1020)

/* 0 when a row is not sound. */
#define ADD_ROWS(NAME, REAL)                                                                                                    \
    static int NAME(const uint8_t *came, const REAL *said, int64_t n, int64_t bins, uint64_t *words, int64_t apart) {           \
        int32_t home[PART];                                                                                                     \
        uint64_t cell[PART];                                                                                                    \
        const double width = (double)bins;                                                                                      \
        const int32_t last = (int32_t)(bins - 1);                                                                               \
        for (int64_t first = 0; first < n; first += PART) {                                                                     \
            const int64_t some = smaller(PART, n - first);                                                                      \
            const uint8_t *y = came + first;                                                                                    \
            const REAL *p = said + first;                                                                                       \
            uint8_t top = 0;                                                                                                    \
            uint64_t outside = 0; /* its sign: whether one is negative or above 1; -0.0 becomes 0.0 */                          \
            for (int64_t i = 0; i < some; i++) top |= y[i];                                                                     \
            for (int64_t i = 0; i < some; i++) {                                                                                \
                const uint64_t bits = bits_of((double)p[i] + 0.0);                                                              \
                outside |= bits | (ONE_BITS - bits);                                                                            \
                cell[i] = steps_of((double)p[i]) - (EPI_STEP_BITS - COUNT);                                                     \
            }                                                                                                                   \
            if (top > 1 || outside & SIGN) return 0;                                                                            \
            for (int64_t i = 0; i < some; i++) {                                                                                \
                const int32_t bin = (int32_t)((double)p[i] * width);                                                            \
                home[i] = 2 * (bin < last ? bin : last) + y[i];                                                                 \
            }                                                                                                                   \
            int64_t i = 0;                                                                                                      \
            for (; i + 4 <= some; i += 4) {                                                                                     \
                words[home[i]] += cell[i];                                                                                      \
                (words + apart)[home[i + 1]] += cell[i + 1];                                                                    \
                (words + 2 * apart)[home[i + 2]] += cell[i + 2];                                                                \
                (words + 3 * apart)[home[i + 3]] += cell[i + 3];                                                                \
            }                                                                                                                   \
            for (; i < some; i++) words[home[i]] += cell[i];                                                                    \
        }                                                                                                                       \
        return 1;                                                                                                               \
    }
ADD_ROWS(add_doubles, double)
ADD_ROWS(add_singles, float)

static void settle_words(const uint64_t *words, int64_t tables, int64_t bins, int64_t *totals) {
    for (int64_t k = 0; k < bins; k++) {
        uint64_t missed = 0, came = 0, steps = 0;
        for (const uint64_t *group = words + 2 * k; group < words + 2 * tables * bins; group += 2 * bins) {
            missed += group[0] >> COUNT_BITS;
            came += group[1] >> COUNT_BITS;
            steps += (group[0] & (COUNT - 1)) + (group[1] & (COUNT - 1));
        }
        totals[4 * k] += (int64_t)(missed + came);
        totals[4 * k + 1] += (int64_t)came;
        carry((int64_t)steps, totals + 4 * k + 2);
    }
}

int AT_LEVEL(epi_width_bins)(const epi_rows *rows, int64_t bins, int64_t *totals) {
    if (bins > MOST_SPREAD) {
        tile t;
        for (int64_t first = 0; first < rows->n; first += TILE) {
            if (!fill(&t, rows, first, smaller(TILE, rows->n - first))) return 1;
            add_many_bins(t.row, t.n, bins, totals);
        }
        return 0;
    }
    uint64_t words[2 * SPREAD * MOST_SPREAD];
    const int64_t tables = rows->n < 256 ? 1 : SPREAD; /* few rows: one table is sooner emptied than four */
    for (int64_t first = 0; first < rows->n; first += ROWS_A_BLOCK) {
        const int64_t n = smaller(ROWS_A_BLOCK, rows->n - first), apart = tables == 1 ? 0 : 2 * bins;
        memset(words, 0, (size_t)(2 * tables * bins) * sizeof words[0]);
        if (!(rows->prob ? add_doubles(rows->outcome + first, rows->prob + first, n, bins, words, apart)
                         : add_singles(rows->outcome + first, rows->single + first, n, bins, words, apart)))
            return 1;
        settle_words(words, tables, bins, totals);
    }
    return 0;
}
