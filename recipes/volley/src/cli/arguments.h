// Command line arguments: options with and without a value, and what is left.
#pragma once
#include <map>
#include <string>
#include <vector>

struct Usage {  // thrown: a wrong command line, exit 2
  std::string message;
};

class Arguments {
 public:
  // `options` maps each known option ("--seed") to whether it takes a value.
  Arguments(const std::vector<std::string> &words, const std::map<std::string, bool> &options);

  bool has(const std::string &option) const { return values_.count(option) != 0; }
  std::string get(const std::string &option, const std::string &otherwise) const;
  std::string need(const std::string &option) const;
  // The one positional argument, named in the message when it is missing.
  std::string only(const std::string &name) const;
  void none() const;  // refuses positional arguments

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> rest_;
};
