#include "explore/sweep/database.hpp"

#include <filesystem>
#include <sqlite3.h>

#include <fmt/core.h>

#include "sim/base/input_error.hpp"

namespace twinstep::explore::sweep {
namespace {

constexpr auto kPatienceMs = 5000;  ///< with another process that reads or just ends

/// What to do about a failure, by its extended code.
char const* way_out(int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return "restore a copy, or name another file";
    case SQLITE_FULL:
    case SQLITE_IOERR: return "what was committed is kept: make room, and resume the sweep";
    case SQLITE_READONLY:
      if (code == SQLITE_READONLY_ROLLBACK || code == SQLITE_READONLY_RECOVERY)
        return "its writer ended in the middle of a write: resume that sweep first";
      return "name a file that you may write to";
    case SQLITE_CONSTRAINT: return "another process writes into it: wait for its end, or name another file";
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "wait for the end of the process that uses it";
    default: return "name a file in a folder that you may write to";
  }
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const {
  sqlite3_close(handle);
}

Database::Database(std::string const& path, Access access) : path_{path} {
  auto const flags = access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  auto* handle = static_cast<sqlite3*>(nullptr);
  // Absolute, because ":memory:" and "" would mean something else than files.
  auto const code = sqlite3_open_v2(std::filesystem::absolute(path).c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kPatienceMs);
  // A file of somebody else runs nothing of its own.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
}

void Database::execute(std::string const& sql) {
  auto const code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::optional<Cell> Database::first(std::string const& sql) {
  auto statement = Statement{*this, sql};
  if (!statement.step()) return std::nullopt;
  return statement.cell(0);
}

void Database::fail(int code) const {
  throw InputError{fmt::format("{}: {}; {}", one_line(path_), sqlite3_errmsg(handle()), way_out(code))};
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(Database const& database, std::string const& sql) : database_{&database} {
  auto* statement = static_cast<sqlite3_stmt*>(nullptr);
  auto const size = static_cast<int>(sql.size());
  auto const code = sqlite3_prepare_v2(database.handle(), sql.c_str(), size, &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) database.fail(code);
}

void Statement::bind(int index, Cell const& cell) {
  struct Bind {
    sqlite3_stmt* statement;
    int index;
    int operator()(std::monostate) const { return sqlite3_bind_null(statement, index); }
    int operator()(std::int64_t whole) const { return sqlite3_bind_int64(statement, index, whole); }
    int operator()(double real) const { return sqlite3_bind_double(statement, index, real); }
    int operator()(std::string const& text) const {
      // A null destructor is SQLITE_STATIC: the text outlives the step that reads it.
      return sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), nullptr);
    }
  };
  if (auto const code = std::visit(Bind{statement_.get(), index}, cell); code != SQLITE_OK) database_->fail(code);
}

bool Statement::step() {
  auto const code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_->fail(code);
  sqlite3_reset(statement_.get());
  return false;
}

Cell Statement::cell(int column) const {
  auto* const statement = statement_.get();
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
    case SQLITE_NULL: return {};
    default: {
      auto const* const text = reinterpret_cast<char const*>(sqlite3_column_text(statement, column));
      return text == nullptr
                 ? Cell{}
                 : Cell{std::string{text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))}};
    }
  }
}

}  // namespace twinstep::explore::sweep
