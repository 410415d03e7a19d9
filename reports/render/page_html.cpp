#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reports/render/chart_text.hpp"
#include "reports/render/page_files.hpp"
#include "reports/render/page_parts.hpp"
#include "reports/web/web_files.hpp"
#include "sim/base/input_error.hpp"

namespace twinstep::reports {
namespace {

/// Lines as the content of an element.
std::string escaped_lines(std::string_view text) {
  auto out = std::string{};
  for (auto const character : text) switch (character) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += character;
    }
  return out;
}

/// `text` as the content of an element or of a quoted attribute. HTML has no control characters.
std::string escaped_html(std::string_view text) {
  return escaped_lines(one_line(text));
}

/// The same for what people read: `code` is marked as such.
std::string escaped_prose(std::string_view text) {
  auto out = std::string{};
  for (std::size_t begin = 0; begin < text.size();) {
    auto const tick = std::min(text.find('`', begin), text.size());
    out += escaped_html(text.substr(begin, tick - begin));
    if (tick == text.size()) break;
    begin = std::max(end_of_code(text, tick), tick + 1);
    auto const is_code = begin > tick + 1;
    out += is_code ? fmt::format("<code>{}</code>", escaped_html(text.substr(tick + 1, begin - tick - 2))) : "`";
  }
  return out;
}

/// JSON in which no text can end the element that holds it.
std::string in_script(std::string_view json) {
  auto out = std::string{};
  out.reserve(json.size());
  for (auto const character : json)
    if (character == '<')
      out += "\\u003c";
    else
      out += character;
  return out;
}

class BodyWriter {
 public:
  std::string write(Page const& page);

 private:
  template <class... Arguments>
  void put(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }
  /// `<tag>content</tag>` on a line of its own; nothing for an empty content.
  void put_element(std::string_view tag, std::string_view content, std::string_view css_class = "");
  void put_title(std::string_view tag, std::string_view title) { put_element(tag, escaped_html(title)); }
  void put_prose(std::string_view tag, std::string_view text, std::string_view css_class = "") {
    put_element(tag, escaped_prose(text), css_class);
  }
  void put_pairs(std::string_view css_class, std::vector<std::pair<std::string, std::string>> const& pairs);
  void put_list(std::string_view css_class, std::vector<std::string> const& items);
  void put_contents(Page const& page);
  void put_section(Section const& section);
  void put_tables(std::vector<PageTable> const& tables);
  void put_table(PageTable const& table);
  void put_cells(std::string_view tag, std::vector<std::string> const& cells, std::vector<ColumnKind> const& kinds);
  void put_charts(std::vector<Chart> const& charts);
  void put_code(std::vector<std::string> const& lines);
  void put_chart(Chart const& chart);
  void put_origin(Page const& page);

  std::string out_;
  std::size_t sections_ = 0;
};

std::string BodyWriter::write(Page const& page) {
  put_title("h1", page.title);
  put_prose("p", page.text, "lead");
  put_pairs("headlines", page.headlines);
  put_list("warnings", page.warnings);
  put_contents(page);
  for (auto const& section : page.sections) put_section(section);
  put_origin(page);
  return std::move(out_);
}

void BodyWriter::put_element(std::string_view tag, std::string_view content, std::string_view css_class) {
  if (content.empty()) return;
  put("<{}{}>{}</{}>\n", tag, css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class), content, tag);
}

void BodyWriter::put_pairs(std::string_view css_class, std::vector<std::pair<std::string, std::string>> const& pairs) {
  if (pairs.empty()) return;
  put("<dl class=\"{}\">\n", css_class);
  for (auto const& [name, value] : pairs)
    put("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped_html(name), escaped_html(value));
  put("</dl>\n");
}

void BodyWriter::put_list(std::string_view css_class, std::vector<std::string> const& items) {
  if (items.empty()) return;
  put("<ul class=\"{}\">\n", css_class);
  for (auto const& item : items) put_prose("li", item);
  put("</ul>\n");
}

/// Links to the sections, where there are enough to look for one.
void BodyWriter::put_contents(Page const& page) {
  constexpr std::size_t kFew = 3;
  if (page.sections.size() < kFew) return;
  put("<nav aria-label=\"Contents\">\n");
  for (std::size_t i = 0; i < page.sections.size(); ++i)
    put("<a href=\"#section-{}\">{}</a>\n", i + 1, escaped_html(page.sections[i].title));
  put("<a href=\"#origin\">{}</a>\n</nav>\n", kOriginTitle);
}

void BodyWriter::put_section(Section const& section) {
  put("<section id=\"section-{}\">\n", ++sections_);
  put_title("h2", section.title);
  put_prose("p", section.text);
  put_charts(section.charts);
  put_tables(section.tables);
  put_list("notes", section.notes);
  put_code(section.code);
  put("</section>\n");
}

/// Charts of one fold in a row are in an element that opens.
void BodyWriter::put_charts(std::vector<Chart> const& charts) {
  auto fold = std::string_view{};
  auto const change_to = [&](std::string_view next) {
    if (next == fold) return;
    if (!fold.empty()) put("</details>\n");
    if (!next.empty()) put("<details class=\"fold\"><summary>{}</summary>\n", escaped_html(next));
    fold = next;
  };
  for (auto const& chart : charts) {
    change_to(chart.fold);
    put_chart(chart);
  }
  change_to({});
}

void BodyWriter::put_tables(std::vector<PageTable> const& tables) {
  for (auto const& table : tables) {
    if (!table.fold.empty()) put("<details class=\"fold\"><summary>{}</summary>\n", escaped_html(table.fold));
    put_table(table);
    if (!table.fold.empty()) put("</details>\n");
  }
}

void BodyWriter::put_code(std::vector<std::string> const& lines) {
  if (!lines.empty()) put("<pre class=\"commands\">{}</pre>\n", escaped_lines(copied_lines(lines)));
}

void BodyWriter::put_table(PageTable const& table) {
  auto const kinds = column_kinds(table);
  put("<div class=\"wide\" tabindex=\"0\"><table>\n");
  put_title("caption", table.title);
  put("<thead>");
  put_cells("th", table.headers, kinds);
  put("</thead>\n<tbody>\n");
  for (auto const& row : table.rows) {
    put_cells("td", row, kinds);
    put("\n");
  }
  put("</tbody></table></div>\n");
}

void BodyWriter::put_cells(std::string_view tag, std::vector<std::string> const& cells,
                           std::vector<ColumnKind> const& kinds) {
  put("<tr>");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    auto const kind = i < kinds.size() ? kinds[i] : ColumnKind::kText;
    auto const* const css_class = kind == ColumnKind::kNumber  ? " class=\"number\""
                                  : kind == ColumnKind::kProse ? " class=\"prose\""
                                                               : "";
    put("<{}{}>{}</{}>", tag, css_class, escaped_prose(cells[i]), tag);
  }
  put("</tr>");
}

void BodyWriter::put_chart(Chart const& chart) {
  put("<figure id=\"{}\">\n<figcaption>\n", escaped_html(chart.id));
  put_title("h3", chart.title);
  put_prose("p", chart.text);
  put("</figcaption>\n<div class=\"plot\" role=\"img\" aria-label=\"{}\"><pre>{}</pre></div>\n",
      escaped_html(chart.text.empty() ? chart.title : chart.title + ": " + chart.text),
      escaped_lines(chart_text(chart, {})));
  put("<details class=\"numbers\"><summary>Numbers</summary></details>\n</figure>\n");
}

/// Where the numbers come from, and how to make them again.
void BodyWriter::put_origin(Page const& page) {
  if (page.facts.empty() && page.commands.empty()) return;
  put("<section id=\"origin\">\n<h2>{}</h2>\n", kOriginTitle);
  put_pairs("facts", page.facts);
  if (!page.commands.empty()) put_title("h3", kCommandsTitle);
  put_code(page.commands);
  put("</section>\n");
}

/// `text` with each {{name}} replaced; what replaces it is not looked at again.
std::string filled(std::string_view text, std::vector<std::pair<std::string_view, std::string_view>> const& values) {
  auto out = std::string{};
  for (auto at = text.find("{{"); at != std::string_view::npos; at = text.find("{{")) {
    auto const end = text.find("}}", at);
    auto const name = text.substr(at + 2, end - at - 2);
    auto const value = std::ranges::find(values, name, &std::pair<std::string_view, std::string_view>::first);
    out.append(text.substr(0, at)).append(value->second);
    text.remove_prefix(end + 2);
  }
  return out.append(text);
}

}  // namespace

std::string page_html(Page const& page) {
  auto const title = escaped_html(page.title);
  auto const body = BodyWriter{}.write(page);
  auto const numbers = in_script(page_json(page));
  return filled(web::kTemplate, {{"title", title},
                                 {"style", web::kStyle},
                                 {"body", body},
                                 {"page", numbers},
                                 {"notices", web::kNotices},
                                 {"echarts", web::kEcharts},
                                 {"script", web::kScript}});
}

}  // namespace twinstep::reports
