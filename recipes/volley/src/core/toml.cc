#include "toml.h"

#include <cerrno>
#include <cstdlib>

#include "error.h"

namespace volley {

const char *TomlValue::kind_name() const {
  switch (kind) {
    case Kind::String: return "a string";
    case Kind::Integer: return "an integer";
    case Kind::Float: return "a number";
    case Kind::Boolean: return "a boolean";
    case Kind::Array: return "an array";
    case Kind::Table: return "a table";
  }
  return "";
}

namespace {

bool bare_key_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

class Reader {
 public:
  Reader(const std::string &text, const std::string &name) : text_(text), name_(name) {}

  std::vector<TomlSection> document() {
    std::vector<TomlSection> sections;
    for (skip_lines(); !at_end(); skip_lines()) {
      if (peek() == '[') {
        sections.push_back(header());
        for (size_t i = 0; i + 1 < sections.size(); ++i) {
          const TomlSection &old = sections[i], &now = sections.back();
          if (old.name == now.name && !(old.array && now.array))
            fail("table `" + now.name + "` is already defined in line " + std::to_string(old.line));
        }
      } else {
        if (sections.empty()) fail("a key before the first [table]");
        entry(sections.back().table);
      }
      end_of_line();
    }
    return sections;
  }

 private:
  const std::string &text_;
  const std::string &name_;
  size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;

  [[noreturn]] void fail(const std::string &what) const {
    throw invalid(name_ + ":" + std::to_string(line_) + ": " + what);
  }
  bool at_end() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool starts(const char *token) const { return text_.compare(at_, std::char_traits<char>::length(token), token) == 0; }
  char next() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') next();
  }
  void skip_comment() {
    if (peek() == '#')
      while (!at_end() && peek() != '\n') next();
  }
  void skip_lines() {
    for (;;) {
      skip_blanks();
      skip_comment();
      if (peek() == '\r' && peek(1) == '\n') next();
      if (peek() != '\n' || at_end()) return;
      next();
    }
  }
  void end_of_line() {
    skip_blanks();
    skip_comment();
    if (peek() == '\r' && peek(1) == '\n') next();
    if (!at_end() && peek() != '\n') fail(std::string("unexpected `") + peek() + "` after the value");
  }

  std::string key() {
    skip_blanks();
    std::string word;
    if (peek() == '"' || peek() == '\'') {
      word = string_value().text;
    } else {
      while (bare_key_char(peek())) word += next();
    }
    if (word.empty()) fail("expected a key");
    skip_blanks();
    if (peek() == '.') fail("dotted keys are not supported: write a table");
    return word;
  }

  TomlSection header() {
    TomlSection section;
    section.line = line_;
    next();
    section.array = peek() == '[';
    if (section.array) next();
    section.name = key();
    section.table.line = section.line;
    if (peek() != ']') fail("expected `]` after the table name");
    next();
    if (section.array) {
      if (peek() != ']') fail("expected `]]` after the table name");
      next();
    }
    return section;
  }

  void entry(TomlValue &table) {
    const int line = line_;
    const std::string word = key();
    for (const TomlEntry &old : table.entries)
      if (old.first == word)
        fail("key `" + word + "` is already set in line " + std::to_string(old.second.line));
    if (peek() != '=') fail("expected `=` after `" + word + "`");
    next();
    skip_blanks();
    TomlValue v = value();
    v.line = line;
    table.entries.emplace_back(word, std::move(v));
  }

  TomlValue value() {
    if (++depth_ > 32) fail("values are nested too deeply");
    TomlValue v;
    const char c = peek();
    if (c == '"' || c == '\'') {
      v = string_value();
    } else if (c == '[') {
      v = array();
    } else if (c == '{') {
      v = inline_table();
    } else {
      v = scalar();
    }
    --depth_;
    return v;
  }

  TomlValue string_value() {
    TomlValue v;
    v.kind = TomlValue::Kind::String;
    v.line = line_;
    const char quote = peek();
    const std::string triple(3, quote);
    const bool many = starts(triple.c_str());
    const int begin = line_;
    for (int i = 0; i < (many ? 3 : 1); ++i) next();
    if (many && peek() == '\r') next();
    if (many && peek() == '\n') next();  // a newline right after the quotes is not part of the text
    for (;;) {
      if (at_end() || (!many && peek() == '\n')) {
        line_ = begin;
        fail("a string that does not end");
      }
      if (many ? starts(triple.c_str()) : peek() == quote) break;
      if (quote == '"' && peek() == '\\') {
        escape(v.text, many);
      } else {
        v.text += next();
      }
    }
    for (int i = 0; i < (many ? 3 : 1); ++i) next();
    return v;
  }

  void escape(std::string &out, bool many) {
    next();
    const char c = at_end() ? '\0' : next();
    switch (c) {
      case 'n': out += '\n'; return;
      case 't': out += '\t'; return;
      case 'r': out += '\r'; return;
      case '"': out += '"'; return;
      case '\\': out += '\\'; return;
      case '\n':
        if (many) {
          while (peek() == ' ' || peek() == '\t' || peek() == '\n') next();
          return;
        }
        break;
      default: break;
    }
    fail(std::string("unknown escape `\\") + c + "`");
  }

  TomlValue array() {
    TomlValue v;
    v.kind = TomlValue::Kind::Array;
    v.line = line_;
    next();
    for (;;) {
      skip_lines();
      if (peek() == ']') break;
      v.items.push_back(value());
      skip_lines();
      if (peek() == ',') {
        next();
      } else if (peek() != ']') {
        fail("expected `,` or `]` in an array");
      }
    }
    next();
    return v;
  }

  TomlValue inline_table() {
    TomlValue v;
    v.line = line_;
    next();
    for (;;) {
      skip_lines();
      if (peek() == '}') break;
      entry(v);
      skip_lines();
      if (peek() == ',') {
        next();
      } else if (peek() != '}') {
        fail("expected `,` or `}` in an inline table");
      }
    }
    next();
    return v;
  }

  TomlValue scalar() {
    TomlValue v;
    v.line = line_;
    std::string word;
    while (bare_key_char(peek()) || peek() == '.' || peek() == '+') word += next();
    if (word == "true" || word == "false") {
      v.kind = TomlValue::Kind::Boolean;
      v.boolean = word == "true";
      return v;
    }
    std::string digits;
    bool real = false;
    for (size_t i = 0; i < word.size(); ++i) {
      const char c = word[i];
      if (c == '_') continue;
      if (c == '.' || c == 'e' || c == 'E') real = true;
      if (!(c >= '0' && c <= '9') && c != '.' && c != 'e' && c != 'E' && c != '-' && c != '+')
        fail("expected a value, found `" + word + "`");
      digits += c;
    }
    if (digits.empty()) fail("expected a value");
    char *end = nullptr;
    errno = 0;
    if (!real) v.integer = std::strtoll(digits.c_str(), &end, 10);
    if (!real && (errno == ERANGE)) fail("`" + word + "` is too large");
    if (!real && *end != '\0') fail("expected a number, found `" + word + "`");
    v.number = std::strtod(digits.c_str(), &end);
    if (*end != '\0') fail("expected a number, found `" + word + "`");
    v.kind = real ? TomlValue::Kind::Float : TomlValue::Kind::Integer;
    return v;
  }
};

}  // namespace

std::vector<TomlSection> parse_toml(const std::string &text, const std::string &name) {
  return Reader(text, name).document();
}

}  // namespace volley
