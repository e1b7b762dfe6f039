// The part of TOML that network files need: tables, arrays of tables, strings (four kinds), integers, floats,
// booleans, arrays, inline tables, comments. Dotted keys and dates are refused by name.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace volley {

struct TomlValue;
using TomlEntry = std::pair<std::string, TomlValue>;

struct TomlValue {
  enum class Kind { String, Integer, Float, Boolean, Array, Table };
  Kind kind = Kind::Table;
  int line = 0;
  std::string text;
  int64_t integer = 0;
  double number = 0.0;  // also set for integers
  bool boolean = false;
  std::vector<TomlValue> items;
  std::vector<TomlEntry> entries;  // in file order

  bool is_number() const { return kind == Kind::Integer || kind == Kind::Float; }
  const char *kind_name() const;
};

struct TomlSection {
  std::string name;
  bool array = false;  // [[name]]
  int line = 0;
  TomlValue table;
};

// All sections in file order. Throws Error (VOLLEY_INVALID) as "name:line: what".
std::vector<TomlSection> parse_toml(const std::string &text, const std::string &name);

}  // namespace volley
