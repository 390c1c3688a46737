// Two-layer SGD, one thread block a student, for a whole span of steps (see fused_gpu.py, which compiles this file).
//
//   u = x W1,  h = sigma(u) = z(u) u,  o = h W2,  g2 = rate (y - o),  g1 = z(u) (g2 W2^T)
//   W2 += sum over the batch of h^T g2,   W1 += sum over the batch of x^T g1            (Tian 2020, eq. 1)
//
// Biases are weights like the others: column `inputs` of every x is 1, and unit `hidden` has h = 1 and no gradient.
//
// WHO OWNS WHAT. Warp w owns units 16w .. 16w+15: their rows of W1 [16][8 INPUT_TILES] and of W2 [16][8 OUTPUT_TILES]
// live in its registers from the first step to the last, as accumulator fragments of mma.m16n8k8. In such a fragment,
// lane 4g+q (g = 0..7, q = 0..3) holds of each tile of 8 columns
//       c[0], c[1] = M[g][2q], M[g][2q+1]       c[2], c[3] = M[g+8][2q], M[g+8][2q+1].
// Read as a left operand the same four numbers are M with its columns taken in the order 0 2 4 6 1 3 5 7; the right
// operand is read in that order too, so the product is the same and no weight ever moves between lanes.
// Five products a step and warp, units x batch always as [unit][row]:
//   contract   u  [16][16] = W1 x^T          weights left, rows of x right
//   outputs    o  [16][8C] = h W2            h turned round in shared memory; a partial sum over this warp's units
//   contract   g1 [16][16] = W2 g2^T         weights left, rows of g2 right
//   add_outer  W2 += h^T g2                  h and g1 are left operands as they stand
//   add_outer  W1 += g1^T x
//
// FLOAT32 GRADE. A tensor core multiplies numbers of 11 significant bits. Every operand is split into high + low, and
// high*high + (high*low + low*high) is summed in float32; low*low is below rounding. Sums over a step start from 0
// and are added to the weights by an ordinary float32 addition, because the tensor core's own addition truncates.
//
// SHARED MEMORY, in floats. Strides are odd multiples of 8, and row r of a group of eight lies at place(r): then both
// ways of reading (pairs along a row; single numbers down a column) meet 32 different banks.
//   x [3][16][X_STRIDE] | y [2][16][C_STRIDE] | partial [WARPS][PARTIAL] | w2 [WARPS][16][C_STRIDE] | g2 [16][C_STRIDE]
//
// BARRIERS, two a step: (1) partial outputs of all warps are written; (2) g2 is written, and the rows of the next step
// have arrived. After (2) the rows of the step after next are asked for: their buffer was last read before (1).
//
// Defined by the host: WARPS, INPUT_TILES, OUTPUT_TILES, BATCH (<= 16), BIAS, ACTIVATION (0 relu, 1 leaky, 2 abs,
// 3 linear), X_WIDTH and Y_WIDTH (floats of one copy: 4, 2 or 1), BLOCKS (blocks on a multiprocessor to aim for).

#define DEVICE __device__ __forceinline__
#define UNROLL _Pragma("unroll")

typedef unsigned long long u64;

constexpr int ROWS = 16, LANES = 32, THREADS = WARPS * LANES;
constexpr int X_STRIDE = 8 * (INPUT_TILES | 1), C_STRIDE = 8 * (OUTPUT_TILES | 1), H_STRIDE = 24;
constexpr int X_SIZE = ROWS * X_STRIDE, C_SIZE = ROWS * C_STRIDE, H_SIZE = ROWS * H_STRIDE;
constexpr int PARTIAL = C_SIZE > H_SIZE ? C_SIZE : H_SIZE;  // first holds h on its way from [unit][row] to [row][unit]
enum { RELU, LEAKY, ABS, LINEAR };

// ---------------------------------------------------------------------------------------------- products
struct Left {  // a left operand [16][8], split
  float high[4], low[4];
};

DEVICE void split(float value, float& high, float& low) {  // infinities and NaN come out as NaN
  high = __uint_as_float(__float_as_uint(value) & 0xffffe000u);
  low = value - high;
}

DEVICE Left left(const float (&c)[4]) {  // an accumulator fragment as a left operand
  Left a;
  split(c[0], a.high[0], a.low[0]);
  split(c[2], a.high[1], a.low[1]);
  split(c[1], a.high[2], a.low[2]);
  split(c[3], a.high[3], a.low[3]);
  return a;
}

DEVICE void multiply(float (&sum)[4], const float (&a)[4], float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

// sum + small += a * b, where lane 4g+q brings b[2q][g] and b[2q+1][g].
DEVICE void multiply(float (&sum)[4], float (&small)[4], const Left& a, float b0, float b1) {
  float high0, low0, high1, low1;
  split(b0, high0, low0);
  split(b1, high1, low1);
  multiply(small, a.low, high0, high1);
  multiply(small, a.high, low0, low1);
  multiply(sum, a.high, high0, high1);
}

DEVICE int place(int row) { return row ^ ((row >> 2) & 1); }  // 0 1 2 3 5 4 7 6, and the same again from 8

// Where a lane reads: along row g at columns 2q, 2q+1, or down column g at rows 2q and 2q+1.
struct Lane {
  int id, g, q, pair_row, even_row, odd_row;
  DEVICE Lane() : id(threadIdx.x % LANES), g(id / 4), q(id % 4) {
    pair_row = place(g);
    even_row = place(2 * q);
    odd_row = place(2 * q + 1);
  }
};

// sum[unit][row] = weights [unit][column] rows [row][column], summed over the columns of all tiles.
template <int TILES, int STRIDE>
DEVICE void contract(float (&sum)[2][4], const float (&weights)[TILES][4], const float* rows, const Lane& lane) {
  const float* from = rows + lane.pair_row * STRIDE + 2 * lane.q;
  float odd[2][4] = {}, small[2][4] = {};  // even and odd tiles apart: two chains of additions instead of one
  UNROLL for (int half = 0; half < 2; half++) UNROLL for (int i = 0; i < 4; i++) sum[half][i] = 0.f;
  UNROLL for (int tile = 0; tile < TILES; tile++) {
    const Left a = left(weights[tile]);
    UNROLL for (int half = 0; half < 2; half++) {
      const float2 b = *(const float2*)(from + half * 8 * STRIDE + 8 * tile);
      multiply(tile & 1 ? odd[half] : sum[half], small[half], a, b.x, b.y);
    }
  }
  UNROLL for (int half = 0; half < 2; half++) UNROLL for (int i = 0; i < 4; i++)
    sum[half][i] = sum[half][i] + odd[half][i] + small[half][i];
}

// One tile of a product over 16 rows (or units): result [16][8] = a [16][16] b [16][8], b at column 8 tile of `rows`.
template <int STRIDE>
DEVICE void outer_tile(float (&result)[4], const Left (&a)[2], const float* rows, int tile, const Lane& lane) {
  float small[4] = {};
  UNROLL for (int i = 0; i < 4; i++) result[i] = 0.f;
  UNROLL for (int half = 0; half < 2; half++) {
    const float* from = rows + half * 8 * STRIDE + 8 * tile + lane.g;
    multiply(result, small, a[half], from[lane.even_row * STRIDE], from[lane.odd_row * STRIDE]);
  }
  UNROLL for (int i = 0; i < 4; i++) result[i] += small[i];
}

// weights[unit][column] += sum over rows of factors[unit][row] rows[row][column].
template <int TILES, int STRIDE>
DEVICE void add_outer(float (&weights)[TILES][4], const float (&factors)[2][4], const float* rows, const Lane& lane) {
  const Left a[2] = {left(factors[0]), left(factors[1])};
  UNROLL for (int tile = 0; tile < TILES; tile++) {
    float change[4];
    outer_tile<STRIDE>(change, a, rows, tile, lane);
    UNROLL for (int i = 0; i < 4; i++) weights[tile][i] += change[i];
  }
}

// ------------------------------------------------------------------------------------ fragments in memory
template <int TILES>
DEVICE void load(float (&fragment)[TILES][4], const float* from, int stride, int row0, int row1, int column) {
  UNROLL for (int tile = 0; tile < TILES; tile++) {
    const float2 upper = *(const float2*)(from + row0 * stride + 8 * tile + column);
    const float2 lower = *(const float2*)(from + row1 * stride + 8 * tile + column);
    fragment[tile][0] = upper.x, fragment[tile][1] = upper.y, fragment[tile][2] = lower.x, fragment[tile][3] = lower.y;
  }
}

template <int TILES>
DEVICE void store(float* to, const float (&fragment)[TILES][4], int stride, int row0, int row1, int column) {
  UNROLL for (int tile = 0; tile < TILES; tile++) {
    *(float2*)(to + row0 * stride + 8 * tile + column) = make_float2(fragment[tile][0], fragment[tile][1]);
    *(float2*)(to + row1 * stride + 8 * tile + column) = make_float2(fragment[tile][2], fragment[tile][3]);
  }
}

// --------------------------------------------------------------------------------------------- activation
DEVICE float gate(float u, float slope) {  // z(u); NaN times any of these is NaN
  if (ACTIVATION == RELU) return u > 0.f ? 1.f : 0.f;
  if (ACTIVATION == LEAKY) return u > 0.f ? 1.f : slope;
  if (ACTIVATION == ABS) return u > 0.f ? 1.f : u < 0.f ? -1.f : 0.f;
  return 1.f;
}

// ---------------------------------------------------------------------------------------- rows of a batch
DEVICE u64 mix(u64 z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

struct Rows {  // which rows a member sees, and where they are
  const float *points, *labels;
  const int* table;  // explicit rows [steps][BATCH], or null to draw them
  u64 key, start;
  int steps, samples, inputs, outputs;

  // The rows of two steps at once: lane 16j+i gets slot i of step t+j (lanes beyond the batch get what is not used).
  DEVICE int pick(int t, const Lane& lane) const {
    const int step = t + lane.id / 16, slot = lane.id % 16;
    if (step >= steps || slot >= BATCH) return 0;
    if (table) return table[(long long)step * BATCH + slot];
    const u64 bits = mix(key + mix(key + ((start + step) * BATCH + slot) * 0x9E3779B97F4A7C15ull));
    return __umulhi((unsigned)(bits >> 32), (unsigned)samples);
  }
};

template <int WIDTH>
DEVICE void copy(float* to, const float* from) {
  const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
  if (WIDTH == 4) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
  if (WIDTH == 2) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared), "l"(from) : "memory");
  if (WIDTH == 1) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from) : "memory");
}

template <int TILES, int WIDTH>
DEVICE void copy_row(float* to, const float* from, int length, const Lane& lane) {
  UNROLL for (int first = 0; first < 8 * TILES; first += LANES * WIDTH) {
    const int column = first + lane.id * WIDTH;
    if (column < length) copy<WIDTH>(to + column, from + column);
  }
}

// Ask for the rows of step t; warp w brings rows w, w + WARPS, ... `picked` comes from Rows::pick at t or t-1.
DEVICE void fetch(const Rows& rows, int t, int side, int picked, float* x, float* y, int warp, const Lane& lane) {
  if (t < rows.steps) {
    UNROLL for (int first = 0; first < ROWS; first += WARPS) {
      const int slot = first + warp;
      const long long row = __shfl_sync(~0u, picked, 16 * side + slot % 16);
      if (slot >= BATCH) continue;
      copy_row<INPUT_TILES, X_WIDTH>(x + place(slot) * X_STRIDE, rows.points + row * rows.inputs, rows.inputs, lane);
      copy_row<OUTPUT_TILES, Y_WIDTH>(y + slot * C_STRIDE, rows.labels + row * rows.outputs, rows.outputs, lane);
    }
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

DEVICE void arrived() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

// ------------------------------------------------------------------------------------------ parts of a step
// h from [unit][row] to a left operand [row][unit], through this warp's own scratch.
DEVICE void turn(Left (&turned)[2], const float (&h)[2][4], float* scratch, const Lane& lane) {
  store<2>(scratch, h, H_STRIDE, lane.pair_row, lane.pair_row + 8, 2 * lane.q);
  __syncwarp();
  UNROLL for (int half = 0; half < 2; half++) {
    const float* even = scratch + (lane.even_row + 8 * half) * H_STRIDE + lane.g;
    const float* odd = scratch + (lane.odd_row + 8 * half) * H_STRIDE + lane.g;
    const float c[4] = {even[0], odd[0], even[8], odd[8]};
    turned[half] = left(c);
  }
  __syncwarp();
}

// partial[row][output] = sum over this warp's units of h W2.
DEVICE void outputs(float* partial, const Left (&h)[2], const float* w2, const Lane& lane) {
  UNROLL for (int tile = 0; tile < OUTPUT_TILES; tile++) {
    float o[1][4];
    outer_tile<C_STRIDE>(o[0], h, w2, tile, lane);
    store<1>(partial + 8 * tile, o, C_STRIDE, lane.g, lane.g + 8, 2 * lane.q);
  }
}

// g2 = rate (y - sum of the warps' partial outputs), four numbers a thread at a time; rows beyond the batch get 0.
DEVICE void errors(float* g2, const float* partial, const float* y, float rate) {
  constexpr int QUADS = 2 * OUTPUT_TILES;
  UNROLL for (int first = 0; first < ROWS * QUADS; first += THREADS) {
    const int quad = first + threadIdx.x;
    if (quad >= ROWS * QUADS) break;
    const int row = quad / QUADS, at = row * C_STRIDE + 4 * (quad % QUADS);
    float4 o = *(const float4*)(partial + at);
    UNROLL for (int warp = 1; warp < WARPS; warp++) {
      const float4 more = *(const float4*)(partial + warp * PARTIAL + at);
      o.x += more.x, o.y += more.y, o.z += more.z, o.w += more.w;
    }
    const float4 wanted = *(const float4*)(y + at);
    const float scale = row < BATCH ? rate : 0.f;
    *(float4*)(g2 + place(row) * C_STRIDE + 4 * (quad % QUADS)) = make_float4(
        (wanted.x - o.x) * scale, (wanted.y - o.y) * scale, (wanted.z - o.z) * scale, (wanted.w - o.w) * scale);
  }
}

// ------------------------------------------------------------------------------------------------ the kernel
// first_layer [S][16 WARPS][8 INPUT_TILES] and second_layer [S][16 WARPS][8 OUTPUT_TILES], padded with 0, are trained
// in place. Member s: points at points + s * point_stride, [samples][inputs]; labels likewise; rate of step t is
// rates[s] * factors[t], in double and then rounded; key keys[s]; table [S][steps][BATCH] or null.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
train(float* first_layer, float* second_layer, const float* points, long long point_stride, const float* labels,
      long long label_stride, const int* table, const u64* keys, const double* rates, const double* factors, u64 start,
      int steps, int samples, int inputs, int hidden, int output_count, float slope) {
  extern __shared__ __align__(16) float memory[];
  float *const x = memory, *const y = x + 3 * X_SIZE, *const partial = y + 2 * C_SIZE;
  float *const all_w2 = partial + WARPS * PARTIAL, *const g2 = all_w2 + WARPS * C_SIZE;
  const Lane lane;
  const int warp = threadIdx.x / LANES;
  const long long member = blockIdx.x;
  float *const my_partial = partial + warp * PARTIAL, *const my_w2 = all_w2 + warp * C_SIZE;

  // Columns beyond the data stay 0 for good, but for the column of ones that carries the first bias.
  for (int i = threadIdx.x; i < 3 * X_SIZE; i += THREADS) x[i] = BIAS && i % X_STRIDE == inputs ? 1.f : 0.f;
  for (int i = threadIdx.x; i < 2 * C_SIZE; i += THREADS) y[i] = 0.f;
  __syncthreads();

  const Rows rows = {points + member * point_stride, labels + member * label_stride,
                     table ? table + member * steps * BATCH : nullptr, keys[member], start, steps, samples, inputs,
                     output_count};
  int picked = rows.pick(0, lane);
  fetch(rows, 0, 0, picked, x, y, warp, lane);
  fetch(rows, 1, 1, picked, x + X_SIZE, y + C_SIZE, warp, lane);
  picked = rows.pick(2, lane);

  float w1[INPUT_TILES][4], w2[OUTPUT_TILES][4];
  float* const home1 = first_layer + (member * WARPS + warp) * 16 * (8 * INPUT_TILES);
  float* const home2 = second_layer + (member * WARPS + warp) * 16 * (8 * OUTPUT_TILES);
  load(w1, home1, 8 * INPUT_TILES, lane.g, lane.g + 8, 2 * lane.q);
  load(w2, home2, 8 * OUTPUT_TILES, lane.g, lane.g + 8, 2 * lane.q);
  store(my_w2, w2, C_STRIDE, lane.pair_row, lane.pair_row + 8, 2 * lane.q);
  const bool fixed[2] = {BIAS && 16 * warp + lane.g == hidden, BIAS && 16 * warp + lane.g + 8 == hidden};
  const double my_rate = rates[member];
  arrived();
  __syncthreads();

  int now = 0;  // the buffer of x that holds this step's rows
  for (int t = 0; t < steps; t++) {
    const float* const my_x = x + now * X_SIZE;
    const double factor = factors[t];

    float h[2][4], kept[2][4];  // kept: u, or h where z can be told from it, which saves registers
    contract<INPUT_TILES, X_STRIDE>(h, w1, my_x, lane);
    UNROLL for (int half = 0; half < 2; half++) UNROLL for (int i = 0; i < 4; i++) {
      const float u = h[half][i];
      h[half][i] = fixed[i / 2] ? 1.f : gate(u, slope) * u;
      kept[half][i] = ACTIVATION == RELU || ACTIVATION == LINEAR ? h[half][i] : u;
    }
    {
      Left turned[2];
      turn(turned, h, my_partial, lane);
      outputs(my_partial, turned, my_w2, lane);
    }
    __syncthreads();  // (1)
    errors(g2, partial, y + (t & 1) * C_SIZE, (float)(my_rate * factor));
    arrived();
    __syncthreads();  // (2)
    fetch(rows, t + 2, t & 1, picked, x + (now == 0 ? 2 : now - 1) * X_SIZE, y + (t & 1) * C_SIZE, warp, lane);
    if (t & 1) picked = rows.pick(t + 3, lane);

    float g1[2][4];
    contract<OUTPUT_TILES, C_STRIDE>(g1, w2, g2, lane);
    UNROLL for (int half = 0; half < 2; half++) UNROLL for (int i = 0; i < 4; i++)
      g1[half][i] = fixed[i / 2] ? 0.f : gate(kept[half][i], slope) * g1[half][i];
    add_outer<OUTPUT_TILES, C_STRIDE>(w2, h, g2, lane);
    store(my_w2, w2, C_STRIDE, lane.pair_row, lane.pair_row + 8, 2 * lane.q);
    add_outer<INPUT_TILES, X_STRIDE>(w1, g1, my_x, lane);
    __syncwarp();  // this warp's W2 in shared memory is whole before its lanes read it in the next step
    now = now == 2 ? 0 : now + 1;
  }
  store(home1, w1, 8 * INPUT_TILES, lane.g, lane.g + 8, 2 * lane.q);
  store(home2, w2, 8 * OUTPUT_TILES, lane.g, lane.g + 8, 2 * lane.q);
}
