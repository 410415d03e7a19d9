#include "strategies/model/cnn_layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace twinstep::strategies {
namespace {

constexpr std::int64_t kStemChannels = 64;
constexpr std::int64_t kBottleneckExpansion = 4;

std::int64_t expansion(Cnn const& model) {
  return model.bottleneck ? kBottleneckExpansion : 1;
}

/// Convolutions one behind the other, each on what the one before makes.
class Path {
 public:
  Path(std::int64_t channels, std::int64_t side) : channels_{channels}, side_{side} {}

  Path& convolve(std::int64_t out, std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1) {
    auto const number = std::to_string(layers_.size() + 1);
    layers_.push_back({"conv" + number, "bn" + number, channels_, out, kernel, stride, groups, side_});
    channels_ = out;
    side_ = layers_.back().side_out();
    return *this;
  }
  [[nodiscard]] std::vector<Convolution> const& layers() const { return layers_; }

 private:
  std::int64_t channels_;
  std::int64_t side_;
  std::vector<Convolution> layers_;
};

/// One block of a stage, which `channels` of `side` pixels enter.
ConvolutionBlocks block(Cnn const& model, CnnStage const& stage, std::int64_t channels, std::int64_t side,
                        std::int64_t stride) {
  auto const out = stage.width * expansion(model);
  auto made = ConvolutionBlocks{};
  if (model.bottleneck) {
    auto const inner = stage.width * model.width_per_group / kStemChannels * model.groups;
    made.path =
        Path{channels, side}.convolve(inner, 1).convolve(inner, 3, stride, model.groups).convolve(out, 1).layers();
  } else {
    made.path = Path{channels, side}.convolve(out, 3, stride).convolve(out, 3).layers();
  }
  if (stride != 1 || channels != out)
    made.projection = Convolution{"downsample.0", "downsample.1", channels, out, 1, stride, 1, side};
  return made;
}

struct Published {
  std::string_view name;
  std::array<std::int64_t, 4> blocks;
  bool bottleneck = true;
  std::int64_t groups = 1;
  std::int64_t width_per_group = 64;
};

constexpr std::array kPublished{
    Published{"resnet18", {2, 2, 2, 2}, false},
    Published{"resnet34", {3, 4, 6, 3}, false},
    Published{"resnet50", {3, 4, 6, 3}},
    Published{"resnet101", {3, 4, 23, 3}},
    Published{"resnext50_32x4d", {3, 4, 6, 3}, true, 32, 4},
    Published{"resnext101_32x8d", {3, 4, 23, 3}, true, 32, 8},
};

}  // namespace

std::int64_t pooled(std::int64_t side) {
  return (side - 1) / 2 + 1;
}

std::int64_t features(Cnn const& model) {
  return model.stages.back().width * expansion(model);
}

std::vector<ConvolutionBlocks> blocks_of(Cnn const& model) {
  auto out = std::vector<ConvolutionBlocks>{};
  out.push_back({"stem", -1, 1, Path{3, model.image_size}.convolve(kStemChannels, 7, 2).layers(), {}});
  auto channels = kStemChannels;
  auto side = pooled(out.back().path.back().side_out());
  for (std::size_t i = 0; i < model.stages.size(); ++i) {
    auto const& stage = model.stages[i];
    auto const name = "layer" + std::to_string(i + 1);
    auto first = block(model, stage, channels, side, stage.stride);
    channels = stage.width * expansion(model);
    side = (side - 1) / stage.stride + 1;
    auto rest = block(model, stage, channels, side, 1);
    auto const is_alike = first.path == rest.path && !first.projection;
    first.name = rest.name = name;
    first.first_index = 0;
    first.count = is_alike ? stage.blocks : 1;
    out.push_back(std::move(first));
    if (is_alike || stage.blocks == 1) continue;
    rest.first_index = 1;
    rest.count = stage.blocks - 1;
    out.push_back(std::move(rest));
  }
  return out;
}

std::optional<Cnn> find_cnn(std::string_view name) {
  auto const found = std::ranges::find(kPublished, name, &Published::name);
  if (found == kPublished.end()) return std::nullopt;
  auto model = Cnn{std::string{name}, {}, found->bottleneck, found->groups, found->width_per_group};
  auto width = std::int64_t{64};
  for (auto const blocks : found->blocks) {
    model.stages.push_back({blocks, width, model.stages.empty() ? 1 : 2});
    width *= 2;
  }
  return model;
}

std::vector<std::string_view> cnn_names() {
  auto out = std::vector<std::string_view>{};
  for (auto const& network : kPublished) out.push_back(network.name);
  return out;
}

}  // namespace twinstep::strategies
