#pragma once

#include <memory>
#include <optional>
#include <string>

#include "explore/sweep/row.hpp"

struct sqlite3;
struct sqlite3_stmt;

/// SQLite with our errors: the only place that knows it. For layout.cpp, results.cpp and results_writer.cpp.
namespace twinstep::explore::sweep {

/// One open database. Every failure is an InputError that names the file, what happened, and the way out.
class Database {
 public:
  enum class Access { kRead, kWrite };  ///< writing makes the file where there is none

  Database(std::string const& path, Access access);

  /// Runs statements without results.
  void execute(std::string const& sql);
  /// The first column of the first row; nothing where there is no row.
  [[nodiscard]] std::optional<Cell> first(std::string const& sql);

  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }
  /// Throws what the last call's `code` means.
  [[noreturn]] void fail(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A prepared statement of a database, which must outlive it.
class Statement {
 public:
  Statement(Database const& database, std::string const& sql);

  /// Sets the parameter `index`, from 1.
  void bind(int index, Cell const& cell);
  /// Runs to the next row; false at the end, after which the statement can be bound and run again.
  bool step();
  /// A column of the row, from 0.
  [[nodiscard]] Cell cell(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Database const* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace twinstep::explore::sweep
