// Training of two-layer networks, one thread block per student, for a whole span of steps. fused_gpu.py compiles this
// file, with fused_gpu_products.cu and fused_gpu_update.cu before it.
//
//   u = x W1,  h = sigma(u),  o = h W2,  g2 = rate (y - o),  g1 = sigma'(u) (g2 W2^T)
//   W2 += sum over the batch of h^T g2,   W1 += sum over the batch of x^T g1            (Tian 2020, eq. 1)
//
// That is plain SGD. For other rules g2 = (o - y) / batch, the two sums are the gradient of the mean loss, and
// fused_gpu_update.cu says what becomes of it.
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
//   change     W2 += h^T g2                  h and g1 are left operands as they stand
//   change     W1 += g1^T x
//
// FLOAT32 GRADE. A tensor core multiplies numbers of 11 significant bits. Every operand is split into high + low, and
// high*high + (high*low + low*high) is summed in float32; low*low is below rounding. Sums over a step start from 0
// and are added to the weights by an ordinary float32 addition, because the tensor core's own addition truncates.
//
// SHARED MEMORY, in floats. Strides are odd multiples of 8, and row r of a group of eight lies at place(r): then both
// ways of reading (pairs along a row; single numbers down a column) meet 32 different banks.
//   x [3][16][X_STRIDE] | y [2][16][C_STRIDE] | partial [WARPS][PARTIAL] | w2 [WARPS][16][C_STRIDE] | g2 [16][C_STRIDE]
//   | what the optimiser remembers [LENT][THREADS][4]
//
// BARRIERS, two a step: (1) partial outputs of all warps are written; (2) g2 is written, and the rows of the next step
// have arrived. After (2) the rows of the step after next are asked for: their buffer was last read before (1).
//
// Defined by the host: WARPS, INPUT_TILES, OUTPUT_TILES, BATCH (<= 16), BIAS, ACTIVATION and RULE (numbered as in the
// enumerations), X_WIDTH and Y_WIDTH (floats of one copy: 4, 2 or 1), BLOCKS (blocks on a multiprocessor to aim for);
// TRAIN_FIRST and TRAIN_SECOND (0 for a frozen layer), DECAY, L1, DECOUPLED and FACTORS (whether there are such terms),
// FRESH_POINTS and FRESH_LABELS (whether slot i of step t sees row BATCH t + i of what was made for this span),
// SLOTS (numbers remembered per weight), HELD and LENT (tiles of them in registers and in shared memory).

// --------------------------------------------------------------------------------------------- activation
DEVICE float gate(float u, float slope) {  // z(u); NaN times any of these is NaN
  if (ACTIVATION == RELU) return u > 0.f ? 1.f : 0.f;
  if (ACTIVATION == LEAKY) return u > 0.f ? 1.f : slope;
  if (ACTIVATION == ABS) return u > 0.f ? 1.f : u < 0.f ? -1.f : 0.f;
  return 1.f;
}

DEVICE float activated(float u, float slope) {
  if (ACTIVATION == ERF) return erff(u * 0.70710678118654752f);
  return ACTIVATION == TANH ? tanhf(u) : gate(u, slope) * u;
}

// What sigma'(u) can be told from after h = sigma(u) is known: h itself where it can, which saves registers.
DEVICE float remembered(float u, float h) {
  if (ACTIVATION == ERF) return 0.79788456080286536f * expf(-0.5f * u * u);
  return ACTIVATION == RELU || ACTIVATION == LINEAR || ACTIVATION == TANH ? h : u;
}

DEVICE float derivative(float kept, float slope) {
  if (ACTIVATION == ERF) return kept;
  return ACTIVATION == TANH ? 1.f - kept * kept : gate(kept, slope);
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
      const long long next = (long long)t * BATCH + slot;
      const long long point = FRESH_POINTS ? next : row, label = FRESH_LABELS ? next : row;
      copy_row<INPUT_TILES, X_WIDTH>(x + place(slot) * X_STRIDE, rows.points + point * rows.inputs, rows.inputs, lane);
      copy_row<OUTPUT_TILES, Y_WIDTH>(y + slot * C_STRIDE, rows.labels + label * rows.outputs, rows.outputs, lane);
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
// in place, and so is what the optimiser remembers of them: memory_1 [SLOTS][S][...] and memory_2 likewise.
// Member s: points at points + s * point_stride, [samples][inputs]; labels likewise; rate of step t is
// rates[s] * factors[t], in double and then rounded; key keys[s]; table [S][steps][BATCH] or null.
// corrections [steps][2]: 1 / (1 - beta_1^t) and 1 / (1 - beta_2^t) of Adam. w1_factor .. b2_factor are on the rate.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
train(float* first_layer, float* second_layer, float* memory_1, float* memory_2, const float* points,
      long long point_stride, const float* labels, long long label_stride, const int* table, const u64* keys,
      const double* rates, const double* factors, const float* corrections, u64 start, int steps, int samples,
      int inputs, int hidden, int output_count, float slope, float momentum,
      float share_1, float share_2, float epsilon, float decay, float decoupled, float l1, float w1_factor,
      float b1_factor, float w2_factor, float b2_factor) {
  extern __shared__ __align__(16) float shared[];
  float *const x = shared, *const y = x + 3 * X_SIZE, *const partial = y + 2 * C_SIZE;
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
  constexpr int SIZE_1 = 16 * 8 * INPUT_TILES, SIZE_2 = 16 * 8 * OUTPUT_TILES;  // of a warp's units
  const long long place_1 = (member * WARPS + warp) * SIZE_1, place_2 = (member * WARPS + warp) * SIZE_2;
  load(w1, first_layer + place_1, 8 * INPUT_TILES, lane.g, lane.g + 8, 2 * lane.q);
  load(w2, second_layer + place_2, 8 * OUTPUT_TILES, lane.g, lane.g + 8, 2 * lane.q);
  store(my_w2, w2, C_STRIDE, lane.pair_row, lane.pair_row + 8, 2 * lane.q);

  const Numbers numbers = {momentum, share_1, share_2, epsilon, decay, decoupled, l1};
  const long long members = gridDim.x;
  const Home home_1 = {memory_1 + place_1 + lane.g * 8 * INPUT_TILES + 2 * lane.q, members * WARPS * SIZE_1};
  const Home home_2 = {memory_2 + place_2 + lane.g * 8 * OUTPUT_TILES + 2 * lane.q, members * WARPS * SIZE_2};
  Memory memory;
  memory.lent = (float4*)(g2 + C_SIZE) + threadIdx.x;
  if (TRAIN_FIRST) memory.fetch<INPUT_TILES>(0, home_1);
  if (TRAIN_SECOND) memory.fetch<OUTPUT_TILES>(FIRST_OF_SECOND, home_2);

  const bool fixed[2] = {BIAS && 16 * warp + lane.g == hidden, BIAS && 16 * warp + lane.g + 8 == hidden};
  const bool odd = inputs % 8 == 2 * lane.q + 1, even = inputs % 8 == 2 * lane.q;
  const bool bias_1[4] = {even, odd, even, odd}, bias_2[4] = {fixed[0], fixed[0], fixed[1], fixed[1]};
  const double my_rate = rates[member];
  arrived();
  __syncthreads();

  int now = 0;  // the buffer of x that holds this step's rows
  for (int t = 0; t < steps; t++) {
    const float* const my_x = x + now * X_SIZE;
    const double factor = factors[t];

    float h[2][4], kept[2][4];
    contract<INPUT_TILES, X_STRIDE>(h, w1, my_x, lane);
    UNROLL for (int half = 0; half < 2; half++) UNROLL for (int i = 0; i < 4; i++) {
      const float u = h[half][i];
      h[half][i] = fixed[i / 2] ? 1.f : activated(u, slope);
      kept[half][i] = remembered(u, h[half][i]);
    }
    {
      Left turned[2];
      turn(turned, h, my_partial, lane);
      outputs(my_partial, turned, my_w2, lane);
    }
    __syncthreads();  // (1)
    Rate rate = {(float)(my_rate * factor), 0.f, 0.f};
    errors(g2, partial, y + (t & 1) * C_SIZE, RULE == PLAIN ? rate.rate : -1.f / BATCH);
    if (RULE == ADAM) rate.first = rate.rate * corrections[2 * t], rate.second = corrections[2 * t + 1];
    arrived();
    __syncthreads();  // (2)
    fetch(rows, t + 2, t & 1, picked, x + (now == 0 ? 2 : now - 1) * X_SIZE, y + (t & 1) * C_SIZE, warp, lane);
    if (t & 1) picked = rows.pick(t + 3, lane);

    float g1[2][4];
    if (TRAIN_FIRST) {
      contract<OUTPUT_TILES, C_STRIDE>(g1, w2, g2, lane);
      UNROLL for (int half = 0; half < 2; half++) UNROLL for (int i = 0; i < 4; i++)
        g1[half][i] = fixed[i / 2] ? 0.f : derivative(kept[half][i], slope) * g1[half][i];
    }
    if (TRAIN_SECOND) {
      change<OUTPUT_TILES, C_STRIDE, true>(w2, h, g2, lane, memory, home_2, bias_2, w2_factor, b2_factor, rate, numbers);
      store(my_w2, w2, C_STRIDE, lane.pair_row, lane.pair_row + 8, 2 * lane.q);
    }
    if (TRAIN_FIRST)
      change<INPUT_TILES, X_STRIDE, false>(w1, g1, my_x, lane, memory, home_1, bias_1, w1_factor, b1_factor, rate,
                                           numbers);
    __syncwarp();  // this warp's W2 in shared memory is whole before its lanes read it in the next step
    now = now == 2 ? 0 : now + 1;
  }
  store(first_layer + place_1, w1, 8 * INPUT_TILES, lane.g, lane.g + 8, 2 * lane.q);
  store(second_layer + place_2, w2, 8 * OUTPUT_TILES, lane.g, lane.g + 8, 2 * lane.q);
  if (TRAIN_FIRST) memory.keep<INPUT_TILES>(0, home_1);
  if (TRAIN_SECOND) memory.keep<OUTPUT_TILES>(FIRST_OF_SECOND, home_2);
}
