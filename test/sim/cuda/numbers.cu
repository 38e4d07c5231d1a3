// arch: sm_80
// Intrinsics of integers, double functions of libdevice, halves and bfloats: what nvcc makes of them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>

extern "C" __global__ void numbers(
    const unsigned *a, const unsigned *b, unsigned *integers, const double *x, double *doubles, float *floats) {
    const int thread = threadIdx.x;
    const unsigned p = a[thread], q = b[thread];
    unsigned *row = integers + thread * 12;
    row[0] = __dp4a(p, q, 5u);
    row[1] = __byte_perm(p, q, 0x3715);
    row[2] = __funnelshift_l(p, q, thread);
    row[3] = __brev(p);
    row[4] = __clz(p) + __ffs(q);
    row[5] = __umulhi(p, q);
    row[6] = p / (q | 1) + p % (q | 1);
    row[7] = static_cast<int>(p) / static_cast<int>(q | 1);
    const unsigned long long wide = static_cast<unsigned long long>(p) << 32 | q;
    row[8] = static_cast<unsigned>(wide / (q % 1000 + 1));
    const unsigned __int128 whole = static_cast<unsigned __int128>(wide) * (wide ^ 0x123456789abcdefull) + wide;
    row[9] = static_cast<unsigned>(whole >> 96);
    row[10] = static_cast<unsigned>(whole >> 40);
    row[11] = __vadd2(p, q) ^ __vmaxu4(p, q);
    const double value = x[thread];
    double *more = doubles + thread * 6;
    more[0] = exp(value);
    more[1] = sin(value * 10);
    more[2] = log(fabs(value) + 0.5);
    more[3] = pow(fabs(value), 1.7);
    more[4] = 1 / sqrt(fabs(value) + 1) + value / 3;
    more[5] = fma(value, value, -1.0) + floor(value) + rint(value * 4);
    float *few = floats + thread * 6;
    const float single = static_cast<float>(value);
    few[0] = __half2float(__hfma(__float2half(single), __float2half(1.5f), __float2half(0.25f)));
    few[1] = __bfloat162float(__float2bfloat16(single));
    const __half2 pair = __hadd2(__floats2half2_rn(single, 2.0f), __floats2half2_rn(0.5f, single));
    few[2] = __low2float(pair) - __high2float(pair);
    few[3] = sinf(single) + expf(single) + logf(fabsf(single) + 1.0f);
    few[4] = __fdiv_rz(single, 3.0f) + __fmaf_rd(single, single, 0.1f);
    few[5] = static_cast<float>(__float2int_rn(single * 8)) + __double2float_ru(value) + truncf(single * 5);
}
