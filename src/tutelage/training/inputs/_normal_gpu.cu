// Standard normal numbers with the bits of tutelage.draws.normals: number c of the stream of key k is the quantile of
// mix(k + mix(k + c GOLDEN)), by algorithm AS 241. Compiled without fused multiply-adds, since every product and sum
// is rounded by itself.
//
// A block makes SPAN numbers: first the centre of the distribution for all of them, and then the tails, one number in
// seven, which are gathered so that no thread waits for others to compute one.

typedef unsigned long long u64;
constexpr int THREADS = 256, SPAN = 2048;

__device__ __forceinline__ u64 mix(u64 z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

template <int COUNT>
__device__ __forceinline__ double polynomial(double r, const double (&c)[COUNT]) {  // constant coefficient first
  double value = c[COUNT - 1];
#pragma unroll
  for (int i = COUNT - 2; i >= 0; i--) value = value * r + c[i];
  return value;
}

__device__ __forceinline__ double logarithm(double x) {  // of a positive normal number
  constexpr double series[12] = {2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  const long long bits = __double_as_longlong(x);
  double m = __longlong_as_double((bits & ((1ll << 52) - 1)) | (0x3FEll << 52));  // x = m 2^exponent, m in [1/2, 1)
  int exponent = (int)(bits >> 52) - 1022;
  if (m < 0.7071067811865476) m = 2 * m, exponent -= 1;
  const double s = (m - 1) / (m + 1);
  return s * polynomial(s * s, series) + exponent * 0.6931471805599453;
}

__device__ __forceinline__ double centre(double q) {
  constexpr double above[8] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                               1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                               3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr double below[8] = {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                               2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
                               5.2264952788528545610e3};
  const double r = 0.180625 - q * q;
  return q * (polynomial(r, above) / polynomial(r, below));
}

__device__ double tail(double p) {
  constexpr double above[8] = {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                               3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                               2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double below[8] = {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                               1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                               1.05075007164441684324e-9};
  constexpr double far_above[8] = {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                                   2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                   2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double far_below[8] = {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                                   1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                   1.42151175831644588870e-7, 2.04426310338993978564e-15};
  const double r = sqrt(-logarithm(p < 1 - p ? p : 1 - p));
  const double z = r <= 5.0 ? polynomial(r - 1.6, above) / polynomial(r - 1.6, below)
                            : polynomial(r - 5.0, far_above) / polynomial(r - 5.0, far_below);
  return p < 0.5 ? -z : z;
}

// out [streams][count]; NUMBER is float or double.
extern "C" __global__ void normals(NUMBER* out, const u64* keys, long long count, long long total) {
  __shared__ double tails[SPAN];
  __shared__ unsigned short places[SPAN];
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  const long long begin = (long long)blockIdx.x * SPAN;
  long long stream = (begin + threadIdx.x) / count, counter = (begin + threadIdx.x) % count;
  for (int i = threadIdx.x; i < SPAN && begin + i < total; i += THREADS) {
    const u64 key = keys[stream];
    const u64 bits = mix(key + mix(key + (u64)counter * 0x9E3779B97F4A7C15ull));
    const double p = ((double)(long long)(bits >> 12) + 0.5) * 2.220446049250313e-16;
    const double q = p - 0.5;
    if (fabs(q) > 0.425) {
      const int place = atomicAdd(&found, 1);
      tails[place] = p;
      places[place] = (unsigned short)i;
    } else {
      out[begin + i] = (NUMBER)centre(q);
    }
    for (counter += THREADS; counter >= count; counter -= count) stream++;
  }
  __syncthreads();
  for (int j = threadIdx.x; j < found; j += THREADS) out[begin + places[j]] = (NUMBER)tail(tails[j]);
}
