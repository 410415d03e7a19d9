#include "validate/records/gzip.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <zlib.h>

#include <fmt/format.h>

#include "sim/base/check.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::records {
namespace {

constexpr std::size_t kLargest = std::size_t{2} << 30;

[[noreturn]] void fail(std::string const& name, std::string_view found) {
  throw InputError{fmt::format("{}: found {}, expected a whole gzip file; compress it again, or give it as it is",
                               one_line(name), found)};
}

/// zlib's stream, closed in the end.
class Inflation {
 public:
  explicit Inflation(std::string& text) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    auto const status = inflateInit2(&stream_, kGzipOnly);
    if (status == Z_MEM_ERROR) throw std::bad_alloc{};
    TWINSTEP_CHECK(status == Z_OK, "zlib does not start");
    stream_.next_in = reinterpret_cast<Bytef*>(text.data());
  }
  Inflation(Inflation const&) = delete;
  Inflation& operator=(Inflation const&) = delete;
  ~Inflation() { inflateEnd(&stream_); }

  /// All that `remaining` bytes hold: gzip files may stand behind each other.
  std::string run(std::string const& name, std::size_t remaining) {
    auto out = std::string{};
    auto piece = std::array<char, 1 << 16>{};
    auto status = Z_OK;
    while (status != Z_STREAM_END || remaining > 0) {
      if (status == Z_STREAM_END) inflateReset(&stream_);
      auto const given = static_cast<uInt>(std::min<std::size_t>(remaining, std::numeric_limits<uInt>::max()));
      stream_.avail_in = given;
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream_.avail_out = static_cast<uInt>(piece.size());
      status = inflate(&stream_, Z_NO_FLUSH);
      auto const made = piece.size() - stream_.avail_out;
      auto const used = given - stream_.avail_in;
      remaining -= used;
      out.append(piece.data(), made);
      if (status == Z_MEM_ERROR) throw std::bad_alloc{};
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) fail(name, "damaged gzip data");
      if (used == 0 && made == 0) fail(name, "gzip data that are cut off");
      if (out.size() > kLargest) fail(name, "more than 2 GiB in gzip data");
    }
    return out;
  }

 private:
  z_stream stream_{};
};

}  // namespace

std::string unzipped(std::string const& name, std::string text) {
  if (!text.starts_with("\x1f\x8b")) return text;
  return Inflation{text}.run(name, text.size());
}

io::Source read_file(std::string const& path) {
  return {path, unzipped(path, io::read_text(path))};
}

std::vector<io::Source> read_files(std::vector<std::string> const& paths) {
  auto files = std::vector<io::Source>{};
  for (auto const& path : paths) files.push_back(read_file(path));
  return files;
}

}  // namespace twinstep::records
