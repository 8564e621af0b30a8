/* One-pass statistics of arrays by pointer: no Python, no framework. */
#ifndef SABUESO_STATISTICS_H
#define SABUESO_STATISTICS_H
#include <stdint.h>

enum { FLOAT32 = 0, FLOAT64 = 1, FLOAT16 = 2, BFLOAT16 = 3, KINDS = 4 };
enum { SUM, NORM, LOW, HIGH, ZEROS, BAD, COLUMNS };

extern const int item_size[KINDS];

/* out: COLUMNS doubles: sum and l2 norm of the finite elements, their smallest and largest (NaN when there is none), zeros, non-finite count. */
void statistics_of(int kind, const void *data, int64_t count, double *out);

/* The l2 norm of the finite elements, and how many are not finite. */
void sentinel_of(int kind, const void *data, int64_t count, double *norm, int64_t *bad);

/* The l2 norm of a - b over the elements where both are finite. */
double distance_of(int kind, const void *a, const void *b, int64_t count);

/* sqrt(a*a + b*b) without overflow. */
double joined(double a, double b);
#endif
