#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "input.hpp"
#include "ladder.hpp"
#include "report.hpp"
#include "sample_report.hpp"

namespace reduce_ladder {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

// Validates against as much of JSON Schema (draft 2020-12) as the schema of the report uses.
class Validator {
 public:
  explicit Validator(Json schema) : schema_(std::move(schema)) {}

  // What is wrong, each as the place in the document and the keyword. Throws std::runtime_error
  // where the schema uses a keyword that is not known here.
  [[nodiscard]] std::vector<std::string> problems(const Json& document) const {
    std::vector<std::string> found;
    check(document, schema_, "", found);
    return found;
  }

 private:
  static bool is_type(const Json& value, const std::string& type) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return value.type_name() == type;  // object, array, string, boolean, null
  }

  static bool is_any_type(const Json& value, const Json& types) {
    if (types.is_string()) return is_type(value, types);
    return std::ranges::any_of(types, [&](const Json& type) { return is_type(value, type); });
  }

  void check(const Json& value, const Json& schema, const std::string& place,
             std::vector<std::string>& found) const {
    for (const auto& [keyword, rule] : schema.items()) {
      if (!holds(keyword, rule, value, schema, place, found)) {
        found.push_back(place + ": " + keyword);
      }
    }
  }

  // Whether `value` itself keeps the rule; what is wrong inside it is added to `found`.
  bool holds(const std::string& keyword, const Json& rule, const Json& value, const Json& schema,
             const std::string& place, std::vector<std::string>& found) const {
    if (keyword == "$schema" || keyword == "title" || keyword == "description" ||
        keyword == "$defs") {
      return true;
    }
    if (keyword == "$ref") {
      check(value, schema_.at(Json::json_pointer(rule.get<std::string>().substr(1))), place, found);
      return true;
    }
    if (keyword == "type") return is_any_type(value, rule);
    if (keyword == "const") return value == rule;
    if (keyword == "enum") return std::ranges::find(rule, value) != rule.end();
    if (keyword == "minimum") return !value.is_number() || value >= rule;
    if (keyword == "anyOf") {
      return std::ranges::any_of(rule, [&](const Json& choice) {
        std::vector<std::string> wrong;
        check(value, choice, place, wrong);
        return wrong.empty();
      });
    }
    if (keyword == "required") {
      return !value.is_object() || std::ranges::all_of(rule, [&](const Json& key) {
        return value.contains(key.get<std::string>());
      });
    }
    if (keyword == "properties") {
      for (const auto& [key, property] : rule.items()) {
        if (value.is_object() && value.contains(key)) {
          check(value[key], property, place + "/" + key, found);
        }
      }
      return true;
    }
    if (keyword == "additionalProperties" && rule == false) {
      return !value.is_object() || std::ranges::all_of(value.items(), [&](const auto& item) {
        return schema["properties"].contains(item.key());
      });
    }
    if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        check(value[i], rule, place + "/" + std::to_string(i), found);
      }
      return true;
    }
    throw std::runtime_error("the validator does not know the keyword " + keyword);
  }

  Json schema_;
};

const Validator& report_validator() {
  static const Validator validator(Json::parse(std::ifstream(REDUCE_LADDER_SCHEMA)));
  return validator;
}

std::vector<std::string> problems(const Report& report) {
  return report_validator().problems(Json::parse(to_json(report)));
}

// Every value that the schema speaks of is there.
Report full_report() {
  Report report = timed_report();
  report.state_after->throttle_reasons = {{"software power cap"}};
  report.stages[0].verification = {Verdict::failed, 13, 12.5, "off by 13"};
  return report;
}

TEST(Schema, AcceptsAReportOfAGpu) {
  EXPECT_THAT(problems(timed_report()), IsEmpty());
  EXPECT_THAT(problems(full_report()), IsEmpty());
}

TEST(Schema, AcceptsAReportOfTheSimulator) {
  EXPECT_THAT(problems(simulated_report()), IsEmpty());
}

TEST(Schema, AcceptsAnIncompleteReport) {
  Report report = timed_report();
  report.incomplete = true;
  report.stages.clear();
  report.reference.reset();
  report.state_after.reset();
  report.read.reset();
  report.floor.reset();
  EXPECT_THAT(problems(report), IsEmpty());
}

TEST(Schema, AcceptsWhatADriverHides) {
  Report report = timed_report();
  report.device.cuda->theoretical_bandwidth = 0;
  report.state_before = MachineState{};
  EXPECT_THAT(problems(report), IsEmpty());
  report.state_before.reset();
  report.state_after.reset();
  EXPECT_THAT(problems(report), IsEmpty());
}

TEST(Schema, AcceptsAStageThatCannotRunAndTheReference) {
  Report report = timed_report();
  report.stages.push_back(skipped_result());
  report.stages.push_back(reference_result());
  report.stages.push_back(skipped_result(kSampleReference));
  EXPECT_THAT(problems(report), IsEmpty());
}

TEST(Schema, AcceptsAnyShapeThatCanBeAskedFor) {
  Report report = timed_report();
  report.block.reset();
  report.grid = 1000000;
  report.input.misalignment = 3;
  EXPECT_THAT(problems(report), IsEmpty());
}

TEST(Schema, AcceptsAReportOfNoValues) {
  const auto device = make_simulated_device(1);
  Climb what;
  for (const Stage& stage : device->stages()) what.stages.push_back(stage.number);
  what.verify = Thoroughness::quick;
  const Report report = climb(*device, generate_uniform(0, 42), what, [](std::string_view) {});
  EXPECT_TRUE(passed(report));
  EXPECT_THAT(problems(report), IsEmpty());
}

TEST(Schema, AcceptsNumbersThatJsonLacks) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Report report = timed_report();
  report.reference->sum = 0;
  EXPECT_THAT(problems(report), IsEmpty()) << "of an infinite condition number";
  report.reference->sum = kNan;
  report.reference->abs_sum = kInf;
  report.stages[0].result = kNan;
  report.stages[0].verification = {Verdict::skipped, kNan, kInf, "not finite"};
  report.stages[0].probe.min = -kInf;
  report.stages[0].probe.max = kInf;
  EXPECT_THAT(problems(report), IsEmpty());
}

TEST(Schema, AcceptsAFileOfAnyName) {
  Report report = simulated_report();
  report.input = {.n = 1, .source = "bad\xff.npy", .seed = {}};
  EXPECT_THAT(problems(report), IsEmpty());
}

// The places of all objects inside `value`.
std::vector<Json::json_pointer> objects_in(const Json& value,
                                           const Json::json_pointer& at = Json::json_pointer()) {
  std::vector<Json::json_pointer> places;
  if (value.is_object()) places.push_back(at);
  for (const auto& [key, inner] : value.items()) {
    if (!inner.is_structured()) continue;
    std::ranges::move(objects_in(inner, at / key), std::back_inserter(places));
  }
  return places;
}

TEST(Schema, RefusesAReportThatLacksAnyField) {
  const Json report = Json::parse(to_json(full_report()));
  for (const Json::json_pointer& place : objects_in(report)) {
    for (const auto& item : report[place].items()) {
      Json less = report;
      less[place].erase(item.key());
      EXPECT_FALSE(report_validator().problems(less).empty()) << place << " " << item.key();
    }
  }
}

TEST(Schema, RefusesAReportWithAFieldThatItDoesNotName) {
  const Json report = Json::parse(to_json(full_report()));
  ASSERT_GT(objects_in(report).size(), 15U);
  for (const Json::json_pointer& place : objects_in(report)) {
    Json more = report;
    more[place]["extra"] = 1;
    EXPECT_FALSE(report_validator().problems(more).empty()) << place;
  }
}

TEST(Schema, RefusesAValueOfAnotherTypeInEveryField) {
  const Json report = Json::parse(to_json(full_report()));
  const Json values = report.flatten();
  for (const auto& [place, value] : values.items()) {
    Json other = report;
    other[Json::json_pointer(place)] = value.is_boolean() ? Json("yes") : Json(true);
    EXPECT_FALSE(report_validator().problems(other).empty()) << place;
  }
}

TEST(Schema, RefusesWordsAndNumbersThatMeanNothing) {
  const Json report = Json::parse(to_json(full_report()));
  const std::vector<std::pair<std::string, Json>> changes = {
      {"/schema", "reduce-ladder/2"},
      {"/cache", "lukewarm"},
      {"/verdict", "skipped"},
      {"/block", 48},
      {"/grid", 0},
      {"/input/n", -1},
      {"/input/n", 1.5},
      {"/input/seed", -1},
      {"/input/misalignment", 4},
      {"/reference/condition", 0.5},
      {"/reference/condition", "nan"},
      {"/device/kind", "sim"},
      {"/stages/0/number", -1},
      {"/stages/0/launches", 0},
      {"/stages/0/grid", 0},
      {"/stages/0/block", 0},
      {"/stages/0/verify", "held"},
      {"/stages/0/time_s/median", -1e-6},
      {"/stages/0/result", "NaN"},
      {"/stages/0/time_s/median", "nan"},
      {"/stages/0/time_s/samples", 0},
      {"/stages/0/determinism/verdict", "passed"},
  };
  for (const auto& [place, value] : changes) {
    Json other = report;
    other[Json::json_pointer(place)] = value;
    EXPECT_FALSE(report_validator().problems(other).empty()) << place << " " << value;
  }
}

TEST(Validator, SaysWhereAndWhy) {
  const Validator validator(Json::parse(R"({"type": "object", "required": ["a"],
      "properties": {"a": {"type": "array", "items": {"minimum": 2}}}})"));
  EXPECT_THAT(validator.problems(Json::parse(R"({"a": [2, 1, 3]})")), ElementsAre("/a/1: minimum"));
  EXPECT_THAT(validator.problems(Json::parse(R"({"a": 1})")), ElementsAre("/a: type"));
  EXPECT_THAT(validator.problems(Json::parse("{}")), ElementsAre(": required"));
}

TEST(Validator, DoesNotPassOverAKeywordThatItDoesNotKnow) {
  EXPECT_THROW(static_cast<void>(Validator(Json{{"maximum", 1}}).problems(2)), std::runtime_error);
}

}  // namespace
}  // namespace reduce_ladder
