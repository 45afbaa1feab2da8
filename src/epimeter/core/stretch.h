/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#define EPI_STRETCH 8192 /* rows whose floating sums belong together, whoever adds them up */
