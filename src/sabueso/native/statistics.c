/* One-pass statistics of arrays by pointer.
 *
 * Sums run in float over blocks of 2,048 elements, which the compiler vectorises, and in double over blocks. A block whose sums leave the range in
 * which float squares are exact enough is done again in double. Finiteness and zeros are told by bits, so that the optimiser may assume finite
 * numbers (setup.py says so to it); this also makes -0.0 a zero and a subnormal none, whatever the processor's flush mode is.
 */
#include "statistics.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define BLOCK 2048
#define TOO_LARGE 1e36f  /* a sum of squares above may have overflowed in a lane, */
#define TOO_SMALL 1e-24f /* one below may have lost squares to underflow (1e-45 is the smallest float) */

/* The compiler makes a version for wide vectors beside the plain one and the loader picks: no -march, safe on every machine of the kind. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && defined(__GLIBC__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#define restrict
#endif

const int item_size[KINDS] = {4, 8, 2, 2};

typedef struct {
    double sum, squares, low, high;
    int64_t zeros, bad;
} Sums;

/* By bits, since the optimiser may assume that no number is infinite. `some` says that there is an element other than zero. */
INLINE int unsafe(float q, int some) {
    uint32_t u, large, small;
    const float most = TOO_LARGE, least = TOO_SMALL;
    memcpy(&u, &q, 4);
    memcpy(&large, &most, 4);
    memcpy(&small, &least, 4);
    return u >= large || (some && u < small);
}

/* Each decoder gives the value (0 where it is not finite), whether it is not finite, and whether it is zero. */
INLINE float decode32(uint32_t u, uint32_t *bad, uint32_t *zero) {
    float value;
    *bad = (u & 0x7f800000u) == 0x7f800000u;
    *zero = (u << 1) == 0;
    u &= *bad - 1u;
    memcpy(&value, &u, 4);
    return value;
}

INLINE float decodeb16(uint16_t h, uint32_t *bad, uint32_t *zero) { return decode32((uint32_t)h << 16, bad, zero); }

INLINE float decode16(uint16_t h, uint32_t *bad, uint32_t *zero) {
    uint32_t u = h, magnitude, sign;
    float value;
    *bad = (u & 0x7c00u) == 0x7c00u;
    *zero = (u & 0x7fffu) == 0;
    u &= *bad - 1u;
    magnitude = (u & 0x7fffu) << 13; /* exponent and mantissa in float's places; the bias differs by 112 */
    memcpy(&value, &magnitude, 4);
    value *= 0x1p112f;
    memcpy(&magnitude, &value, 4);
    sign = (u & 0x8000u) << 16;
    magnitude |= sign;
    memcpy(&value, &magnitude, 4);
    return value;
}

/* A block again in double: exact where float would overflow or underflow. */
#define SLOW(NAME, TYPE, DECODE)                                                                       \
    static void NAME(const TYPE *x, int m, double *sum, double *squares) {                             \
        double s = 0, q = 0;                                                                           \
        uint32_t bad, zero;                                                                            \
        for (int j = 0; j < m; j++) {                                                                  \
            double v = (double)DECODE(x[j], &bad, &zero);                                              \
            s += v;                                                                                    \
            q += v * v;                                                                                \
        }                                                                                              \
        *sum = s;                                                                                      \
        *squares = q;                                                                                  \
    }

#define FULL(NAME, SLOWER, TYPE, DECODE)                                                               \
    WIDE void NAME(const TYPE *restrict p, int64_t n, Sums *restrict o) {                              \
        double S = 0, Q = 0;                                                                           \
        float low = FLT_MAX, high = -FLT_MAX;                                                          \
        int64_t Z = 0, B = 0;                                                                          \
        for (int64_t i = 0; i < n; i += BLOCK) {                                                       \
            int m = (int)(n - i < BLOCK ? n - i : BLOCK);                                              \
            const TYPE *x = p + i;                                                                     \
            float s = 0, q = 0, lo = FLT_MAX, hi = -FLT_MAX;                                           \
            uint32_t z = 0, b = 0;                                                                     \
            for (int j = 0; j < m; j++) {                                                              \
                uint32_t bad, zero;                                                                    \
                float v = DECODE(x[j], &bad, &zero);                                                   \
                float l = bad ? FLT_MAX : v, h = bad ? -FLT_MAX : v;                                   \
                s += v;                                                                                \
                q += v * v;                                                                            \
                lo = l < lo ? l : lo;                                                                  \
                hi = h > hi ? h : hi;                                                                  \
                z += zero;                                                                             \
                b += bad;                                                                              \
            }                                                                                          \
            double sum = s, squares = q;                                                               \
            if (unsafe(q, z + b < (uint32_t)m)) SLOWER(x, m, &sum, &squares);                          \
            S += sum, Q += squares, Z += z, B += b;                                                    \
            low = lo < low ? lo : low;                                                                 \
            high = hi > high ? hi : high;                                                              \
        }                                                                                              \
        o->sum = S, o->squares = Q, o->low = low, o->high = high, o->zeros = Z, o->bad = B;            \
    }

#define WATCH(NAME, SLOWER, TYPE, DECODE)                                                              \
    WIDE void NAME(const TYPE *restrict p, int64_t n, Sums *restrict o) {                              \
        double Q = 0;                                                                                  \
        int64_t B = 0;                                                                                 \
        for (int64_t i = 0; i < n; i += BLOCK) {                                                       \
            int m = (int)(n - i < BLOCK ? n - i : BLOCK);                                              \
            const TYPE *x = p + i;                                                                     \
            float q = 0;                                                                               \
            uint32_t z = 0, b = 0;                                                                     \
            for (int j = 0; j < m; j++) {                                                              \
                uint32_t bad, zero;                                                                    \
                float v = DECODE(x[j], &bad, &zero);                                                   \
                q += v * v;                                                                            \
                z += zero;                                                                             \
                b += bad;                                                                              \
            }                                                                                          \
            double squares = q, sum;                                                                   \
            if (unsafe(q, z + b < (uint32_t)m)) SLOWER(x, m, &sum, &squares);                                            \
            Q += squares, B += b;                                                                      \
        }                                                                                              \
        o->squares = Q, o->bad = B;                                                                    \
    }

#define APART(NAME, TYPE, DECODE)                                                                      \
    WIDE double NAME(const TYPE *restrict a, const TYPE *restrict b, int64_t n) {                      \
        double Q = 0;                                                                                  \
        for (int64_t i = 0; i < n; i += BLOCK) {                                                       \
            int m = (int)(n - i < BLOCK ? n - i : BLOCK);                                              \
            const TYPE *x = a + i, *y = b + i;                                                         \
            float q = 0;                                                                               \
            uint32_t some = 0;                                                                         \
            for (int j = 0; j < m; j++) {                                                              \
                uint32_t first, second, zero;                                                          \
                float v = DECODE(x[j], &first, &zero), w = DECODE(y[j], &second, &zero);               \
                float d = (first | second) ? 0.0f : v - w;                                             \
                some |= d != 0.0f;                                                                     \
                q += d * d;                                                                            \
            }                                                                                          \
            double squares = q;                                                                        \
            if (unsafe(q, some)) {                                                                     \
                squares = 0;                                                                           \
                for (int j = 0; j < m; j++) {                                                          \
                    uint32_t first, second, zero;                                                      \
                    double v = DECODE(x[j], &first, &zero), w = DECODE(y[j], &second, &zero);          \
                    double d = (first | second) ? 0.0 : v - w;                                         \
                    squares += d * d;                                                                  \
                }                                                                                      \
            }                                                                                          \
            Q += squares;                                                                              \
        }                                                                                              \
        return sqrt(Q);                                                                                \
    }

INLINE float bits32(float x, uint32_t *bad, uint32_t *zero) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return decode32(u, bad, zero);
}

#define ALL(SUFFIX, TYPE, DECODE)                                                                      \
    SLOW(slow_##SUFFIX, TYPE, DECODE)                                                                  \
    FULL(sabueso_full_##SUFFIX, slow_##SUFFIX, TYPE, DECODE)                                           \
    WATCH(sabueso_watch_##SUFFIX, slow_##SUFFIX, TYPE, DECODE)                                         \
    APART(sabueso_apart_##SUFFIX, TYPE, DECODE)

ALL(f32, float, bits32)
ALL(f16, uint16_t, decode16)
ALL(b16, uint16_t, decodeb16)

/* float64: the sums need no wider type, only scaling at the ends of the range. */
INLINE double decode64(double x, uint64_t *bad) {
    uint64_t u;
    double value;
    memcpy(&u, &x, 8);
    *bad = (u & 0x7ff0000000000000u) == 0x7ff0000000000000u;
    u &= *bad - 1u;
    memcpy(&value, &u, 8);
    return value;
}

WIDE void sabueso_full_f64(const double *restrict x, int64_t n, Sums *restrict o) {
    double s = 0, q = 0, lo = DBL_MAX, hi = -DBL_MAX;
    int64_t z = 0, b = 0;
    for (int64_t j = 0; j < n; j++) {
        uint64_t bad, u;
        double v = decode64(x[j], &bad);
        double l = bad ? DBL_MAX : v, h = bad ? -DBL_MAX : v;
        memcpy(&u, x + j, 8);
        s += v;
        q += v * v;
        lo = l < lo ? l : lo;
        hi = h > hi ? h : hi;
        z += (u << 1) == 0;
        b += (int64_t)bad;
    }
    o->sum = s, o->squares = q, o->low = lo, o->high = hi, o->zeros = z, o->bad = b;
}

WIDE double sabueso_apart_f64(const double *restrict a, const double *restrict b, int64_t n) {
    double q = 0;
    for (int64_t j = 0; j < n; j++) {
        uint64_t first, second;
        double v = decode64(a[j], &first), w = decode64(b[j], &second);
        double d = (first | second) ? 0 : v - w;
        q += d * d;
    }
    return q;
}

/* The norm of a, or of a - b: scaled by the largest element, so that no square leaves the range. */
static double norm64(const double *a, const double *b, int64_t n) {
    double most = 0, q = 0;
    uint64_t first, second = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t j = 0; j < n; j++) {
            double v = decode64(a[j], &first), w = b ? decode64(b[j], &second) : 0;
            double d = (first | second) ? 0 : v / 2 - w / 2; /* halved, so that the difference of two huge numbers is finite */
            if (pass == 0) {
                most = fabs(d) > most ? fabs(d) : most;
            } else {
                q += (d / most) * (d / most);
            }
        }
        if (most == 0) return 0;
    }
    return 2 * most * sqrt(q);
}

static double root64(double q, const double *a, const double *b, int64_t n) {
    uint64_t u;
    memcpy(&u, &q, 8);
    if ((u & 0x7ff0000000000000u) == 0x7ff0000000000000u || q > 1e300 || q < 1e-280) return norm64(a, b, n);
    return sqrt(q);
}

void statistics_of(int kind, const void *data, int64_t count, double *out) {
    Sums o = {0, 0, 0, 0, 0, 0};
    double norm;
    switch (kind) {
        case FLOAT64: sabueso_full_f64(data, count, &o); break;
        case FLOAT16: sabueso_full_f16(data, count, &o); break;
        case BFLOAT16: sabueso_full_b16(data, count, &o); break;
        default: sabueso_full_f32(data, count, &o);
    }
    norm = kind == FLOAT64 ? root64(o.squares, data, NULL, count) : sqrt(o.squares);
    if (o.bad == count) o.low = o.high = (double)NAN;
    out[SUM] = o.sum, out[NORM] = norm, out[LOW] = o.low, out[HIGH] = o.high, out[ZEROS] = (double)o.zeros, out[BAD] = (double)o.bad;
}

void sentinel_of(int kind, const void *data, int64_t count, double *norm, int64_t *bad) {
    Sums o = {0, 0, 0, 0, 0, 0};
    switch (kind) {
        case FLOAT64: sabueso_full_f64(data, count, &o); break;
        case FLOAT16: sabueso_watch_f16(data, count, &o); break;
        case BFLOAT16: sabueso_watch_b16(data, count, &o); break;
        default: sabueso_watch_f32(data, count, &o);
    }
    *norm = kind == FLOAT64 ? root64(o.squares, data, NULL, count) : sqrt(o.squares);
    *bad = o.bad;
}

double distance_of(int kind, const void *a, const void *b, int64_t count) {
    switch (kind) {
        case FLOAT64: return root64(sabueso_apart_f64(a, b, count), a, b, count);
        case FLOAT16: return sabueso_apart_f16(a, b, count);
        case BFLOAT16: return sabueso_apart_b16(a, b, count);
        default: return sabueso_apart_f32(a, b, count);
    }
}

double joined(double a, double b) {
    if (a < 1e150 && b < 1e150 && (a > 1e-140 || b > 1e-140)) return sqrt(a * a + b * b);
    return hypot(a, b);
}
