/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions that are compiled once a level, and the choice among them.
 *
 * A file of levels/ defines   double AT_LEVEL(epi_sum)(const double *x, int64_t n) { ... }
 * and a file of core/         EACH_LEVEL(double, epi_sum, (const double *x, int64_t n))
 *                             double epi_sum(const double *x, int64_t n) { return CHOOSE(epi_sum)(x, n); }
 */
#pragma once
#include "level.h"

#define JOIN_NAMES_(name, level) name##_##level
#define JOIN_NAMES(name, level) JOIN_NAMES_(name, level)
#define AT_LEVEL(name) JOIN_NAMES(name, LEVEL)

#if defined(__x86_64__)
#define EACH_LEVEL(type, name, parameters) type name##_v1 parameters; type name##_v3 parameters; type name##_v4 parameters;
#define CHOOSE(name) (epi_level() >= 4 ? name##_v4 : epi_level() >= 3 ? name##_v3 : name##_v1)
#else
#define EACH_LEVEL(type, name, parameters) type name##_v1 parameters;
#define CHOOSE(name) (name##_v1)
#endif
