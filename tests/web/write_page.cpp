#include <fstream>
#include <iostream>
#include <string_view>

#include "reports/render/page_files.hpp"
#include "reports/render/page_text.hpp"
#include "tests/web/every_chart.hpp"

namespace {

using namespace twinstep::reports;

std::string rendered(Page const& page, std::string_view name) {
  if (name.ends_with(".json")) return page_json(page);
  if (name.ends_with(".html")) return page_html(page);
  if (name.ends_with(".md")) return page_markdown(page);
  if (name.ends_with(".csv")) return page_csv(page);
  return page_text(page, {});
}

}  // namespace

/// write_page FILE…: the page with every kind of chart, as the endings of the names say: .html, .json, .md, .csv, .txt.
int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    auto file = std::ofstream{arguments[i]};
    file << rendered(every_chart(), arguments[i]);
    if (!file.flush()) return std::cerr << arguments[i] << " cannot be written\n", 3;
  }
  return 0;
}
