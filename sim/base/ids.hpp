#pragma once

#include <compare>
#include <cstdint>

namespace twinstep {

/// The index of one thing of one kind; ids of different kinds do not mix. A default-made id names nothing.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : index_{static_cast<std::uint32_t>(index)} {}

  [[nodiscard]] constexpr std::size_t index() const { return index_; }
  [[nodiscard]] constexpr bool exists() const { return index_ != kNone; }
  constexpr auto operator<=>(Id const&) const = default;

 private:
  static constexpr std::uint32_t kNone = 0xffff'ffff;
  std::uint32_t index_ = kNone;
};

using NameId = Id<struct NameTag>;                  ///< a text in a name table
using RankId = Id<struct RankTag>;                  ///< a rank of the whole job
using RoleId = Id<struct RoleTag>;                  ///< a role of a step program
using OpId = Id<struct OpTag>;                      ///< an operation, counted within its role
using StreamId = Id<struct StreamTag>;              ///< a stream, counted within its role
using BufferId = Id<struct BufferTag>;              ///< a buffer, counted within its role
using CommunicatorId = Id<struct CommunicatorTag>;  ///< a communicator of a step program
using LinkId = Id<struct LinkTag>;                  ///< a link of a topology
using ResourceId = Id<struct ResourceTag>;          ///< something with a rate that activities share

}  // namespace twinstep
