#include "strategies/model/unit_writer.hpp"

namespace twinstep::strategies {
namespace {

using program::Function;

/// Bytes of an RMS norm for each number in 16 bits, as transformers' LlamaRMSNorm computes it operator by operator.
/// Forward: cast to fp32 6, square 8, mean 4, times the inverse deviation 8, cast back 6, times the weight 4.
/// Backward: of the weight 8 and of what it multiplied 4; cast 6; of the product 8 and 16; of the square 16; their sum
/// 12; cast 6.
constexpr std::int32_t kEagerForwardBytes = 36;
constexpr std::int32_t kEagerBackwardBytes = 76;
constexpr std::uint32_t kEagerForwardLaunches = 8;
constexpr std::uint32_t kEagerBackwardLaunches = 14;

constexpr double kEpsilon = 1e-5;

}  // namespace

// torch.nn.LayerNorm is one kernel in any case; above 16 bits nothing is cast.
bool UnitWriter::is_eager(Norm kind) const {
  return shape_.norms == NormKernels::kEager && kind == Norm::kRms && size_of(shape_.compute_type) == Bytes{2};
}

SavedNorm UnitWriter::norm(std::string const& name, std::string const& tensor, Norm kind, std::int32_t in,
                           Slots const& out) {
  // Saved for each row: the inverse deviation, and the mean of a layer norm.
  auto const weight = parameter(tensor + ".weight");
  auto const rows = elements(in) / elements(weight);
  auto const numbers = kind == Norm::kLayer ? 2 : 1;
  auto saved = SavedNorm{in, slot({name + ".statistics", SlotKind::kSaved, numbers * rows, statistics_type()})};
  saved.kind = kind;
  auto accesses = Accesses{reads(in), reads(weight)};
  if (has_parameter(tensor + ".bias")) accesses.push_back(reads(parameter(tensor + ".bias")));
  for (auto const part : out) accesses.push_back(writes(part));
  accesses.push_back(writes(saved.statistics));
  auto work = memory_bound(kind == Norm::kLayer ? Function::kLayerNorm : Function::kRmsNorm, elements(in), 2);
  work.scalar = kEpsilon;
  if (is_eager(kind)) {
    work.function = Function::kCostOnly;
    saved.input = slot({name + ".fp32", SlotKind::kSaved, elements(in), DataType::kFp32});
    saved.normalized = slot(name + ".normalized", SlotKind::kSaved, elements(in));
    accesses.push_back(writes(saved.input));
    accesses.push_back(writes(saved.normalized));
    work.bytes_per_element = kEagerForwardBytes;
  }
  forward(name + ".forward", work, std::move(accesses), is_eager(kind) ? kEagerForwardLaunches : 1);
  return saved;
}

void UnitWriter::norm_backward(std::string const& name, std::string const& tensor, SavedNorm const& saved,
                               Slots const& out_gradient, std::int32_t in_gradient) {
  auto accesses = Accesses{reads(saved.input), reads(saved.statistics), reads(parameter(tensor + ".weight"))};
  for (auto const part : out_gradient) accesses.push_back(reads(part));
  accesses.push_back(writes(in_gradient));
  accesses.push_back(writes(gradient(tensor + ".weight")));
  if (has_parameter(tensor + ".bias")) accesses.push_back(writes(gradient(tensor + ".bias")));
  // One kernel for the data (reads gradient and input, writes gradient) and one for the weights (reads both again).
  auto const function = saved.kind == Norm::kLayer ? Function::kLayerNormBackward : Function::kRmsNormBackward;
  auto work = memory_bound(function, elements(saved.input), 5);
  auto const was_eager = saved.normalized >= 0;
  if (was_eager) {
    work.function = Function::kCostOnly;
    accesses.push_back(reads(saved.normalized));
    work.bytes_per_element = kEagerBackwardBytes;
  }
  backward(name + ".backward", work, std::move(accesses), was_eager ? kEagerBackwardLaunches : 2);
}

}  // namespace twinstep::strategies
