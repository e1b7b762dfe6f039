#include "arguments.h"

Arguments::Arguments(const std::vector<std::string> &words, const std::map<std::string, bool> &options) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (word.empty() || word[0] != '-' || word == "-") {
      rest_.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word == "-o" ? "--output" : word.substr(0, equals);
    const auto known = options.find(name);
    if (known == options.end()) throw Usage{"unknown option `" + name + "`"};
    if (values_.count(name)) throw Usage{"`" + name + "` is given twice"};
    if (!known->second) {
      if (equals != std::string::npos) throw Usage{"`" + name + "` takes no value"};
      values_[name] = "";
    } else if (equals != std::string::npos) {
      values_[name] = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      values_[name] = words[++i];
    } else {
      throw Usage{"`" + name + "` needs a value"};
    }
  }
}

std::string Arguments::get(const std::string &option, const std::string &otherwise) const {
  const auto it = values_.find(option);
  return it == values_.end() ? otherwise : it->second;
}

std::string Arguments::need(const std::string &option) const {
  if (!has(option)) throw Usage{"`" + option + "` is missing"};
  return get(option, "");
}

std::string Arguments::only(const std::string &name) const {
  if (rest_.empty()) throw Usage{name + " is missing"};
  if (rest_.size() > 1) throw Usage{"unexpected `" + rest_[1] + "`"};
  return rest_[0];
}

void Arguments::none() const {
  if (!rest_.empty()) throw Usage{"unexpected `" + rest_[0] + "`"};
}
