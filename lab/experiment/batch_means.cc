// Means and standard errors; see batch_means.h.
#include "lab/experiment/batch_means.h"

#include <cmath>

#include "core/check.h"

namespace redoubt::experiment {

Estimate estimate(const std::vector<double>& observations) {
  if (observations.empty()) return {};
  const auto count = static_cast<double>(observations.size());
  Estimate found;
  for (const double one : observations) found.mean += one;
  found.mean /= count;
  if (observations.size() == 1) return found;
  double squares = 0;
  for (const double one : observations) squares += (one - found.mean) * (one - found.mean);
  found.error = std::sqrt(squares / (count - 1) / count);
  return found;
}

Estimate difference(const std::vector<double>& a, const std::vector<double>& b) {
  CHECK(a.size() == b.size());
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  return estimate(differences);
}

}  // namespace redoubt::experiment
