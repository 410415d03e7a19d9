#include "explore/sweep/row_codec.hpp"

#include <cstring>

#include "sim/base/check.hpp"

namespace twinstep::explore::sweep {
namespace {

void put(std::int64_t number, std::string& message) {
  message.append(reinterpret_cast<char const*>(&number), sizeof number);
}

void put(double number, std::string& message) {
  message.append(reinterpret_cast<char const*>(&number), sizeof number);
}

void put(std::string const& text, std::string& message) {
  put(static_cast<std::int64_t>(text.size()), message);
  message += text;
}

void put(std::monostate, std::string&) {}

void put(std::vector<Cell> const& cells, std::string& message) {
  put(static_cast<std::int64_t>(cells.size()), message);
  for (auto const& cell : cells) {
    put(static_cast<std::int64_t>(cell.index()), message);
    std::visit([&message](auto const& value) { put(value, message); }, cell);
  }
}

class Decoder {
 public:
  explicit Decoder(std::string_view message) : rest_{message} {}

  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

  Answer answer() {
    if (number<std::int64_t>() == 0) return std::nullopt;
    auto row = Row{};
    row.point = number<std::int64_t>();
    row.settings = cells();
    row.status = static_cast<Status>(number<std::int64_t>());
    row.reason = text();
    row.figures = cells();
    return row;
  }

 private:
  std::string_view take(std::size_t size) {
    TWINSTEP_CHECK(size <= rest_.size(), "a message between processes is whole");
    auto const taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  template <class Number>
  Number number() {
    auto value = Number{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  std::string text() { return std::string{take(static_cast<std::size_t>(number<std::int64_t>()))}; }

  Cell cell() {
    switch (number<std::int64_t>()) {
      case 1: return number<std::int64_t>();
      case 2: return number<double>();
      case 3: return text();
      default: return {};
    }
  }

  std::vector<Cell> cells() {
    auto list = std::vector<Cell>(static_cast<std::size_t>(number<std::int64_t>()));
    for (auto& each : list) each = cell();
    return list;
  }

  std::string_view rest_;
};

}  // namespace

void encode(Answer const& answer, std::string& message) {
  put(std::int64_t{answer.has_value()}, message);
  if (!answer) return;
  put(answer->point, message);
  put(answer->settings, message);
  put(static_cast<std::int64_t>(answer->status), message);
  put(answer->reason, message);
  put(answer->figures, message);
}

std::vector<Answer> decode(std::string_view message) {
  auto decoder = Decoder{message};
  auto answers = std::vector<Answer>{};
  while (!decoder.is_at_end()) answers.push_back(decoder.answer());
  return answers;
}

}  // namespace twinstep::explore::sweep
