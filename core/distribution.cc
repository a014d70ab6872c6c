// Distributions: one table of what can be written, then per shape its text, its sample and its mean.
#include "core/distribution.h"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/duration_text.h"

namespace redoubt {
namespace {

using Arguments = std::vector<std::string_view>;

// What the arguments of one distribution are read with: the first error is kept, so that the builders below
// read as plain lists.
class Reader {
 public:
  explicit Reader(Arguments arguments) : arguments_(std::move(arguments)) {}

  Duration duration() {
    Result<Duration> parsed = parse_duration(arguments_[next_++]);
    if (!parsed) fail(parsed.error());
    return parsed ? *parsed : Duration::zero();
  }

  double number(std::string_view name) {
    std::string_view text = arguments_[next_++];
    double value = 0;
    const char* end = text.data() + text.size();
    auto [rest, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc() || rest != end || !std::isfinite(value)) {
      fail("the " + std::string(name) + " '" + std::string(text) +
           "' is not a number: write one such as 1.5");
    }
    return value;
  }

  void must(bool holds, std::string_view otherwise) {
    if (!holds) fail(std::string(otherwise));
  }

  const std::string& error() const { return error_; }

 private:
  void fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
  }

  Arguments arguments_;
  size_t next_ = 0;
  std::string error_;
};

Distribution::Shape read_const(Reader& in) { return Distribution::Const{in.duration()}; }

Distribution::Shape read_exponential(Reader& in) { return Distribution::Exponential{in.duration()}; }

Distribution::Shape read_uniform(Reader& in) {
  Distribution::Uniform shape{in.duration(), in.duration()};
  in.must(shape.low <= shape.high, "the low end is above the high end: swap them");
  return shape;
}

Distribution::Shape read_lognormal(Reader& in) {
  Distribution::Lognormal shape{in.duration(), in.number("sigma")};
  in.must(shape.sigma >= 0, "sigma is negative: give 0 or more");
  return shape;
}

Distribution::Shape read_pareto(Reader& in) {
  Distribution::Pareto shape{in.duration(), in.number("shape")};
  in.must(shape.shape > 1, "the mean is infinite unless the shape is above 1: give one such as 1.5");
  return shape;
}

Distribution::Shape read_bimodal(Reader& in) {
  Distribution::Bimodal shape{in.duration(), in.number("probability"), in.duration()};
  in.must(shape.probability >= 0 && shape.probability <= 1, "the probability is not between 0 and 1");
  return shape;
}

struct Form {
  std::string_view name;
  std::string_view example;
  size_t arguments;
  Distribution::Shape (*read)(Reader&);
};

constexpr std::array kForms{
    Form{"const", "const(4ms)", 1, read_const},
    Form{"exp", "exp(4ms)", 1, read_exponential},
    Form{"uniform", "uniform(1ms,5ms)", 2, read_uniform},
    Form{"lognormal", "lognormal(4ms,1.0)", 2, read_lognormal},
    Form{"pareto", "pareto(1ms,1.5)", 2, read_pareto},
    Form{"bimodal", "bimodal(1ms,0.99,100ms)", 3, read_bimodal},
};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Arguments split(std::string_view list) {
  Arguments parts;
  while (true) {
    size_t comma = list.find(',');
    parts.push_back(trimmed(list.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

Error bad(std::string_view text, std::string_view why) {
  return Error{"distribution '" + std::string(text) + "': " + std::string(why)};
}

Error unknown(std::string_view text) {
  std::string forms;
  for (const Form& form : kForms) forms += (forms.empty() ? "" : ", ") + std::string(form.example);
  if (parse_duration(text)) forms = "const(" + std::string(text) + "), or one of " + forms;
  return bad(text, "not a known form: write " + forms);
}

std::string number_text(double number) {
  std::array<char, 32> buffer;
  auto [end, problem] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  CHECK(problem == std::errc());
  return std::string(buffer.data(), end);
}

// The three things that differ by shape, side by side.
std::string text_of(const Distribution::Const& s) { return "const(" + format_duration(s.value) + ")"; }
Duration sample_of(const Distribution::Const& s, Random&) { return s.value; }
Duration mean_of(const Distribution::Const& s) { return s.value; }

std::string text_of(const Distribution::Exponential& s) { return "exp(" + format_duration(s.mean) + ")"; }
Duration sample_of(const Distribution::Exponential& s, Random& random) {
  return duration_from_seconds(random.exponential(to_seconds(s.mean)));
}
Duration mean_of(const Distribution::Exponential& s) { return s.mean; }

std::string text_of(const Distribution::Uniform& s) {
  return "uniform(" + format_duration(s.low) + "," + format_duration(s.high) + ")";
}
Duration sample_of(const Distribution::Uniform& s, Random& random) {
  return s.low + duration_from_seconds(to_seconds(s.high - s.low) * random.unit());
}
Duration mean_of(const Distribution::Uniform& s) { return s.low + (s.high - s.low) / 2; }

std::string text_of(const Distribution::Lognormal& s) {
  return "lognormal(" + format_duration(s.mean) + "," + number_text(s.sigma) + ")";
}
Duration sample_of(const Distribution::Lognormal& s, Random& random) {
  return duration_from_seconds(to_seconds(s.mean) *
                               std::exp(s.sigma * random.normal() - s.sigma * s.sigma / 2));
}
Duration mean_of(const Distribution::Lognormal& s) { return s.mean; }

std::string text_of(const Distribution::Pareto& s) {
  return "pareto(" + format_duration(s.scale) + "," + number_text(s.shape) + ")";
}
Duration sample_of(const Distribution::Pareto& s, Random& random) {
  return duration_from_seconds(to_seconds(s.scale) * std::pow(1 - random.unit(), -1 / s.shape));
}
Duration mean_of(const Distribution::Pareto& s) {
  return duration_from_seconds(to_seconds(s.scale) * s.shape / (s.shape - 1));
}

std::string text_of(const Distribution::Bimodal& s) {
  return "bimodal(" + format_duration(s.value) + "," + number_text(s.probability) + "," +
         format_duration(s.other) + ")";
}
Duration sample_of(const Distribution::Bimodal& s, Random& random) {
  return random.chance(s.probability) ? s.value : s.other;
}
Duration mean_of(const Distribution::Bimodal& s) {
  return duration_from_seconds(to_seconds(s.value) * s.probability +
                               to_seconds(s.other) * (1 - s.probability));
}

}  // namespace

Result<Distribution> Distribution::parse(std::string_view text) {
  std::string_view whole = trimmed(text);
  size_t open = whole.find('(');
  if (open == std::string_view::npos || !whole.ends_with(')')) return unknown(text);
  std::string_view name = trimmed(whole.substr(0, open));
  Arguments arguments = split(whole.substr(open + 1, whole.size() - open - 2));

  for (const Form& form : kForms) {
    if (form.name != name) continue;
    if (arguments.size() != form.arguments) {
      return bad(text, std::string(name) + " takes " + std::to_string(form.arguments) + " argument(s), not " +
                           std::to_string(arguments.size()) + ": write it as in " +
                           std::string(form.example));
    }
    Reader reader(std::move(arguments));
    Shape shape = form.read(reader);
    if (!reader.error().empty()) return bad(text, reader.error());
    return Distribution(shape);
  }
  return unknown(text);
}

std::string Distribution::text() const {
  return std::visit([](const auto& shape) { return text_of(shape); }, shape_);
}

Duration Distribution::sample(Random& random) const {
  return std::visit([&](const auto& shape) { return sample_of(shape, random); }, shape_);
}

Duration Distribution::mean() const {
  return std::visit([](const auto& shape) { return mean_of(shape); }, shape_);
}

}  // namespace redoubt
