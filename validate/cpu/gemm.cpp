#include <cblas.h>
#include <limits>

#include "sim/base/check.hpp"
#include "validate/cpu/kernels.hpp"

namespace twinstep::cpu {
namespace {

blasint blas_size(std::int64_t size) {
  TWINSTEP_CHECK(size >= 0 && size <= std::numeric_limits<blasint>::max(), "a matrix has a size that BLAS can count");
  return static_cast<blasint>(size);
}

void multiply_one(program::Gemm const& gemm, float const* a, float const* b, float* c) {
  cblas_sgemm(CblasRowMajor, gemm.transpose_a ? CblasTrans : CblasNoTrans, gemm.transpose_b ? CblasTrans : CblasNoTrans,
              blas_size(gemm.m), blas_size(gemm.n), blas_size(gemm.k), 1.0F, a,
              blas_size(gemm.transpose_a ? gemm.m : gemm.k), b, blas_size(gemm.transpose_b ? gemm.k : gemm.n),
              gemm.accumulate ? 1.0F : 0.0F, c, blas_size(gemm.n));
}

void multiply_one(program::Gemm const& gemm, double const* a, double const* b, double* c) {
  cblas_dgemm(CblasRowMajor, gemm.transpose_a ? CblasTrans : CblasNoTrans, gemm.transpose_b ? CblasTrans : CblasNoTrans,
              blas_size(gemm.m), blas_size(gemm.n), blas_size(gemm.k), 1.0, a,
              blas_size(gemm.transpose_a ? gemm.m : gemm.k), b, blas_size(gemm.transpose_b ? gemm.k : gemm.n),
              gemm.accumulate ? 1.0 : 0.0, c, blas_size(gemm.n));
}

template <class Number>
void multiply_all(program::Gemm const& gemm, Number const* a, Number const* b, Number* c) {
  for (std::int64_t i = 0; i < gemm.batch; ++i)
    multiply_one(gemm, a + i * gemm.m * gemm.k, b + i * gemm.k * gemm.n, c + i * gemm.m * gemm.n);
}

/// A rank is a thread here, so BLAS must not make more of them.
void use_one_thread() {
  static auto const once = (openblas_set_num_threads(1), true);
  static_cast<void>(once);
}

}  // namespace

void multiply(program::Gemm const& gemm, Numbers a, Numbers b, Numbers c) {
  TWINSTEP_CHECK(a.type() == c.type() && b.type() == c.type(), "the operands of a GEMM have one type");
  if (gemm.m == 0 || gemm.n == 0) return;
  use_one_thread();
  if (c.type() == DataType::kFp64)
    multiply_all<double>(gemm, a.doubles(), b.doubles(), c.doubles());
  else
    multiply_all<float>(gemm, a.floats(), b.floats(), c.floats());
}

}  // namespace twinstep::cpu
