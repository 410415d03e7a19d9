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

/// Numbers from one row of each operand to the next.
struct Strides {
  std::int64_t a, b, c;
};

/// How many numbers the rows of the operands have.
Strides widths(program::Gemm const& gemm) {
  return {gemm.transpose_a ? gemm.m : gemm.k, gemm.transpose_b ? gemm.k : gemm.n, gemm.n};
}

void multiply_one(program::Gemm const& gemm, Strides const& rows, float const* a, float const* b, float* c) {
  cblas_sgemm(CblasRowMajor, gemm.transpose_a ? CblasTrans : CblasNoTrans, gemm.transpose_b ? CblasTrans : CblasNoTrans,
              blas_size(gemm.m), blas_size(gemm.n), blas_size(gemm.k), 1.0F, a, blas_size(rows.a), b, blas_size(rows.b),
              gemm.accumulate ? 1.0F : 0.0F, c, blas_size(rows.c));
}

void multiply_one(program::Gemm const& gemm, Strides const& rows, double const* a, double const* b, double* c) {
  cblas_dgemm(CblasRowMajor, gemm.transpose_a ? CblasTrans : CblasNoTrans, gemm.transpose_b ? CblasTrans : CblasNoTrans,
              blas_size(gemm.m), blas_size(gemm.n), blas_size(gemm.k), 1.0, a, blas_size(rows.a), b, blas_size(rows.b),
              gemm.accumulate ? 1.0 : 0.0, c, blas_size(rows.c));
}

template <class Number>
void multiply_all(program::Gemm const& gemm, Number const* a, Number const* b, Number* c) {
  auto const& [heads, a_beside, b_beside, c_beside] = gemm.side_by_side;
  auto const [a_width, b_width, c_width] = widths(gemm);
  auto const stride = [heads = heads](std::int64_t width, bool beside) { return beside ? heads * width : width; };
  auto const rows = Strides{stride(a_width, a_beside), stride(b_width, b_beside), stride(c_width, c_beside)};
  // Product i of an operand of `size` numbers each.
  auto const begin = [heads = heads](std::int64_t i, std::int64_t size, std::int64_t width, bool beside) {
    return beside ? i / heads * heads * size + i % heads * width : i * size;
  };
  for (std::int64_t i = 0; i < gemm.batch; ++i)
    multiply_one(gemm, rows, a + begin(i, gemm.m * gemm.k, a_width, a_beside),
                 b + begin(i, gemm.k * gemm.n, b_width, b_beside), c + begin(i, gemm.m * gemm.n, c_width, c_beside));
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

void add_bias(Numbers bias, Numbers c) {
  for (std::size_t i = 0; i < c.size(); ++i) c.set(i, c[i] + bias[i % bias.size()]);
}

}  // namespace twinstep::cpu
