// Tiles of mma.m16n8k8 with float32 grade, and fragments in memory; see fused_gpu.cu.

#define DEVICE __device__ __forceinline__
#define UNROLL _Pragma("unroll")

typedef unsigned long long u64;

constexpr int ROWS = 16, LANES = 32, THREADS = WARPS * LANES;
constexpr int X_STRIDE = 8 * (INPUT_TILES | 1), C_STRIDE = 8 * (OUTPUT_TILES | 1), H_STRIDE = 24;
constexpr int X_SIZE = ROWS * X_STRIDE, C_SIZE = ROWS * C_STRIDE, H_SIZE = ROWS * H_STRIDE;
constexpr int PARTIAL = C_SIZE > H_SIZE ? C_SIZE : H_SIZE;  // first holds h on its way from [unit][row] to [row][unit]
enum { RELU, LEAKY, ABS, LINEAR, ERF, TANH };

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
