// Levenshtein's distance, one row at a time.
#include "options/nearest.h"

#include <algorithm>
#include <numeric>

namespace redoubt {
namespace {

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view typed, const std::vector<std::string>& known) {
  std::string best;
  // A third of the letters wrong, or two, is still a slip; more is another word.
  size_t least = std::max<size_t>(2, typed.size() / 3) + 1;
  for (const std::string& name : known) {
    size_t letters = distance(typed, name);
    if (letters < least && letters < name.size()) {
      least = letters;
      best = name;
    }
  }
  return best;
}

std::string suggestion(std::string_view typed, const std::vector<std::string>& known,
                       std::string_view else_see) {
  if (std::string best = nearest(typed, known); !best.empty()) return "did you mean " + best + "?";
  if (known.empty() || known.size() > 8) return std::string(else_see);
  std::string all;
  for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
  return "known: " + all;
}

}  // namespace redoubt
