#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/io/document_value.hpp"

/// What the readers of YAML and TOML share.
namespace twinstep::io {

/// Values of one text, and complaints about it.
class ForeignTree {
 public:
  using Value = Node::Value;
  using ValuePtr = std::shared_ptr<Value const>;
  static constexpr std::size_t kDeepest = 128;  ///< as deep as a JSON document nests

  /// `format`: "YAML". Throws InputError for texts that no configuration is.
  ForeignTree(Source source, std::string_view format);

  [[nodiscard]] std::string const& text() const { return source_->text; }

  template <class Content>
  [[nodiscard]] ValuePtr make(std::size_t offset, Content content) {
    count(offset);
    auto value = std::make_shared<Value>();
    value->content = std::move(content);
    value->source = source_;
    value->offset = std::min(offset, source_->text.size());
    return value;
  }
  [[nodiscard]] ValuePtr make_number(std::size_t offset, double number);
  [[nodiscard]] ValuePtr make_number(std::size_t offset, std::int64_t number);

  void check_depth(std::size_t depth, std::size_t offset) const;

  /// Throws InputError: "file:line:column: <found>; <way out>".
  [[noreturn]] void refuse(std::size_t offset, std::string_view found, std::string_view way_out) const;
  /// The same for a parser's own complaint.
  [[noreturn]] void refuse_syntax(std::size_t offset, std::string_view complaint) const;

 private:
  void count(std::size_t offset);

  std::shared_ptr<Source const> source_;
  std::string_view format_;
  std::size_t values_ = 0;
};

}  // namespace twinstep::io
