// A distribution of durations, as service times and vacations have: read from text, sampled with a generator
// that is handed in. Not a general statistics library.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/random.h"
#include "core/result.h"
#include "core/time.h"

namespace redoubt {

class Distribution {
 public:
  struct Const {
    Duration value;
  };
  struct Exponential {
    Duration mean;
  };
  struct Uniform {
    Duration low, high;
  };
  // `sigma` is that of the logarithm; the mean is that of the durations themselves.
  struct Lognormal {
    Duration mean;
    double sigma;
  };
  // Never below the scale; the shape is above 1, for otherwise there is no mean.
  struct Pareto {
    Duration scale;
    double shape;
  };
  struct Bimodal {
    Duration value;
    double probability;
    Duration other;
  };
  using Shape = std::variant<Const, Exponential, Uniform, Lognormal, Pareto, Bimodal>;

  // Always zero.
  Distribution() : Distribution(Const{Duration::zero()}) {}
  explicit Distribution(Shape shape) : shape_(shape) {}

  // `const(4ms)`, `exp(4ms)`, `uniform(1ms,5ms)`, `lognormal(4ms,1.0)`, `pareto(1ms,1.5)`,
  // `bimodal(1ms,0.99,100ms)`.
  static Result<Distribution> parse(std::string_view text);

  // The text parse() takes.
  std::string text() const;

  // Never negative, and at most kLongestDuration however heavy the tail.
  Duration sample(Random& random) const;
  Duration mean() const;

  const Shape& shape() const { return shape_; }

 private:
  Shape shape_;
};

}  // namespace redoubt
