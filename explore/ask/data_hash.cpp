#include "explore/ask/data_hash.hpp"

#include <array>
#include <memory>
#include <openssl/evp.h>

#include <fmt/format.h>

#include "sim/base/check.hpp"

namespace twinstep::explore {

std::string data_hash(std::string_view bytes) {
  auto const context = std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)>{EVP_MD_CTX_new(), EVP_MD_CTX_free};
  auto is_good = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  is_good = is_good && EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1;
  auto digest = std::array<unsigned char, EVP_MAX_MD_SIZE>{};
  auto size = 0U;
  is_good = is_good && EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1;
  TWINSTEP_CHECK(is_good, "OpenSSL has SHA-256");
  auto text = std::string{};
  for (auto i = 0U; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace twinstep::explore
