// One declared flag, its type erased: what the command line, the environment, the file and the help all work
// from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.h"

namespace redoubt {

class Flag {
 public:
  // Which values a file may give without quotes: text wants quotes, a switch wants true or false, the rest
  // takes what reads well (`queue_limit = 100`).
  enum class Kind { kText, kSwitch, kOther };
  // One text per time the flag was given, from one source. Either all is taken over, or nothing is and it
  // says why.
  using Assign = std::function<Failure(const std::vector<std::string>&)>;

  // In the help instead of the variable's value: for what has no value until the program works it out.
  Flag& shown_default(std::string words) {
    default_text = std::move(words);
    return *this;
  }

  Flag& must_be_given() {
    required = true;
    return *this;
  }

  // For paths and the like: an empty text would mean another thing than whoever wrote it thought of. Of a
  // list this holds always.
  Flag& must_not_be_empty() {
    never_empty = true;
    return *this;
  }

  // What the help calls the value, where the name of its type says too little.
  Flag& shaped(std::string words) {
    shape = std::move(words);
    return *this;
  }

  // `queue-limit` is --queue-limit, REDOUBT_QUEUE_LIMIT and the key queue_limit.
  std::string spelling() const { return positional ? name : "--" + name; }
  std::string variable() const;
  std::string key() const;
  // Why these texts are too empty to be its values, or nothing.
  std::string wrongly_empty(const std::vector<std::string>& texts) const;

  std::string name;
  std::string help;
  std::string shape;
  std::string default_text;
  std::string section;
  Kind kind = Kind::kOther;
  bool list = false;
  bool required = false;
  bool never_empty = false;
  bool positional = false;
  Assign assign;
};

}  // namespace redoubt
