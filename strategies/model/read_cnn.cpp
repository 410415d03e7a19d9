#include <fmt/format.h>
#include <fmt/ranges.h>

#include "strategies/model/cnn_layout.hpp"
#include "strategies/model/read_model.hpp"

namespace twinstep::strategies {
namespace {

constexpr std::int64_t kMaxPixels = 65'536;    // of a side
constexpr std::int64_t kMaxChannels = 65'536;  // of a convolution

std::int64_t read_at_most(io::Node const& object, std::string_view key, std::int64_t otherwise, std::int64_t most) {
  auto const size = read_size(object, key, otherwise);
  if (size > most) object.at(key).fail(fmt::format("a size of {}", size), fmt::format("at most {}", most));
  return size;
}

CnnStage read_stage(io::Node const& node, bool is_first) {
  node.allow_only({"blocks", "width", "stride"});
  return {read_layers(node, "blocks"), read_at_most(node, "width", 64, kMaxChannels),
          read_at_most(node, "stride", is_first ? 1 : 2, kMaxPixels)};
}

Cnn read_stages(io::Node const& spec) {
  auto model = Cnn{.name = "cnn"};
  if (auto const name = spec.find("name")) model.name = name->string();
  model.bottleneck = read_flag(spec, "bottleneck", false);
  for (auto const& stage : spec.at("stages").elements())
    model.stages.push_back(read_stage(stage, model.stages.empty()));
  if (model.stages.empty()) spec.at("stages").fail("a network without stages", "give one stage or more");
  model.groups = read_at_most(spec, "groups", 1, kMaxChannels);
  model.width_per_group = read_at_most(spec, "width_per_group", 64, kMaxChannels);
  if (!model.bottleneck && (model.groups != 1 || model.width_per_group != 64))
    spec.find("groups").value_or(spec).fail("groups in blocks without bottlenecks", R"(give "bottleneck": true)");
  return model;
}

Cnn read_published(io::Node const& spec) {
  spec.allow_only({"family", "name", "classes", "image_size"});
  auto const name = spec.at("name");
  auto model = find_cnn(name.string());
  if (!model)
    name.fail(fmt::format("no network is called {}", quoted(name.string())),
              fmt::format("use one of {}, or give its stages", fmt::join(cnn_names(), ", ")));
  return *model;
}

/// Each block's inner convolutions have at least one channel in each group, and no more than can be counted.
void check_widths(io::Node const& spec, Cnn const& model) {
  for (auto const& blocks : blocks_of(model))
    for (auto const& convolution : blocks.path)
      if (convolution.out < convolution.groups || convolution.out > 4 * kMaxChannels)
        spec.find("width_per_group")
            .value_or(spec)
            .fail(fmt::format("a convolution of {} channels in {} groups", convolution.out, convolution.groups),
                  fmt::format("choose widths so that each group has a channel and all have at most {}",
                              4 * kMaxChannels));
}

}  // namespace

Cnn read_cnn(io::Node const& spec) {
  spec.allow_only({"family", "name", "stages", "bottleneck", "groups", "width_per_group", "classes", "image_size"});
  if (!spec.has("stages") && !spec.has("name"))
    spec.fail("a network without stages",
              fmt::format(R"(give "stages", or a "name": {})", fmt::join(cnn_names(), ", ")));
  auto model = spec.has("stages") ? read_stages(spec) : read_published(spec);
  model.classes = read_size(spec, "classes", model.classes);
  model.image_size = read_at_most(spec, "image_size", model.image_size, kMaxPixels);
  check_widths(spec, model);
  return model;
}

}  // namespace twinstep::strategies
