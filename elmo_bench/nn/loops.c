/* Loops that PyTorch has no single operation for. First recurrent layers over packed sequences: one call computes
   all time steps of one direction.

   Sequences are packed as in packing.py: sorted by falling length, one step after another. `sizes` has the rows
   that are still running at each step, so a step's rows are the first ones of the step before. All matrices are
   row-major, with one row per token. A state that goes on to the next step is multiplied by the recurrent weight
   (blocks * hidden, hidden), whose products are added to what the caller has computed from the inputs.

   The equations stand in the Python functions that call these (nn/lstm.py, tasks/squad/gru.py,
   tasks/coref/lstm.py). REAL is float; the tests compile this file with double as well and compare its gradients
   with autograd. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef REAL
#define REAL float
#endif

#define INLINE static inline __attribute__((always_inline))
#define EACH(j, count) _Pragma("GCC ivdep") for (long j = 0; j < (count); j++)

/* ---- Matrix products ----

   The weight is packed once per layer into panels of a few vectors of columns, so that a tile of the result stays
   in registers while the panel is read in order. */

#ifdef __AVX512F__
#define VECTOR_BYTES 64
#define TILE_ROWS 12 /* 24 of 32 registers hold the tile */
#else
#define VECTOR_BYTES 32
#define TILE_ROWS 6 /* 12 of 16 */
#endif
#define LANES ((long)(VECTOR_BYTES / sizeof(REAL)))
#define PANEL (2 * LANES) /* columns */

typedef REAL vector __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL))));

typedef struct {
    long inner, columns;
    REAL *panels;
} packed;

static packed pack(const REAL *weight, long inner, long columns, long inner_stride, long column_stride)
{
    long count = (columns + PANEL - 1) / PANEL;
    packed made = {inner, columns, aligned_alloc(VECTOR_BYTES, count * inner * PANEL * sizeof(REAL))};
    REAL *target = made.panels;
    for (long first = 0; first < columns; first += PANEL)
        for (long k = 0; k < inner; k++)
            for (long column = first; column < first + PANEL; column++)
                *target++ = column < columns ? weight[k * inner_stride + column * column_stride] : 0;
    return made;
}

/* result (rows, up to PANEL columns) += left (rows, inner) times one panel; rows and vectors are constants */
INLINE void multiply_tile(int rows, int vectors, long inner, const REAL *left, long left_stride, const REAL *panel,
                          REAL *result, long result_stride, long columns)
{
    vector sums[TILE_ROWS][2] = {0};
    for (long k = 0; k < inner; k++, panel += PANEL)
        for (int row = 0; row < rows; row++)
            for (int part = 0; part < vectors; part++)
                sums[row][part] += left[row * left_stride + k] * *(const vector *)(panel + part * LANES);
    for (int row = 0; row < rows; row++) {
        REAL *target = result + row * result_stride;
        if (columns == vectors * LANES)
            for (int part = 0; part < vectors; part++)
                *(vector *)(target + part * LANES) += sums[row][part];
        else
            for (long column = 0; column < columns; column++)
                target[column] += ((REAL *)sums[row])[column];
    }
}

static void multiply_rows(int rows, const packed *right, const REAL *left, long left_stride, REAL *result,
                          long result_stride)
{
#define CASE(count)                                                                                              \
    case count:                                                                                                  \
        if (columns > LANES)                                                                                     \
            multiply_tile(count, 2, right->inner, left, left_stride, panel, result + first, result_stride,       \
                          columns);                                                                              \
        else                                                                                                     \
            multiply_tile(count, 1, right->inner, left, left_stride, panel, result + first, result_stride,       \
                          columns);                                                                              \
        break;
    for (long first = 0; first < right->columns; first += PANEL) {
        const REAL *panel = right->panels + first * right->inner;
        long columns = right->columns - first < PANEL ? right->columns - first : PANEL;
        switch (rows) {
            CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6)
#if TILE_ROWS > 6
            CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
#endif
        }
    }
#undef CASE
}

/* result (rows, columns) += left (rows, inner) times a packed weight */
static void multiply_add(const packed *right, long rows, const REAL *left, long left_stride, REAL *result,
                         long result_stride)
{
    long tiles = (rows + TILE_ROWS - 1) / TILE_ROWS, row = 0;
    for (long tile = 0; tile < tiles; tile++) { /* of nearly the same number of rows */
        long end = rows * (tile + 1) / tiles;
        multiply_rows((int)(end - row), right, left + row * left_stride, left_stride, result + row * result_stride,
                      result_stride);
        row = end;
    }
}

/* ---- Activations ----

   e^x = 2^n e^r with |r| <= ln 2 / 2, where e^r is a polynomial (Cephes). libm's function is not vectorised. */

INLINE REAL exponential(REAL x)
{
    if (sizeof(REAL) == 8) return exp(x);
    float y = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    float shifted = y * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: the last bits are the nearest whole number */
    float n = shifted - 12582912.0f;
    float r = (y - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r) * r + r + 1.0f;
    int power = ((int)n + 127) << 23;
    float scale;
    memcpy(&scale, &power, 4);
    return p * scale;
}

INLINE REAL sigmoid(REAL x) { return 1 / (1 + exponential(-x)); }
INLINE REAL hyperbolic(REAL x) { return 2 / (1 + exponential(-2 * x)) - 1; }

/* ---- LSTM and highway LSTM ----

   Blocks of gates: i, f, g, o, and with a highway r and k, of which k has no recurrent product. The forward pass
   replaces the sums in `gates` by their activations, which the backward pass reads. */

void lstm_forward(long steps, const long *sizes, long hidden, long highway, const REAL *weight, const REAL *kept,
                  REAL *gates, REAL *cells, REAL *bounded, REAL *states)
{
    long blocks = highway ? 5 : 4, stride = (highway ? 6 : 4) * hidden, before = 0, now = 0;
    packed recurrent = pack(weight, hidden, blocks * hidden, 1, hidden);
    for (long step = 0; step < steps; step++) {
        if (step)
            multiply_add(&recurrent, sizes[step], states + before * hidden, hidden, gates + now * stride, stride);
        for (long row = 0; row < sizes[step]; row++) {
            REAL *restrict gate = gates + (now + row) * stride;
            REAL *restrict cell = cells + (now + row) * hidden, *restrict bound = bounded + (now + row) * hidden;
            REAL *restrict state = states + (now + row) * hidden;
            const REAL *restrict past = cells + (before + row) * hidden, *restrict keep = highway ? kept + row * hidden : NULL;
            REAL *forget = gate + hidden, *candidate = gate + 2 * hidden, *leave = gate + 3 * hidden;
            EACH(j, 2 * hidden) gate[j] = sigmoid(gate[j]);
            EACH(j, hidden) candidate[j] = hyperbolic(candidate[j]);
            EACH(j, (blocks - 3) * hidden) leave[j] = sigmoid(leave[j]);
            if (step) {
                EACH(j, hidden) cell[j] = gate[j] * candidate[j] + forget[j] * past[j];
            } else {
                EACH(j, hidden) cell[j] = gate[j] * candidate[j];
            }
            EACH(j, hidden) bound[j] = hyperbolic(cell[j]);
            if (highway) {
                const REAL *transform = gate + 4 * hidden, *carried = gate + 5 * hidden;
                EACH(j, hidden)
                state[j] = keep[j] * (transform[j] * (leave[j] * bound[j] - carried[j]) + carried[j]);
            } else {
                EACH(j, hidden) state[j] = leave[j] * bound[j];
            }
        }
        before = now;
        now += sizes[step];
    }
    free(recurrent.panels);
}

/* `of_states` is the gradient of the states as the caller knows it; what later steps add is added here. */
void lstm_backward(long steps, const long *sizes, long hidden, long highway, const REAL *weight, const REAL *kept,
                   const REAL *gates, const REAL *cells, const REAL *bounded, REAL *of_states, REAL *of_gates)
{
    long blocks = highway ? 5 : 4, stride = (highway ? 6 : 4) * hidden, now = 0;
    packed recurrent = pack(weight, blocks * hidden, hidden, hidden, 1);
    REAL *of_cells = calloc(sizes[0] * hidden, sizeof(REAL));
    for (long step = 0; step < steps; step++) now += sizes[step];
    for (long step = steps - 1; step >= 0; step--) {
        now -= sizes[step];
        long before = step ? now - sizes[step - 1] : 0;
        for (long row = 0; row < sizes[step]; row++) {
            const REAL *restrict gate = gates + (now + row) * stride, *restrict keep = highway ? kept + row * hidden : NULL;
            const REAL *restrict past = cells + (before + row) * hidden;
            const REAL *restrict bound = bounded + (now + row) * hidden;
            const REAL *restrict of_state = of_states + (now + row) * hidden;
            REAL *restrict of_cell = of_cells + row * hidden, *restrict of = of_gates + (now + row) * stride;
            const REAL first = step ? 1 : 0; /* no cell before the first step */
            EACH(j, hidden)
            {
                REAL enter = gate[j], forget = gate[hidden + j], candidate = gate[2 * hidden + j];
                REAL leave = gate[3 * hidden + j], of_leaving = of_state[j];
                if (highway) {
                    REAL transform = gate[4 * hidden + j], carried = gate[5 * hidden + j];
                    REAL of_mixed = of_leaving * keep[j];
                    of[4 * hidden + j] = of_mixed * (leave * bound[j] - carried) * transform * (1 - transform);
                    of[5 * hidden + j] = of_mixed * (1 - transform);
                    of_leaving = of_mixed * transform;
                }
                REAL through = of_cell[j] + of_leaving * leave * (1 - bound[j] * bound[j]);
                of[j] = through * candidate * enter * (1 - enter);
                of[hidden + j] = first * through * past[j] * forget * (1 - forget);
                of[2 * hidden + j] = through * enter * (1 - candidate * candidate);
                of[3 * hidden + j] = of_leaving * bound[j] * leave * (1 - leave);
                of_cell[j] = through * forget;
            }
        }
        if (step)
            multiply_add(&recurrent, sizes[step], of_gates + now * stride, stride, of_states + before * hidden,
                         hidden);
    }
    free(of_cells);
    free(recurrent.panels);
}

/* ---- GRU ----

   Blocks of gates: r, z, n. The candidate's recurrent product stays apart until r has scaled it: `remembered`. */

void gru_forward(long steps, const long *sizes, long hidden, const REAL *weight, const REAL *bias, REAL *gates,
                 REAL *remembered, REAL *states)
{
    long stride = 3 * hidden, before = 0, now = 0;
    packed recurrent = pack(weight, hidden, 3 * hidden, 1, hidden);
    REAL *products = malloc(sizes[0] * stride * sizeof(REAL));
    for (long step = 0; step < steps; step++) {
        for (long row = 0; row < sizes[step]; row++) memcpy(products + row * stride, bias, stride * sizeof(REAL));
        if (step) multiply_add(&recurrent, sizes[step], states + before * hidden, hidden, products, stride);
        for (long row = 0; row < sizes[step]; row++) {
            REAL *restrict gate = gates + (now + row) * stride, *restrict memory = remembered + (now + row) * hidden;
            REAL *restrict state = states + (now + row) * hidden;
            const REAL *restrict product = products + row * stride, *restrict past = states + (before + row) * hidden;
            REAL *keep = gate + hidden, *candidate = gate + 2 * hidden;
            EACH(j, 2 * hidden) gate[j] = sigmoid(gate[j] + product[j]);
            EACH(j, hidden) memory[j] = product[2 * hidden + j];
            EACH(j, hidden) candidate[j] = hyperbolic(candidate[j] + gate[j] * memory[j]);
            if (step) {
                EACH(j, hidden) state[j] = keep[j] * (past[j] - candidate[j]) + candidate[j];
            } else {
                EACH(j, hidden) state[j] = (1 - keep[j]) * candidate[j];
            }
        }
        before = now;
        now += sizes[step];
    }
    free(products);
    free(recurrent.panels);
}

/* `of_products` is the gradient of the recurrent products; that of the gates differs in the candidate's block. */
void gru_backward(long steps, const long *sizes, long hidden, const REAL *weight, const REAL *gates,
                  const REAL *remembered, const REAL *states, REAL *of_states, REAL *of_products, REAL *of_candidates)
{
    long stride = 3 * hidden, now = 0;
    packed recurrent = pack(weight, 3 * hidden, hidden, hidden, 1);
    for (long step = 0; step < steps; step++) now += sizes[step];
    for (long step = steps - 1; step >= 0; step--) {
        now -= sizes[step];
        long before = step ? now - sizes[step - 1] : 0;
        for (long row = 0; row < sizes[step]; row++) {
            const REAL *restrict gate = gates + (now + row) * stride;
            const REAL *restrict memory = remembered + (now + row) * hidden;
            const REAL *restrict past = states + (before + row) * hidden;
            const REAL *restrict of_state = of_states + (now + row) * hidden;
            REAL *restrict of = of_products + (now + row) * stride;
            REAL *restrict of_candidate = of_candidates + (now + row) * hidden;
            REAL *restrict of_past = of_states + (before + row) * hidden;
            const REAL first = step ? 1 : 0; /* no state before the first step */
            EACH(j, hidden)
            {
                REAL reset = gate[j], keep = gate[hidden + j], candidate = gate[2 * hidden + j];
                of_candidate[j] = of_state[j] * (1 - keep) * (1 - candidate * candidate);
                of[j] = of_candidate[j] * memory[j] * reset * (1 - reset);
                of[hidden + j] = of_state[j] * (first * past[j] - candidate) * keep * (1 - keep);
                of[2 * hidden + j] = of_candidate[j] * reset;
            }
            if (step) {
                EACH(j, hidden) of_past[j] += of_state[j] * gate[hidden + j];
            }
        }
        if (step)
            multiply_add(&recurrent, sizes[step], of_products + now * stride, stride, of_states + before * hidden,
                         hidden);
    }
    free(recurrent.panels);
}

/* ---- Coupled LSTM ----

   Blocks of gates: i, o, g. `entering` gets the masked state that each token's recurrent product reads; `first` has
   the state and the cell before the first step. */

void coupled_forward(long steps, const long *sizes, long hidden, const REAL *weight, const REAL *kept,
                     const REAL *first, REAL *gates, REAL *cells, REAL *bounded, REAL *entering, REAL *states)
{
    long stride = 3 * hidden, before = 0, now = 0;
    packed recurrent = pack(weight, hidden, stride, 1, hidden);
    for (long step = 0; step < steps; step++) {
        for (long row = 0; row < sizes[step]; row++) {
            const REAL *restrict past = step ? states + (before + row) * hidden : first;
            const REAL *restrict keep = kept + row * hidden;
            REAL *restrict enters = entering + (now + row) * hidden;
            EACH(j, hidden) enters[j] = keep[j] * past[j];
        }
        multiply_add(&recurrent, sizes[step], entering + now * hidden, hidden, gates + now * stride, stride);
        for (long row = 0; row < sizes[step]; row++) {
            const REAL *restrict past = step ? cells + (before + row) * hidden : first + hidden;
            REAL *restrict gate = gates + (now + row) * stride, *restrict cell = cells + (now + row) * hidden;
            REAL *restrict bound = bounded + (now + row) * hidden, *restrict state = states + (now + row) * hidden;
            REAL *leave = gate + hidden, *candidate = gate + 2 * hidden;
            EACH(j, 2 * hidden) gate[j] = sigmoid(gate[j]);
            EACH(j, hidden) candidate[j] = hyperbolic(candidate[j]);
            EACH(j, hidden) cell[j] = past[j] + gate[j] * (candidate[j] - past[j]);
            EACH(j, hidden) bound[j] = hyperbolic(cell[j]);
            EACH(j, hidden) state[j] = leave[j] * bound[j];
        }
        before = now;
        now += sizes[step];
    }
    free(recurrent.panels);
}

/* The gradients of `first` are added to `of_first`. */
void coupled_backward(long steps, const long *sizes, long hidden, const REAL *weight, const REAL *kept,
                      const REAL *first, const REAL *gates, const REAL *cells, const REAL *bounded, REAL *of_states,
                      REAL *of_gates, REAL *of_first)
{
    long stride = 3 * hidden, now = 0;
    packed recurrent = pack(weight, stride, hidden, hidden, 1);
    REAL *of_cells = calloc(sizes[0] * hidden, sizeof(REAL));
    REAL *of_entering = malloc(sizes[0] * hidden * sizeof(REAL));
    for (long step = 0; step < steps; step++) now += sizes[step];
    for (long step = steps - 1; step >= 0; step--) {
        now -= sizes[step];
        long before = step ? now - sizes[step - 1] : 0;
        for (long row = 0; row < sizes[step]; row++) {
            const REAL *restrict gate = gates + (now + row) * stride;
            const REAL *restrict past = step ? cells + (before + row) * hidden : first + hidden;
            const REAL *restrict bound = bounded + (now + row) * hidden;
            const REAL *restrict of_state = of_states + (now + row) * hidden;
            REAL *restrict of_cell = of_cells + row * hidden, *restrict of = of_gates + (now + row) * stride;
            EACH(j, hidden)
            {
                REAL enter = gate[j], leave = gate[hidden + j], candidate = gate[2 * hidden + j];
                REAL through = of_cell[j] + of_state[j] * leave * (1 - bound[j] * bound[j]);
                of[j] = through * (candidate - past[j]) * enter * (1 - enter);
                of[hidden + j] = of_state[j] * bound[j] * leave * (1 - leave);
                of[2 * hidden + j] = through * enter * (1 - candidate * candidate);
                of_cell[j] = through * (1 - enter);
            }
        }
        memset(of_entering, 0, sizes[step] * hidden * sizeof(REAL));
        multiply_add(&recurrent, sizes[step], of_gates + now * stride, stride, of_entering, hidden);
        for (long row = 0; row < sizes[step]; row++) {
            const REAL *restrict of = of_entering + row * hidden, *restrict keep = kept + row * hidden;
            REAL *restrict of_past = step ? of_states + (before + row) * hidden : of_first;
            EACH(j, hidden) of_past[j] += keep[j] * of[j];
        }
    }
    for (long row = 0; row < sizes[0]; row++) EACH(j, hidden) of_first[hidden + j] += of_cells[row * hidden + j];
    free(of_cells);
    free(of_entering);
    free(recurrent.panels);
}

/* ---- Loops that read and write large matrices once ---- */

/* y = scale * x where the bits reach the limit, else zero */
void drop(long count, const short *bits, long limit, double scale, const REAL *restrict x, REAL *restrict y)
{
    const REAL factor = (REAL)scale;
    const short least = (short)limit;
    EACH(j, count) y[j] = bits[j] >= least ? x[j] * factor : 0;
}

/* Of S[r, h, d] = left[r, d] weight[h, d], whose gradient is `of_scaled`: the gradients of both factors are added to
   `of_left` and `of_weight`. */
void scaled_gradients(long rows, long hidden, long dim, const REAL *of_scaled, const REAL *left, const REAL *weight,
                      REAL *of_left, REAL *of_weight)
{
    for (long h = 0; h < hidden; h++)
        for (long row = 0; row < rows; row++) {
            const REAL *restrict of = of_scaled + (row * hidden + h) * dim, *restrict factor = left + row * dim;
            const REAL *restrict other = weight + h * dim;
            REAL *restrict to_left = of_left + row * dim, *restrict to_weight = of_weight + h * dim;
            EACH(d, dim)
            {
                to_left[d] += of[d] * other[d];
                to_weight[d] += of[d] * factor[d];
            }
        }
}
