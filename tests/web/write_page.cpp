#include <fstream>
#include <iostream>

#include "reports/render/page_html.hpp"
#include "tests/web/every_chart.hpp"

/// write_page FILE: the page with every kind of chart, for a browser to open.
int main(int count, char** arguments) {
  if (count != 2) return std::cerr << "usage: write_page FILE\n", 2;
  auto file = std::ofstream{arguments[1]};
  file << twinstep::reports::page_html(twinstep::reports::every_chart());
  return file.flush() ? 0 : 3;
}
