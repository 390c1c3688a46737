// From the gradient of a step to the change of the weights; see fused_gpu.cu. The rules are those of optimisers.py.
//
// What an optimiser remembers of a weight belongs to the thread that owns the weight. Of its tiles of four numbers the
// first HELD stay in registers, the next LENT in shared memory, and the rest is read and written in global memory at
// every step: no other thread ever looks at it, so no barrier is needed.

enum { PLAIN, SGD, MOMENTUM, NESTEROV, ADAM };

constexpr int TRAINED_TILES = TRAIN_FIRST * INPUT_TILES + TRAIN_SECOND * OUTPUT_TILES;
constexpr int FIRST_OF_SECOND = TRAIN_FIRST * INPUT_TILES;  // tiles of W2 are counted after those of W1

struct Numbers {  // of the optimiser; of Adam share_1 = 1 - beta_1 and share_2 = 1 - beta_2, exact before rounding
  float momentum, share_1, share_2, epsilon, decay, decoupled, l1;
};

struct Rate {  // of a step: the learning rate, the same over 1 - beta_1^t, and 1 / (1 - beta_2^t)
  float rate, first, second;
};

// Where the packed arrays of one layer hold this thread's entries: slot k is `apart` floats after slot 0.
struct Home {
  float* at;
  long long apart;
};

struct Memory {
  float held[HELD ? HELD : 1][4];
  float4* lent;  // [LENT][THREADS], at this thread

  template <int TILES>
  DEVICE void get(float (&m)[4], int tile, int slot, int offset, const Home& home) const {
    const int index = (offset + tile) * SLOTS + slot;
    if (index < HELD) {
      UNROLL for (int i = 0; i < 4; i++) m[i] = held[index][i];
    } else if (index < HELD + LENT) {
      const float4 four = lent[(index - HELD) * THREADS];
      m[0] = four.x, m[1] = four.y, m[2] = four.z, m[3] = four.w;
    } else {
      read<TILES>(m, tile, slot, home);
    }
  }

  template <int TILES>
  DEVICE void put(const float (&m)[4], int tile, int slot, int offset, const Home& home) {
    const int index = (offset + tile) * SLOTS + slot;
    if (index < HELD) {
      UNROLL for (int i = 0; i < 4; i++) held[index][i] = m[i];
    } else if (index < HELD + LENT) {
      lent[(index - HELD) * THREADS] = make_float4(m[0], m[1], m[2], m[3]);
    } else {
      write<TILES>(m, tile, slot, home);
    }
  }

  template <int TILES>
  static DEVICE void read(float (&m)[4], int tile, int slot, const Home& home) {
    const float* from = home.at + slot * home.apart + 8 * tile;
    const float2 upper = *(const float2*)from, lower = *(const float2*)(from + 8 * 8 * TILES);
    m[0] = upper.x, m[1] = upper.y, m[2] = lower.x, m[3] = lower.y;
  }

  template <int TILES>
  static DEVICE void write(const float (&m)[4], int tile, int slot, const Home& home) {
    float* to = home.at + slot * home.apart + 8 * tile;
    *(float2*)to = make_float2(m[0], m[1]);
    *(float2*)(to + 8 * 8 * TILES) = make_float2(m[2], m[3]);
  }

  // Bring what stays on the chip from its home, or take it back there.
  template <int TILES>
  DEVICE void fetch(int offset, const Home& home) {
    UNROLL for (int tile = 0; tile < TILES; tile++) UNROLL for (int slot = 0; slot < SLOTS; slot++) {
      if ((offset + tile) * SLOTS + slot >= HELD + LENT) continue;
      float m[4];
      read<TILES>(m, tile, slot, home);
      put<TILES>(m, tile, slot, offset, home);
    }
  }

  template <int TILES>
  DEVICE void keep(int offset, const Home& home) const {
    UNROLL for (int tile = 0; tile < TILES; tile++) UNROLL for (int slot = 0; slot < SLOTS; slot++) {
      if ((offset + tile) * SLOTS + slot >= HELD + LENT) continue;
      float m[4];
      get<TILES>(m, tile, slot, offset, home);
      write<TILES>(m, tile, slot, home);
    }
  }
};

DEVICE float quotient(float a, float b) {  // within 2 units in the last place; b is at least epsilon
  float result;
  asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}

DEVICE float root(float a) {
  float result;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
}

// Change one weight by its gradient g; for PLAIN, g is the change itself. m and v are what is remembered of it.
DEVICE void update(float& w, float g, float& m, float& v, float factor, const Rate& now, const Numbers& n) {
  if (RULE == PLAIN) {
    w += FACTORS ? factor * g : g;
    return;
  }
  const float rate = FACTORS ? now.rate * factor : now.rate;
  if (DECAY) g += n.decay * w;
  if (L1) g += w > 0.f ? n.l1 : w < 0.f ? -n.l1 : 0.f;
  if (DECOUPLED) w *= 1.f - rate * n.decoupled;
  if (RULE == ADAM) {
    m += n.share_1 * (g - m);
    v += n.share_2 * (g * g - v);
    w -= (FACTORS ? now.first * factor : now.first) * quotient(m, root(v * now.second) + n.epsilon);
  } else if (RULE == SGD) {
    w -= rate * g;
  } else {
    m = n.momentum * m + g;
    w -= rate * (RULE == NESTEROV ? g + n.momentum * m : m);
  }
}

// Change weights[unit][column] by the sum over rows of factors[unit][row] rows[row][column].
// biased[i]: whether entry i of the last tile (of every tile for the second layer) is a bias.
template <int TILES, int STRIDE, bool SECOND>
DEVICE void change(float (&weights)[TILES][4], const float (&factors)[2][4], const float* rows, const Lane& lane,
                   Memory& memory, const Home& home, const bool (&biased)[4], float weight_factor, float bias_factor,
                   const Rate& now, const Numbers& numbers) {
  constexpr int offset = SECOND ? FIRST_OF_SECOND : 0;
  const Left a[2] = {left(factors[0]), left(factors[1])};
  UNROLL for (int tile = 0; tile < TILES; tile++) {
    float g[4], m[4], v[4];
    if (SLOTS > 0) memory.get<TILES>(m, tile, 0, offset, home);
    if (SLOTS > 1) memory.get<TILES>(v, tile, 1, offset, home);
    outer_tile<STRIDE>(g, a, rows, tile, lane);
    UNROLL for (int i = 0; i < 4; i++) {
      const bool bias = BIAS && (SECOND || tile == TILES - 1) && biased[i];
      update(weights[tile][i], g[i], m[i], v[i], bias ? bias_factor : weight_factor, now, numbers);
    }
    if (SLOTS > 0) memory.put<TILES>(m, tile, 0, offset, home);
    if (SLOTS > 1) memory.put<TILES>(v, tile, 1, offset, home);
  }
}
