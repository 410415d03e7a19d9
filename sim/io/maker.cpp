#include "sim/io/maker.hpp"

#include "sim/io/document_value.hpp"

namespace twinstep::io {

template <class Content>
Node Maker::made(Content content) const {
  auto value = std::make_shared<Node::Value>();
  value->content = std::move(content);
  value->source = source_;
  return Node{std::move(value)};
}

Node Maker::null() const {
  return made(std::monostate{});
}

Node Maker::text(std::string_view text) const {
  return made(std::string{text});
}

Node Maker::fact(bool fact) const {
  return made(fact);
}

Node Maker::number(double number) const {
  return made(Node::Value::Number{number, 0, false});
}

Node Maker::number(std::int64_t number) const {
  return made(Node::Value::Number{static_cast<double>(number), number, true});
}

Node Maker::array(std::vector<Node> const& elements) const {
  auto array = Node::Value::Array{};
  for (auto const& each : elements) array.push_back(each.shared_value());
  return made(std::move(array));
}

Node Maker::object(std::vector<Member> const& members) const {
  auto object = Node::Value::Object{};
  for (auto const& [key, value] : members) object.push_back({std::string{key}, 0, value.shared_value()});
  return made(std::move(object));
}

}  // namespace twinstep::io
