#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/document.hpp"

namespace twinstep::io {

/// Makes values of documents that nobody wrote as text.
class Maker {
 public:
  /// @param source_name  what messages call the place of these values: "the cluster of scenario.json"
  explicit Maker(std::string source_name)
      : source_{std::make_shared<Source const>(Source{std::move(source_name), {}, false})} {}

  using Member = std::pair<std::string_view, Node>;

  [[nodiscard]] Node null() const;
  [[nodiscard]] Node text(std::string_view text) const;
  [[nodiscard]] Node fact(bool fact) const;
  [[nodiscard]] Node number(double number) const;
  [[nodiscard]] Node number(std::int64_t number) const;
  [[nodiscard]] Node array(std::vector<Node> const& elements) const;
  [[nodiscard]] Node object(std::vector<Member> const& members) const;

 private:
  template <class Content>
  [[nodiscard]] Node made(Content content) const;

  std::shared_ptr<Source const> source_;
};

}  // namespace twinstep::io
